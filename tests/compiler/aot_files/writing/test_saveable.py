"""What is left out and what is kept while a function is compiled for a file."""

from __future__ import annotations

import importlib
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import workbench as wb
from workbench.compiler.aot_files.writing import saveable
from workbench.compiler.aot_files.writing.serialized import serialize
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import CompiledCode, compile_ahead
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.handles.compiled_module import make_compiled


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def three_calls(x: torch.Tensor) -> torch.Tensor:
    return helper(helper(helper(x)))


def compile_three(backend: str) -> CompiledCode:
    options = CompileOptions(backend=backend, grad=False)
    return compile_ahead(CompileRequest(three_calls, (torch.ones(4),), options=options))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions whose source torch reads, as it does."""
    class_, _, method = tp.ADD_SOURCE.attribute.rpartition(".")
    holder = getattr(__import__(tp.ADD_SOURCE.module, fromlist=["_"]), class_)
    names: list[str] = []
    inner: Callable[..., None] = getattr(holder, method)

    def add_code(info: Any, code: types.CodeType) -> None:
        names.append(code.co_name)
        inner(info, code)

    monkeypatch.setattr(holder, method, add_code)
    return names


def test_sources_are_read_when_a_file_is_written_each_once(read: list[str]) -> None:
    aot_fn = compile_three("eager").aot_fn
    assert read == []
    serialize(aot_fn)
    serialize(aot_fn)
    assert sorted(read) == ["helper", "three_calls"]
    firsts = {source.firstlineno for source in aot_fn.source_info().inlined_sources}
    assert firsts == {f.__code__.co_firstlineno for f in (helper, three_calls)}


def test_graphs_that_run_eagerly_are_pickled_when_a_file_is_written_once() -> None:
    code = compile_three("aot_eager")
    entry = tp.artifacts_of(code.aot_fn).compiled_fn.compiled_fn.serialize()
    assert entry.compiled_fw.result.gm is not None
    first, second = serialize(code.aot_fn).payload, serialize(code.aot_fn).payload
    assert entry.compiled_fw.result.gm is None
    assert len(first) == len(second)
    torch.testing.assert_close(code.aot_fn(torch.ones(4)), three_calls(torch.ones(4)))


def test_the_cache_of_others_is_written_at_once() -> None:
    options = CompileOptions(backend="aot_eager", grad=False, capture="light")
    code = compile_ahead(CompileRequest(three_calls, (torch.ones(4),), options=options))
    entry = tp.artifacts_of(code.aot_fn).compiled_fn.compiled_fn.serialize()
    assert entry.compiled_fw.result.gm is None


def test_a_file_that_changed_since_says_nothing_of_the_code(
    read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aot_fn = compile_three("eager").aot_fn
    monkeypatch.setattr(saveable, "_read_state", lambda _: (0, 0))
    assert serialize(aot_fn).payload
    assert read == []
    assert aot_fn.source_info().inlined_sources == set()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_graph_is_written_without_notes_at_its_nodes(backend: str, tmp_path: Path) -> None:
    code = compile_three(backend)
    payload = serialize(code.aot_fn).payload
    noted = [b"tensor_" + b"dict", b"tensor_" + b"meta", b"from_" + b"node"]  # this file is in it
    assert [word for word in noted if word in payload] == []
    make_compiled(code).save(tmp_path / "three.aot")
    loaded = wb.load(tmp_path / "three.aot")
    torch.testing.assert_close(loaded(torch.ones(4)), three_calls(torch.ones(4)))


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.norm = torch.nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(self.norm(x)))


@pytest.mark.parametrize("grad", [pytest.param(False, marks=pytest.mark.slow), True])
def test_real_tensors_pass_guards_made_from_fakes(grad: bool, tmp_path: Path) -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        fake = make_compiled(
            compile_ahead(
                CompileRequest(Block(), (torch.empty(4, 16),), options=CompileOptions(grad=grad))
            )
        )
    fake.save(tmp_path / "block.aot")
    model, x = Block(), torch.randn(4, 16)
    loaded = wb.load(tmp_path / "block.aot", module=model)
    with torch.set_grad_enabled(grad):
        torch.testing.assert_close(loaded(x), model(x))
    with pytest.raises(wb.ContractError, match="expected dtype float32, got float64"):
        loaded(x.double())
    model.linear.weight = torch.nn.Parameter(torch.randn(16, 16).t())
    with pytest.raises(wb.ContractError, match="expected stride"):
        loaded(x)


def test_the_file_holds_no_fake_mode(tmp_path: Path) -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        linear, x = torch.nn.Linear(4, 4), torch.empty(2, 4)
        fake = make_compiled(
            compile_ahead(CompileRequest(linear, (x,), options=CompileOptions(grad=False)))
        )
    fake.save(tmp_path / "linear.aot")
    names = wb.inspect(tmp_path / "linear.aot").imports
    assert not [name for name in names if "FakeTensorMode" in name or "ShapeEnvSettings" in name]


OFF = {
    "every cache": ("torch.compiler.config", "force_disable_caches", True),
    "the one of AOTAutograd": ("torch._functorch.config", "enable_autograd_cache", False),
}


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_what_is_compiled_with_caches_off_runs_and_is_saved(
    off: str, backend: str, tmp_path: Path
) -> None:
    module, option, value = OFF[off]
    config = importlib.import_module(module)
    with config.patch({option: value}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's: its profiles are off, too
        compiled = wb.aot_compile(three_calls, (torch.ones(4),), backend=backend)
    assert torch.allclose(compiled(torch.zeros(4)), three_calls(torch.zeros(4)))
    compiled.save(tmp_path / "f.aot")
    loaded = wb.load(tmp_path / "f.aot")
    assert torch.allclose(loaded(torch.zeros(4)), three_calls(torch.zeros(4)))


def test_with_caches_off_nothing_is_written_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    holder = tp.Name(tp.AUTOGRAD_CACHE_WRITE.target.rpartition(".")[0], "a test").get()
    note = staticmethod(lambda key, _content: written.append(key))
    monkeypatch.setattr(holder, "_write_to_local_cache", note)
    config = importlib.import_module("torch._functorch.config")
    with config.patch(enable_autograd_cache=False):
        wb.aot_compile(three_calls, (torch.ones(4),), backend="inductor", capture="light")
    assert written == []
    wb.aot_compile(three_calls, (torch.ones(4),), backend="inductor", capture="light")
    assert written != []


def upper_factor(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(x, upper=True)


def adjoint_of_factor(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(x).mH


def transposed_inverse(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.inv(x).mT


@pytest.mark.parametrize("function", [upper_factor, adjoint_of_factor, transposed_inverse])
@pytest.mark.parametrize("trained", [False, True])
def test_operators_with_an_effect_run_in_a_file_of_graphs(
    function: Callable[[torch.Tensor], torch.Tensor], trained: bool, tmp_path: Path
) -> None:
    x = (torch.eye(3) * 4 + 1).requires_grad_(trained)
    compiled = wb.aot_compile(function, (x,), backend="aot_eager", capture="light")
    compiled.save(tmp_path / "f.aot")
    for handle in (compiled, wb.load(tmp_path / "f.aot")):
        assert torch.equal(handle(x), function(x))
        if trained:
            got = torch.autograd.grad(handle(x).sum(), x)[0]
            assert torch.allclose(got, torch.autograd.grad(function(x).sum(), x)[0])
