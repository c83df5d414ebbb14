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
from workbench.compiler.captured_code.inlined_code import InlinedCode

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
    with pytest.raises(wb.ContractError, match="compile") as caught:
        compiled(X)
    return str(caught.value)


def test_a_helper_that_is_defined_again() -> None:
    scope = notebook("def helper(x): return x + 1\ndef g(x): return helper(x) * 2")
    compiled = compile_eager(scope["g"], (X,))
    assert compiled(X).tolist() == [4.0] * 4
    assert compiled.check_globals()["helper (of cell)"] == "ok"
    exec("def helper(x): return x + 5", scope)
    assert "helper (of cell): its code has changed since compilation" in refusal(compiled)
    assert compiled.check_globals()["helper (of cell)"].startswith("changed: ")
    del scope["helper"]
    assert "helper (of cell): it has been removed or replaced since compilation" in refusal(
        compiled
    )


def test_a_helper_that_is_written_again_on_another_line_is_the_same() -> None:
    scope = notebook("def helper(x): return x + 1\ndef g(x): return helper(x) * 2")
    compiled = compile_eager(scope["g"], (X,))
    exec("\n\ndef helper(x):\n    return x + 1", scope)
    assert compiled(X).tolist() == [4.0] * 4
    assert compiled.check_globals()["helper (of cell)"] == "ok"
    exec("\n\ndef helper(x, y=1):\n    return x + 1", scope)
    assert "helper (of cell): its code has changed since compilation" in refusal(compiled)


def test_the_function_itself_may_lose_its_name_but_not_its_code() -> None:
    scope = notebook("def g(x): return x + 1")
    function = scope["g"]
    compiled = compile_eager(function, (X,))
    exec("def g(x): return x + 5", scope)
    assert compiled(X).tolist() == [2.0] * 4
    function.__code__ = scope["g"].__code__  # what a reloading notebook does
    assert "g: its code has changed since compilation" in refusal(compiled)


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


def test_a_helper_that_is_gone_is_not_the_builtin_of_its_name() -> None:
    scope = notebook("def sum(x): return x + 1\ndef g(x): return sum(x) * 2")
    compiled = compile_eager(scope["g"], (X,))
    assert compiled(X).tolist() == [4.0] * 4
    helper = scope.pop("sum")
    assert "sum (of cell): it has been removed or replaced since compilation" in refusal(compiled)
    scope["sum"] = helper
    assert compiled(X).tolist() == [4.0] * 4
    scope["more"] = scope["names"] = 1  # another version of the globals
    assert compiled(X).tolist() == [4.0] * 4


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
    assert f"{words}: its code has changed since compilation" in refusal(compiled)
    monkeypatch.undo()
    assert compiled(X).tolist() == [4.0] * 4


def test_a_forward_of_the_object() -> None:
    module = Outer()
    compiled = compile_eager(module, (X,))
    module.forward = lambda x: x  # type: ignore[method-assign]
    assert "Outer.forward" in refusal(compiled)
    del module.forward
    module.inner.forward = lambda x: x  # type: ignore[method-assign]
    assert "self.inner.forward: this attribute was set on the object after compilation" in refusal(
        compiled
    )
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
        (False, "checked by aot-workbench itself, because torch does not check hooks")
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
    assert [one.expected for one in plan.inlined.parts] == [g.__code__]
    assert InlinedCode().checker() is None


HELPERS = "def helper(x):\n    return x + {n}\n\n\ndef g(x):\n    return helper(x) * 2\n"
LOAD = """
import pathlib, torch, workbench as wb

print(wb.load({path!r}, trust=True)(torch.ones(4))[0].item())
pathlib.Path("written_helpers.py").write_text({changed!r})
wb.load({path!r}, trust=True)
"""


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
    program = LOAD.format(path=str(path), changed=HELPERS.format(n=5))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.strip() == "4.0"
    assert "ArtifactError" in done.stderr
    assert "  - helper of written_helpers" in done.stderr
    assert "  - g of" not in done.stderr


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


class Adder:
    def __init__(self, n: float) -> None:
        self.n = n

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.add(x)

    def add(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.n


CELL = """
import dataclasses, functools
from {name} import helper as aliased
import {name} as others

helper = lambda z: z + 1
def make(n):
    def add(z): return z + n
    return add
made = make(1)
activation = torch.relu
gelu = torch.nn.functional.gelu
clamped = functools.partial(torch.clamp, min=2.0)
def with_default(z, n=1.0): return z + n
def with_tensor(z, n=torch.ones(4)): return z + n
@dataclasses.dataclass
class Box:
    value: object
adder = Adder(1)
table = dict(f=lambda z: z + 1)
several = [lambda z: z + 1]
"""
OTHERS = "def inner(z): return z + 1\ndef helper(z): return inner(z)\n"
CHANGES = {
    "helper(x)": "helper = lambda z: z + 5",
    "made(x)": "made = make(5)",
    "activation(x)": "activation = torch.tanh",
    "gelu(x)": "gelu = torch.nn.functional.silu",
    "clamped(x)": "clamped = functools.partial(torch.clamp, min=5.0)",
    "with_default(x)": "def with_default(z, n=5.0): return z + n",
    "with_tensor(x)": "def with_tensor(z, n=torch.ones(4) * 5): return z + n",
    "Box(x).value": "@dataclasses.dataclass\nclass Box:\n    value: object",
    "adder(x)": "adder.n = 5",
    "adder(x) + 0": "adder = Adder(5)",
    "adder.add(x)": "adder.add = lambda z: z + 5",
    "table['f'](x)": "table['f'] = lambda z: z + 5",
    "several[0](x)": "several[0] = lambda z: z + 5",
    "aliased(x)": "aliased = helper",
    "others.helper(x)": "others.helper = lambda z: z + 5",
    "others.helper(x) + 0": "others.inner = lambda z: z + 5",
}
"""What a function calls, and what is changed after it was compiled."""


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """A notebook that imports from a module of the user, which torch keeps by its name."""
    name = f"others_{tmp_path.name}"
    others = types.ModuleType(name)
    exec(OTHERS, vars(others))
    monkeypatch.setitem(sys.modules, name, others)
    notebook = types.ModuleType("cell")
    monkeypatch.setitem(sys.modules, "cell", notebook)  # where a data class looks for its module
    vars(notebook).update(torch=torch, Adder=Adder)
    exec(CELL.format(name=name), vars(notebook))
    return vars(notebook)


@pytest.mark.parametrize("called", CHANGES)
def test_whatever_is_looked_up_again_is_compared(cell: dict[str, Any], called: str) -> None:
    exec(f"def g(x): return {called}", cell)
    compiled = compile_eager(cell["g"], (X,))
    torch.testing.assert_close(compiled(X), cell["g"](X))
    exec(CHANGES[called], cell)
    assert "  - " in refusal(compiled)


def test_what_is_not_looked_up_may_change(cell: dict[str, Any]) -> None:
    exec("def g(x): return aliased(x)", cell)
    compiled = compile_eager(cell["g"], (X,))
    cell["others"].helper = cell["helper"] = lambda z: z + 5
    assert compiled(X).tolist() == [2.0] * 4


class AnswersAll:
    """Such as a mock: it has every attribute that it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return self


def test_an_attribute_that_answers_to_every_name_is_no_function() -> None:
    class Odd(Inner):
        tool = AnswersAll()

    assert compile_eager(Odd(), (X,))(X).tolist() == [2.0] * 4


def test_a_module_of_torch_itself_with_another_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    module = torch.nn.Sequential(torch.nn.ReLU())
    compiled = compile_eager(module, (X,))
    monkeypatch.setattr(torch.nn.Sequential, "forward", lambda self, x: x * 7)
    assert "Sequential.forward" in refusal(compiled)
    monkeypatch.undo()
    module.forward = lambda x: x * 7  # type: ignore[method-assign]
    assert "Sequential.forward" in refusal(compiled)


def test_a_loaded_file_compares_what_was_imported_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first_file.py").write_text("def helper(x):\n    return x + 1\n")
    user = "import torch\nfrom first_file import helper as h\nact = torch.relu\n\n"
    (tmp_path / "second_file.py").write_text(f"{user}def g(x):\n    return act(h(x))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    module = importlib.import_module("second_file")
    try:
        compile_eager(module.g, (X,)).save(tmp_path / "g.aot")
        for name, value in (("h", lambda x: x), ("act", torch.tanh)):
            loaded = wb.load(tmp_path / "g.aot", trust=True)
            assert loaded(X).tolist() == [2.0] * 4
            with monkeypatch.context() as patch:
                patch.setattr(module, name, value)
                assert f"{name} (of second_file)" in refusal(loaded)
                with pytest.raises(wb.ArtifactError, match=f"{name} of second_file"):
                    wb.load(tmp_path / "g.aot", trust=True)
    finally:
        for name in ("first_file", "second_file"):
            sys.modules.pop(name, None)


AROUND = """
import functools
import torch

def scaled(x):
    return x * {n} if torch.compiler.is_compiling() else x * {n}

def scaling(function):
    @functools.wraps(function)
    def call(x):
        return scaled(function(x))
    return call
"""


def test_what_a_decorator_calls_is_looked_up_in_its_own_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "around.py").write_text(AROUND.format(n=3))
    user = "import torch\nfrom around import scaling\n\n@scaling\ndef g(x):\n    return x + 1\n"
    (tmp_path / "decorated.py").write_text(user)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    module = importlib.import_module("decorated")
    try:
        compiled = compile_eager(module.g, (X,))
        assert compiled(X).tolist() == [6.0] * 4
        compiled.save(tmp_path / "g.aot")
        loaded = wb.load(tmp_path / "g.aot", trust=True)
        assert loaded(X).tolist() == [6.0] * 4
        for one in (compiled, loaded):
            with monkeypatch.context() as patch:
                patch.setattr("around.scaled", lambda x: x)
                assert "scaled (of around)" in refusal(one)
        (tmp_path / "around.py").write_text(AROUND.format(n=30))
        for name in ("around", "decorated"):
            del sys.modules[name]
        importlib.invalidate_caches()
        with pytest.raises(wb.ArtifactError, match="scaled of around"):
            wb.load(tmp_path / "g.aot", trust=True)
    finally:
        for name in ("around", "decorated"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("path", ["", "inner"])
@pytest.mark.parametrize(
    "register",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
    ],
)
def test_a_file_refuses_hooks_that_are_there_when_it_is_loaded(
    register: str, path: str, tmp_path: Path
) -> None:
    module = Outer()
    compile_eager(module, (X,)).save(tmp_path / "outer.aot")
    handle = getattr(module.get_submodule(path), register)(lambda *_: None)
    loaded = wb.load(tmp_path / "outer.aot", module=module, trust=True)
    assert "a hook was added" in refusal(loaded)
    handle.remove()
    module.get_submodule(path)._is_full_backward_hook = None
    assert loaded(X).tolist() == [4.0] * 4
