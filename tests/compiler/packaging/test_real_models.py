"""Small Hugging Face models: packaged, run by our loader and by torch's, compared with eager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import workbench as wb
from tests.models import zoo

SAMPLE = "gpt2"
REST = ("bert", "llama", "t5", "resnet", "vit", "clip", "whisper")
TOLERANCE = 1e-5


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if torch.is_tensor(leaf)]


def difference(found: Any, expected: Any) -> float:
    assert type(found) is type(expected)
    pairs = list(zip(tensors(found), tensors(expected), strict=True))
    assert pairs
    return max(float((a - b).abs().max()) for a, b in pairs)


def packaged(name: str, path: Path) -> None:
    case = zoo.build(name)
    case.model.eval()
    batch = Dim("batch", min=1, max=8)
    spec = {key: {0: batch} for key in case.inputs}
    package = wb.package(case.model, (), dict(case.inputs), path=path, dynamic_shapes=spec)
    theirs = torch._inductor.aoti_load_package(str(path))
    with torch.no_grad():
        for rows in (1, 2, 8):
            inputs = {
                key: value.repeat(4, *(1 for _ in value.shape[1:]))[:rows]
                for key, value in case.inputs.items()
            }
            expected = case.model(**inputs)
            assert difference(package(**inputs), expected) <= TOLERANCE
            assert difference(theirs(**inputs), expected) <= TOLERANCE
        with pytest.raises(wb.ContractError, match=r"outside the declared batch in 1\.\.8"):
            package(**{key: value.repeat_interleave(5, 0) for key, value in inputs.items()})
    kernels = package.report.kernels
    assert any(kernel.language == "cpp" and kernel.lines for kernel in kernels)


def test_a_sample_gives_what_eager_gives(tmp_path: Path) -> None:
    packaged(SAMPLE, tmp_path / "model.pt2")


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_every_model_gives_what_eager_gives(name: str, tmp_path: Path) -> None:
    packaged(name, tmp_path / "model.pt2")
