"""Every kind of function gets to every process, or is refused by every process, in one sentence."""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.compiler.virtual_gpu.jobs import job
from tests.processes.shipping import kinds
from workbench.compiler.request.callables import resolve
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.processes.child import Child
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_values import pack

LONG = 120.0  # seconds
NOTEBOOK = """
import enum
import torch

class Kind(enum.Enum):
    PLAIN = 1

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kind, self.linear = Kind.PLAIN, torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x) if self.kind is Kind.PLAIN else x

def function(x):
    return x.sin() + 1
"""
LIBRARY = """
import enum

class Color(enum.Enum):
    RED = 1

def choose(x, color):
    return x * (2 if color is Color.RED else 3)
"""


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + 1, at < n)


def start_kernel(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    add_one[(1,)](x, out, x.numel(), 8)
    return out


@dataclass(frozen=True)
class Sent:
    """What is compiled with which inputs; words of the refusal, where it is refused."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    refused: str | None = None


X = torch.tensor([[0.5, -1.5, 2.0, 1.0], [-0.25, 3.0, 0.0, -2.0]])
OWNER = kinds.Owner()
FIXED: Mapping[str, Sent] = {
    "a function of a module": Sent(kinds.scale, (X,)),
    "a lambda": Sent(lambda x: x * 2, (X,)),
    "a closure": Sent(kinds.close_over_number(), (X,)),
    "a bound method": Sent(OWNER.run, (X,)),
    "a callable object": Sent(OWNER, (X,)),
    "a partial": Sent(functools.partial(kinds.choose, mode=kinds.Mode.TRIPLED), (X,)),
    "a decorated function": Sent(kinds.decorated, (X,)),
    "a cached function": Sent(kinds.ask_cache, (X,)),
    "an operator of torch": Sent(kinds.call_torch_ops, (X,)),
    "an operator of custom_op": Sent(kinds.call_custom, (X,)),
    "an operator of define": Sent(kinds.call_defined, (X,)),
    "a generator inside": Sent(kinds.sum_generated, (X,)),
    "a module with hooks": Sent(kinds.make_hooked(), (X,)),
    "a parametrised module": Sent(kinds.make_parametrized(), (X,)),
    "a parameter of a subclass": Sent(kinds.OfSubclass(), (X,)),
    "a function that a flag chooses": Sent(lambda x: torch.nn.functional.max_pool1d(x, 2), (X,)),
    "an enum": Sent(kinds.choose, (X, kinds.Mode.DOUBLED)),
    "a named tuple": Sent(kinds.clamp, (X,)),
    "a slotted dataclass": Sent(kinds.read_slot, (X,)),
    "a class with keywords": Sent(kinds.read_class, (X,)),
    "a node of a pytree": Sent(kinds.add_pair, (kinds.Pair(X, X),)),
    "an autograd function": Sent(kinds.use_own_function, (X,)),
    "a lock": Sent(kinds.read_lock, (X,)),
    "an object by identity": Sent(kinds.compare_identity, (X,)),
    "a frame in a module": Sent(kinds.read_frame, (X,)),
    "a frame in a closure": Sent(
        kinds.close_over_frame(), (X,), r"the closure variable 'frame' cannot be sent to another"
    ),
    "a generator in a closure": Sent(
        kinds.close_over_generator(), (X,), r"the closure variable 'numbers' cannot be sent to"
    ),
    "a generator function": Sent(kinds.generate, (X,), "generate is a generator function"),
}
MADE = (
    "a function of a notebook",
    "a model of a notebook",
    "a module under two names",
    "an enum of a library outside of site-packages",
    "a module that changed since",
)
DIFFERED = (  # each was refused, or went wrong, in one of two ways to send
    "an operator of define",
    "a parametrised module",
    "a frame in a module",
    "a module under two names",
    "a module that changed since",
)


@pytest.fixture
def sent(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What is sent: the kinds that need files or modules are made here."""
    kind: str = request.param
    if kind in FIXED:
        return FIXED[kind]
    if kind.endswith("of a notebook"):
        made = types.ModuleType("__main__")
        exec(NOTEBOOK, vars(made))
        for name in ("Kind", "Model", "function"):
            monkeypatch.setattr(sys.modules["__main__"], name, getattr(made, name), raising=False)
        return Sent(made.Model() if "model" in kind else made.function, (X,))
    if kind == "a module under two names":
        made = types.ModuleType("twice_named")
        made.__file__ = "/somewhere/twice_named.py"
        exec("def double(x): return x * 2", vars(made))
        monkeypatch.setitem(sys.modules, "twice_named", made)
        monkeypatch.setitem(sys.modules, "another_name", made)
        return Sent(made.double, (X,))
    monkeypatch.syspath_prepend(tmp_path)
    if kind == "a module that changed since":
        file = tmp_path / "edited_since.py"
        file.write_text("def change(x): return x * 2\n")
        imported = _import(monkeypatch, "edited_since")
        file.write_text("def change(x): return x * 1000\n")
        return Sent(imported.change, (X,))
    (tmp_path / "colored_library.py").write_text(LIBRARY)
    info = tmp_path / "colored_library-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: colored_library\nVersion: 1.0\n")
    (info / "RECORD").write_text("colored_library.py,,\n")
    library = _import(monkeypatch, "colored_library")
    return Sent(library.choose, (X, library.Color.RED))


def _import(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    importlib.invalidate_caches()
    imported = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, imported)
    return imported


@pytest.fixture(scope="module")
def calling() -> Iterator[Child]:
    with Child("tests.processes.shipping.calling") as child:
        yield child


@pytest.mark.parametrize("sent", [*FIXED, *MADE], indirect=True)
def test_another_process_calls_it(sent: Sent, calling: Child) -> None:
    def send() -> Path:
        name = resolve(sent.function).name  # as all do before they send
        return pack({"target": sent.function, "args": sent.args}, name)

    if sent.refused is not None:
        with pytest.raises(UsageError, match=sent.refused):
            send()
        return
    folder = send()
    try:
        found = calling.ask((os.fspath(folder), CallerContext.current()))
    finally:
        shutil.rmtree(folder)
    assert found == pytest.approx(sent.function(*sent.args).sum().item())


@pytest.mark.parametrize("edit", ["", "# a comment\n", "more"])
def test_what_goes_by_name_is_not_taken_from_an_edited_file(
    edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calling: Child
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "import sys\nFRAME = sys._getframe()\ndef read(x): return x * bool(FRAME)\n"
    file = tmp_path / f"edited_{len(edit)}.py"
    file.write_text(text)
    imported = _import(monkeypatch, file.stem)
    file.write_text(text.replace("x * ", "x * 1000 * ") if edit == "more" else edit + text)
    if edit == "more":
        with pytest.raises(
            UsageError, match=r"'FRAME' cannot be sent .*The file of edited_4 changed"
        ):
            pack({"target": imported.read, "args": (X,)}, "read")
        return
    folder = pack({"target": imported.read, "args": (X,)}, "read")
    found = calling.ask((os.fspath(folder), CallerContext.current()))
    shutil.rmtree(folder)
    assert found == pytest.approx(X.sum().item())


@pytest.mark.parametrize("sent", [*FIXED, *MADE], indirect=True)
def test_the_worker_of_virtual_gpus_compiles_it(sent: Sent, worker: CrossCompiler) -> None:
    if sent.refused is None:
        report = worker.compiled(job(sent.function, *sent.args, grad=False)).report
        assert report.kernels
        return
    with pytest.raises(UsageError, match=sent.refused):
        wb.aot_compile(sent.function, sent.args, target="h100")


def test_a_kernel_of_triton_goes_with_the_function_that_starts_it(worker: CrossCompiler) -> None:
    report = worker.compiled(job(start_kernel, X)).report
    assert "add_one" in {kernel.name.removesuffix("_0") for kernel in report.kernels}
    shutil.rmtree(pack({"target": start_kernel, "args": (X,)}, "start_kernel"))


def _is_compiled_in_background(sent: Sent) -> bool:
    compiled = wb.compile_async(sent.function, sent.args, backend="eager").result(LONG)
    return torch.allclose(compiled(*sent.args), sent.function(*sent.args))


def _is_swept_in_pool(sent: Sent) -> bool:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        swept = wb.sweep(
            sent.function,
            sent.args,
            over={"backend": ["eager"]},
            executor=pool,
            compile_only=True,
        )
    (trial,) = swept.trials
    assert (trial.status, trial.reason) == ("done", None)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("door", [_is_compiled_in_background, _is_swept_in_pool])
@pytest.mark.parametrize("sent", [*DIFFERED, "a frame in a closure"], indirect=True)
def test_doors_that_start_a_process_do_the_same(sent: Sent, door: Callable[[Sent], bool]) -> None:
    if sent.refused is None:
        assert door(sent)
        return
    with pytest.raises(UsageError, match=sent.refused):
        door(sent)
