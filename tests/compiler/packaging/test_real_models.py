"""Small Hugging Face models: packaged, run by our loader and by torch's, compared with eager."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.export import Dim

import workbench as wb
from tests.agreement import assert_agrees
from tests.models import zoo

REST = ("gpt2", "bert", "llama", "t5", "resnet", "vit", "clip", "whisper")


def packaged(name: str, path: Path, **options: int) -> None:
    case = zoo.build(name, **options)
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
            assert_agrees(package(**inputs), expected)
            assert_agrees(theirs(**inputs), expected)
        with pytest.raises(wb.ContractError, match=r"outside the declared batch in 1\.\.8"):
            package(**{key: value.repeat_interleave(5, 0) for key, value in inputs.items()})
    kernels = package.report.kernels
    assert any(kernel.language == "cpp" and kernel.lines for kernel in kernels)


def test_a_sample_gives_what_eager_gives(tmp_path: Path) -> None:
    packaged("gpt2", tmp_path / "model.pt2", layers=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_every_model_gives_what_eager_gives(name: str, tmp_path: Path) -> None:
    packaged(name, tmp_path / "model.pt2")
