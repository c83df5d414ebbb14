"""A file that is made here for a GPU elsewhere: what it holds, where it loads and where not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.fresh_process import run_fresh
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import open_file
from workbench.compiler.captured_graphs.program_parts import NoProgram
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu
from workbench.specs import Catalogue

MACHINE = {
    "torch": f"{torch.__version__.partition('+')[0]}+cu130",
    "gpus": [{"name": "NVIDIA H100 80GB HBM3", "arch": "sm_90"}],
}
Compile = Callable[..., CrossCompiled]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)
        self.norm = torch.nn.LayerNorm(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.linear(self.norm(x)))


@triton.jit
def doubling(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu(), -1)


def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return ((x @ w).relu() ** 2).mean()


def statistics(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.softmax(x, -1), x.var(1)


def own_kernel(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    doubling[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out.sin()


class Once:
    """Can be unpickled once in a process, as when it is sent to one."""

    lives = 0

    def __init__(self) -> None:
        self.k = 2.0

    def __setstate__(self, state: dict[str, float]) -> None:
        Once.lives += 1
        if Once.lives > 1:
            raise ValueError("no second life")
        self.__dict__.update(state)


@pytest.fixture
def compile_for(worker: CrossCompiler) -> Compile:
    def compile_(fn: Any, *args: Any, target: str = "h100", **options: Any) -> CrossCompiled:
        gpu = Catalogue.built_in()[target]
        asked = CompileOptions(target=target, **options)
        return compile_for_gpu(CompileRequest(fn, args, options=asked), gpu, worker=worker)

    return compile_


def load_there(folder: Path, path: Path, target: str, release: str, how: str = "ours") -> Any:
    module = "tests.compiler.virtual_gpu.loading_elsewhere"
    printed = run_fresh(folder, module, str(path), target, release, how, compiler=True)
    return json.loads(printed.splitlines()[-1])


def digests(path: Path) -> list[str]:
    manifest = wb.inspect(path).manifest
    assert manifest is not None
    assert manifest.built_for is not None
    return sorted(kernel.sha256 for kernel in manifest.built_for.kernels)


def test_it_loads_on_the_gpu_without_compiling_and_nowhere_else(
    compile_for: Compile, tmp_path: Path
) -> None:
    path = tmp_path / "softmax.aot"
    digest = compile_for(softmax, torch.randn(16, 64)).save(path, machine=MACHINE)
    report = wb.inspect(path)
    assert report.digest == digest
    assert report.manifest is not None
    needed = report.manifest.built_for
    assert needed is not None
    assert (needed.gpu, needed.arch, needed.toolkit) == ("h100", "sm_90a", "13.0")
    assert all(kernel.registers and kernel.registers > 8 for kernel in needed.kernels)
    assert report.unusual == ()
    checked = wb.check(path, MACHINE)  # of which only a part is described
    assert checked.verdict.startswith("not checked: 4 of 8 needs")
    assert "fail" not in {row.verdict for row in checked.requirements}

    found = load_there(tmp_path, path, "h100", MACHINE["torch"])
    assert found["compiled"] == []
    assert found["binaries"] == digests(path)

    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(wb.ArtifactError, match=r"was compiled for h100 .*, but this machine has"):
        wb.load(path)
    assert sorted(tmp_path.rglob("*")) == before
    assert not torch.cuda.is_available()


def test_weights_of_the_live_module_go_along_for_the_gpu(
    compile_for: Compile, tmp_path: Path
) -> None:
    model, path = Block(), tmp_path / "block.aot"
    compile_for(model, torch.randn(4, 32), grad=False).save(path, weights="inside")
    with open_file(path) as file:
        opened = aot_container.read_artifact(file)
        table = opened.manifest.weights
        assert table is not None
        assert {row["device"] for row in table["tensors"]} == {"cuda"}
        assert set(table["names"]) == set(model.state_dict())
        from safetensors.torch import load

        stored = load(opened.raw(aot_container.WEIGHTS))
    assert torch.equal(stored["linear.weight"], model.linear.weight)
    assert all(parameter.device.type == "cpu" for parameter in model.parameters())


class Emptied(Block):
    """Whose scale is zero in a file."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * self.scale

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "scale": torch.zeros(32)}


def test_a_module_whose_own_pickling_changes_a_tensor_goes_without_weights(
    compile_for: Compile, tmp_path: Path
) -> None:
    compiled = compile_for(Emptied(), torch.randn(4, 32), grad=False)
    with pytest.raises(wb.ArtifactError, match=r"self.scale has different values"):
        compiled.save(tmp_path / "x.aot", weights="inside")
    with pytest.warns(UserWarning, match="written without weights"):
        compiled.save(tmp_path / "x.aot")


FACTOR = torch.randn(8)


def times_factor(x: torch.Tensor) -> torch.Tensor:
    return x * FACTOR


def test_a_global_that_is_the_argument_too_is_refused(compile_for: Compile, tmp_path: Path) -> None:
    compiled = compile_for(times_factor, FACTOR)
    with pytest.raises(wb.ArtifactError, match="the global FACTOR and x were the same object"):
        compiled.save(tmp_path / "x.aot")


def test_what_cannot_be_saved_is_refused(compile_for: Compile, tmp_path: Path) -> None:
    path = tmp_path / "x.aot"
    with torch.device("meta"):
        empty = Block()
    compiled = compile_for(empty, torch.randn(4, 32), grad=False, target="a100")
    with pytest.raises(wb.UsageError, match=r"linear\.weight of Block has no data"):
        compiled.save(path, weights="inside")
    with pytest.raises(wb.UsageError, match="weights is 'all': expected"):
        compiled.save(path, weights="all")
    with pytest.raises(wb.UsageError, match=r"The machine has torch 1\.0, but this process has"):
        compiled.save(path, machine={"torch": "1.0"})
    words = r"NVIDIA H100 80GB HBM3 \(sm_90\), but the code is for sm_80"
    with pytest.raises(wb.UsageError, match=words):
        compiled.save(path, machine=MACHINE)
    with pytest.raises(wb.UsageError, match="a torch without CUDA"):
        compiled.save(path, machine=replace(wb.machine(), cuda=None, hip=None))
    lost = CrossCompiled(compiled.report, compiled.gpu, empty, NoProgram("It has a socket."))
    with pytest.raises(wb.ArtifactError, match=r"Block cannot be saved\. It has a socket\."):
        lost.save(path)
    assert not isinstance(compiled.program, NoProgram)
    program = replace(compiled.program, not_packed=("triton_a",))
    part = CrossCompiled(compiled.report, compiled.gpu, empty, program)
    with pytest.raises(wb.ArtifactError, match="did not keep the machine code of triton_a"):
        part.save(path)
    assert not path.exists()
    compiled.save(path)  # without a machine: any build of this release
    check = wb.check(path, {"torch": f"{torch.__version__.partition('+')[0]}+cu128"})
    assert check.frame().set_index("name").verdict["torch"] == "pass"


def test_a_function_with_no_module_has_no_weights(compile_for: Compile, tmp_path: Path) -> None:
    compiled = compile_for(softmax, torch.randn(16, 64))
    with pytest.raises(wb.UsageError, match="needs a module; softmax is a function"):
        compiled.save(tmp_path / "x.aot", weights="inside")


@pytest.mark.slow
def test_a_file_is_compiled_again_for_its_gpu(compile_for: Compile, tmp_path: Path) -> None:
    compile_for(softmax, torch.randn(16, 64), target="a100").save(tmp_path / "a.aot")
    again = wb.recompile(tmp_path / "a.aot")
    assert isinstance(again, CrossCompiled)
    assert again.target == "a100"
    assert again.report.request.inputs == ("x: float32 [16, 64] on cuda",)
    model = Block()
    compile_for(model, torch.randn(4, 32)).save(tmp_path / "b.aot")
    with pytest.raises(wb.ArtifactError, match="cannot be imported by name"):
        wb.recompile(tmp_path / "b.aot")
    assert wb.recompile(tmp_path / "b.aot", model).target == "h100"


@pytest.mark.slow
def test_torchs_own_loader_takes_the_payload_too(compile_for: Compile, tmp_path: Path) -> None:
    path = tmp_path / "softmax.aot"
    compile_for(softmax, torch.randn(16, 64)).save(path, machine=MACHINE)
    assert load_there(tmp_path, path, "h100", MACHINE["torch"], "torch")["compiled"] == []
    with pytest.raises(AssertionError, match="different PyTorch version"):
        load_there(tmp_path, path, "h100", "2.13.0+cu128", "torch")
    with pytest.raises(AssertionError, match="different GPU"):
        load_there(tmp_path, path, "h200", MACHINE["torch"], "torch")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["h100", "a100", "mi300x"])
@pytest.mark.parametrize("case", ["training", "reductions", "own kernel", "module"])
def test_every_kind_loads_without_compiling(
    compile_for: Compile, tmp_path: Path, case: str, target: str
) -> None:
    fn, args = {
        "training": (loss, (torch.randn(64, 128), torch.randn(128, 16, requires_grad=True))),
        "reductions": (statistics, (torch.randn(32, 20000),)),
        "own kernel": (own_kernel, (torch.randn(1000),)),
        "module": (Block(), (torch.randn(4, 32),)),
    }[case]
    path = tmp_path / "case.aot"
    compile_for(fn, *args, target=target).save(path)
    build = "rocm7.0" if target == "mi300x" else "cu130"
    release = f"{torch.__version__.partition('+')[0]}+{build}"
    found = load_there(tmp_path, path, target, release)
    assert found["compiled"] == []
    assert found["binaries"] == digests(path)


def test_what_could_not_be_read_back_is_refused_when_it_is_saved(
    compile_for: Compile, tmp_path: Path
) -> None:
    once = Once()
    lost = compile_for(lambda x: x * once.k, torch.ones(4), grad=False)
    assert lost.report.kernels
    with pytest.raises(wb.ArtifactError, match=r"cannot be read back: ValueError: no second life"):
        lost.save(tmp_path / "x.aot")
    assert not list(tmp_path.iterdir())
