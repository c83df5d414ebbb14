"""Code that was compiled in and is another one now: the call is refused and names the function."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.contract.inlined_code import InlinedCode

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.ones(4)


def notebook(source: str) -> dict[str, Any]:
    """What a cell defines; running another in the same scope redefines it."""
    scope: dict[str, Any] = {"__name__": "cell", "torch": torch}
    exec(source, scope)
    return scope


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * self.scale()

    def scale(self) -> float:
        return 2.0


def refusal(compiled: Any) -> str:
    with pytest.raises(wb.ContractError, match="compile again") as caught:
        compiled(X)
    return str(caught.value)


def test_a_helper_that_is_defined_again() -> None:
    scope = notebook("def helper(x): return x + 1\ndef g(x): return helper(x) * 2")
    compiled = compile_eager(scope["g"], (X,))
    assert compiled(X).tolist() == [4.0] * 4
    assert compiled.check_globals()["helper (of cell)"] == "ok"
    exec("def helper(x): return x + 5", scope)
    assert "helper (of cell): its code was compiled in and is another one now" in refusal(compiled)
    assert compiled.check_globals()["helper (of cell)"].startswith("changed: ")
    del scope["helper"]
    assert "helper (of cell): its code was compiled in, it is gone" in refusal(compiled)


def test_the_function_itself_may_lose_its_name_but_not_its_code() -> None:
    scope = notebook("def g(x): return x + 1")
    function = scope["g"]
    compiled = compile_eager(function, (X,))
    exec("def g(x): return x + 5", scope)
    assert compiled(X).tolist() == [2.0] * 4
    function.__code__ = scope["g"].__code__  # what a reloading notebook does
    assert "g: its code" in refusal(compiled)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


def test_decorators_class_methods_and_closures_are_looked_through() -> None:
    scope = notebook("def helper(x): return x + 1")

    class Tools:
        @classmethod
        def double(cls, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    tool, helper = Tools(), decorated(scope["helper"])

    def g(x: torch.Tensor) -> torch.Tensor:
        return tool.double(helper(x))

    compiled = compile_eager(g, (X,))
    assert compiled(X).tolist() == [4.0] * 4
    before = Tools.__dict__["double"]
    Tools.double = classmethod(lambda cls, x: x)  # type: ignore[method-assign, assignment]
    assert "Tools.double" in refusal(compiled)
    Tools.double = before  # type: ignore[method-assign]
    assert compiled(X).tolist() == [4.0] * 4
    helper = decorated(lambda x: x)
    assert "helper" in refusal(compiled)


@pytest.mark.parametrize(
    ("place", "name", "words"),
    [
        (Outer, "forward", "Outer.forward"),
        (Inner, "forward", "Inner.forward"),
        (Outer, "scale", "Outer.scale"),
    ],
)
def test_a_method_of_a_class(
    monkeypatch: pytest.MonkeyPatch, place: type, name: str, words: str
) -> None:
    compiled = compile_eager(Outer(), (X,))
    monkeypatch.setattr(place, name, lambda self, *args: 7.0)
    assert f"{words}: its code was compiled in and is another one now" in refusal(compiled)
    monkeypatch.undo()
    assert compiled(X).tolist() == [4.0] * 4


def test_a_forward_of_the_object() -> None:
    module = Outer()
    compiled = compile_eager(module, (X,))
    module.forward = lambda x: x  # type: ignore[method-assign]
    assert "Outer.forward" in refusal(compiled)
    del module.forward
    module.inner.forward = lambda x: x  # type: ignore[method-assign]
    assert "self.inner.forward: the object was given one of its own" in refusal(compiled)
    del module.inner.forward
    assert compiled(X).tolist() == [4.0] * 4


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("path", ["", "inner"])
def test_hooks(register: str, path: str) -> None:
    module = Outer()
    compiled = compile_eager(module, (X,))
    rows = [row for row in compiled.report.guards if row.kind == "EMPTY_NN_MODULE_HOOKS_DICT"]
    assert rows
    assert {(row.kept, row.why_dropped) for row in rows} == {
        (False, "checked by the workbench itself, torch checks no hooks")
    }
    handle = getattr(module.get_submodule(path), register)(lambda *_: None)
    where = "Outer.inner" if path else "Outer"
    assert f"{where}._{register.removeprefix('register_')}s: a hook was added" in refusal(compiled)
    handle.remove()
    assert compiled(X).tolist() == [4.0] * 4


def test_hooks_of_every_module() -> None:
    compiled = compile_eager(Outer(), (X,))
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert "_global_forward_hooks: a hook was added" in refusal(compiled)
    finally:
        handle.remove()


def test_code_of_torch_and_functions_inside_functions_need_no_check() -> None:
    def g(x: torch.Tensor) -> torch.Tensor:
        def twice(y: torch.Tensor) -> torch.Tensor:
            return y * 2

        return torch.nn.functional.gelu(twice(x))

    plan = compile_eager(g, (X,)).plan
    assert [one.code for one in plan.inlined.functions] == [g.__code__]
    assert InlinedCode().checker() is None


HELPERS = "def helper(x):\n    return x + {n}\n\n\ndef g(x):\n    return helper(x) * 2\n"
LOAD = (
    "import torch, workbench as wb; print(wb.load({path!r}, trust=True)(torch.ones(4))[0].item())"
)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    (tmp_path / "written_helpers.py").write_text(HELPERS.format(n=1))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module("written_helpers")
    del sys.modules["written_helpers"]


def test_a_loaded_function_is_held_against_the_code_of_its_own_process(
    written: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.aot"
    compile_eager(written.g, (X,)).save(path)
    loaded = wb.load(path, trust=True)
    assert loaded(X).tolist() == [4.0] * 4
    monkeypatch.setattr(written, "helper", lambda x: x)
    assert "helper (of written_helpers)" in refusal(loaded)


def test_another_process_compares_the_source(written: types.ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "g.aot"
    compile_eager(written.g, (X,)).save(path)

    def load() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LOAD.format(path=str(path))]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    assert load().stdout.strip() == "4.0"
    (tmp_path / "written_helpers.py").write_text(HELPERS.format(n=5))
    changed = load()
    assert "ArtifactError" in changed.stderr
    assert "  - helper of written_helpers" in changed.stderr
    assert "  - g of" not in changed.stderr


DECORATED = """
import functools

def doubling(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args) * 2
    return call

@doubling
def helper(x):
    return x + {n}

def g(x):
    return helper(x)
"""


def test_a_decorated_helper_is_compared_by_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, path = tmp_path / "decorated_helpers.py", tmp_path / "g.aot"
    source.write_text(DECORATED.format(n=1))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    module = importlib.import_module("decorated_helpers")
    try:
        compile_eager(module.g, (X,)).save(path)
        assert wb.load(path, trust=True)(X).tolist() == [4.0] * 4
        monkeypatch.setattr(module.helper, "__wrapped__", lambda x: x)
        assert wb.load(path, trust=True)(X).tolist() == [4.0] * 4  # its name leads to nothing here
        source.write_text(DECORATED.format(n=5))
        importlib.invalidate_caches()
        del sys.modules["decorated_helpers"]
        with pytest.raises(wb.ArtifactError, match="helper of decorated_helpers"):
            wb.load(path, trust=True)
    finally:
        sys.modules.pop("decorated_helpers", None)


def test_a_cell_that_is_run_again_changes_nothing_unless_its_defaults_do() -> None:
    source = "def helper(x, n=1): return x + n"
    scope = notebook(f"{source}\ndef g(x): return helper(x) * 2")
    exec(source, scope)
    compiled = compile_eager(scope["g"], (X,))
    exec(source, scope)
    assert compiled(X).tolist() == [4.0] * 4
    exec("def helper(x, n=5): return x + n", scope)
    assert "helper (of cell)" in refusal(compiled)
