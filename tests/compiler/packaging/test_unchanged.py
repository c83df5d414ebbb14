"""Recording a package does not change what is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor.cpp_builder import CppBuilder

from tests.compiler.packaging.samples import Attention, OneIsSpecial
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.inductor_library import build_inductor_options
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.packaging.writing import pack

END = "// Compile cmd"  # what torch adds to the files names their folder


@torch.library.custom_op("workbench_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is generated and not built."""

    def build(builder: Any) -> None:
        Path(builder.get_target_file_path()).touch()

    monkeypatch.setattr(CppBuilder, "build", build)


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("weights", ["inside", "beside", "later"])
def test_the_sources_are_those_of_torch(tmp_path: Path, weights: str) -> None:
    model, args = OneIsSpecial().eval(), (torch.randn(3, 4),)
    packed = pack(ModelRequest(model, args, weights=weights), tmp_path)
    members = packed.members.items()
    ours = {_suffix(name): _text(file) for name, file in members if name.endswith(".cpp")}

    program = torch.export.export(model, args).module(check_guards=False)
    settings = {**build_inductor_options(weights, {}), "aot_inductor.package": True}
    settings["aot_inductor.output_path"] = str(tmp_path / "theirs")
    made = tp.AOTI_COMPILE.get()(program, args, options=settings)
    theirs = {_suffix(file): _text(file) for file in made if str(file).endswith(".cpp")}

    assert ours == theirs
    assert set(ours) == {"wrapper.cpp", "kernel.cpp"}
    assert str(tmp_path) not in "".join(ours.values())  # a package is shared
    report = packed.report
    (wrapper,) = report.wrappers
    assert report.texts[wrapper.text].strip() == ours["wrapper.cpp"]
    texts = [report.texts[k.text] for k in report.kernels if k.text is not None]
    assert texts
    assert all(text in ours["kernel.cpp"] for text in texts)


@pytest.mark.usefixtures("no_compiler")
def test_a_library_that_needs_torchs_own_operators_says_so(tmp_path: Path) -> None:
    q = torch.randn(1, 2, 8, 4)
    args = (q, torch.rand(8, 8) > 0.4)
    assert not pack(ModelRequest(Attention().eval(), args), tmp_path / "a").model.needs_proxy

    def own(x: torch.Tensor) -> torch.Tensor:
        return twice(x) + 1

    packed = pack(ModelRequest(own, (torch.randn(3, 4),)), tmp_path / "b")
    assert packed.model.needs_proxy
    assert any(name.endswith("wrapper.json") for name in packed.members)


def _suffix(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def _text(content: Any) -> str:
    if isinstance(content, bytes):
        return content.decode().strip()
    code = Path(content).read_text().partition(END)[0].strip()
    return code.replace(f"{Path(content).parent}/", "")
