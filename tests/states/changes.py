"""What becomes of a compiled function when a state that it reads changes: live, loaded, elsewhere.

`python -m tests.states.changes FOLDER` prints a line for each file of a folder and each order in
which it is loaded and the state changes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import workbench as wb

HEADER = "import functools, os, sys, types\nimport torch\n"
RIGHT, REFUSED, LISTED, WRONG = "right", "refused", "listed", "wrong"
LIVE, LOADED, CHANGED_FIRST = "live", "loaded, then changed", "changed, then loaded"


@dataclass(frozen=True)
class Change:
    """One row of the table; `number` is its place there, `is_seen` says that answers change."""

    number: int
    kind: str
    change: str
    named: str
    setup: str = ""
    before: str = ""
    body: str = ""
    function: str = ""
    arguments: str = ""
    undo: str = ""
    is_seen: bool = True

    @property
    def module(self) -> str:
        """The name of its module."""
        return f"state_change_{self.number}"

    def source(self) -> str:
        """Its module."""
        function = self.function or (f"def f(x): return {self.body}" if self.body else "")
        return self._named("\n".join((HEADER, self.before, self.setup, function, "")))

    def _named(self, text: str) -> str:
        return text.replace("OTHER", f"{self.module}_other").replace("MODULE", repr(self.module))

    def write(self, folder: Path) -> None:
        """Its module, and the one whose variables it may read."""
        (folder / f"{self.module}.py").write_text(self.source())
        (folder / f"{self.module}_other.py").write_text("")

    def imported(self) -> types.ModuleType:
        """Its module, new."""
        for name in (self.module, f"{self.module}_other"):
            sys.modules.pop(name, None)
        __import__(self.module)
        return sys.modules[self.module]

    def inputs(self, module: types.ModuleType) -> tuple[Any, ...]:
        """What it is called with."""
        x = torch.tensor([1.0, 2.0, 3.0])
        more = eval(f"({self.arguments},)", vars(module)) if self.arguments else ()
        return (x, *more)

    def apply(self, module: types.ModuleType) -> None:
        """Change the state."""
        exec(self._named(self.change), vars(module))

    @contextlib.contextmanager
    def undone(self, module: types.ModuleType) -> Iterator[None]:
        """Set back at the end what is the whole process's."""
        try:
            yield
        finally:
            exec(self._named(self.undo), vars(module))


@dataclass(frozen=True)
class Cell:
    """What became of a change in one order; `how` says more."""

    kind: str
    order: str
    outcome: str
    how: str = ""


def changes() -> tuple[Change, ...]:
    """The rows of the table."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["change"]
    return tuple(Change(number, **row) for number, row in enumerate(rows))


PLACES = {
    "the module": ("f = torch.nn.Sequential(torch.nn.ReLU())", "f"),
    "a module in it": ("f = torch.nn.Sequential(torch.nn.ReLU())", "f[0]"),
    "a global module": ("m = torch.nn.ReLU()\ndef f(x): return m(x)", "m"),
    "a module in a global list": ("m = [torch.nn.ReLU()]\ndef f(x): return m[0](x)", "m[0]"),
    "an argument": ("m = torch.nn.ReLU()\ndef f(x, m): return m(x)", "m"),
    "a module in an argument": (
        "m = torch.nn.Sequential(torch.nn.ReLU())\ndef f(x, m): return m(x)",
        "m[0]",
    ),
    "a module in a list as argument": (
        "m = [torch.nn.ReLU()]\ndef f(x, m): return m[0](x)",
        "m[0]",
    ),
}
"""Where a module is that gets a hook: what is compiled, and the module."""
REGISTERED = {
    "_forward_hooks": ("register_forward_hook", "lambda *_: None"),
    "_forward_hooks with keywords": ("register_forward_hook", "lambda *_: None, with_kwargs=True"),
    "_forward_pre_hooks": ("register_forward_pre_hook", "lambda *_: None"),
    "_forward_pre_hooks with keywords": (
        "register_forward_pre_hook",
        "lambda *_: None, with_kwargs=True",
    ),
    "_backward_hooks": ("register_full_backward_hook", "lambda *_: None"),
    "_backward_pre_hooks": ("register_full_backward_pre_hook", "lambda *_: None"),
}
"""What a hook is registered with, by the dictionary that gets it."""
OF_ALL = ("forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook")
"""The hooks of all modules."""


def hooks() -> tuple[Change, ...]:
    """Each hook at each place, as rows behind those of the table."""
    rows = []
    for place, (function, module) in PLACES.items():
        for kind, (register, given) in REGISTERED.items():
            change = f"{module}.{register}({given})"
            arguments = "m" if "f(x, m)" in function else ""
            rows.append((f"{kind} of {place}", function, arguments, change, "", kind.split()[0]))
    for name in OF_ALL:
        change = f"kept = torch.nn.modules.module.register_module_{name}(lambda *_: None)"
        named = f"_global_{name.removeprefix('full_')}s"
        rows.append((named, PLACES["the module"][0], "", change, "kept.remove()", named))
    number = len(changes())
    return tuple(
        Change(
            number + i,
            f"hook: {kind}",
            change,
            named,
            function=function,
            arguments=arguments,
            undo=undo,
            is_seen=False,
        )
        for i, (kind, function, arguments, change, undo, named) in enumerate(rows)
    )


def live(row: Change, folder: Path) -> Cell:
    """Compile, save, change, call."""
    row.write(folder)
    module = row.imported()
    with row.undone(module):
        before, inputs = _answer(module.f, row, module), row.inputs(module)
        try:
            compiled = wb.aot_compile(module.f, inputs, backend="aot_eager", capture="light")
            compiled.save(_file(row, folder))
        except wb.WorkbenchError as error:
            row.apply(module)  # for what undoes it
            return Cell(row.kind, LIVE, REFUSED, f"not compiled or saved: {error}")
        assert _same(before, _answer(compiled, row, module)), row.kind
        row.apply(module)
        return _judged(row, LIVE, compiled, module, before)


def loaded(row: Change, folder: Path, order: str) -> Cell:
    """Load, change, call, or change, load, call."""
    module = row.imported()
    with row.undone(module):
        before = _answer(module.f, row, module)
        if order == CHANGED_FIRST:
            row.apply(module)
        try:
            compiled = _loaded(row, folder, module)
        except wb.WorkbenchError as error:
            if order == LOADED:
                row.apply(module)
                return Cell(row.kind, order, WRONG, f"not loaded though nothing changed: {error}")
            return _refusal(row, order, str(error))
        if order == LOADED:
            found = _answer(compiled, row, module)
            row.apply(module)
            if not _same(before, found):
                return Cell(row.kind, order, WRONG, f"unchanged: {found!r} for {before!r}")
        return _judged(row, order, compiled, module, before)


def _loaded(row: Change, folder: Path, module: types.ModuleType) -> Any:
    is_module = isinstance(module.f, torch.nn.Module)
    own = vars(module).items()
    handed = {n: v for n, v in own if n != "f" and isinstance(v, torch.nn.Module)}
    return wb.load(
        _file(row, folder),
        trust=True,
        external_data=handed,
        **({"module": module.f} if is_module else {}),
    )


def _file(row: Change, folder: Path) -> Path:
    return folder / f"{row.module}.aot"


def _judged(row: Change, order: str, compiled: Any, module: types.ModuleType, before: Any) -> Cell:
    expected, found = _answer(module.f, row, module), _answer(compiled, row, module)
    if row.is_seen and _same(before, expected):
        return Cell(row.kind, order, WRONG, f"the change changes nothing: {expected!r}")
    if isinstance(found, wb.WorkbenchError):
        return _refusal(row, order, str(found))
    if row.is_seen and _same(expected, found):
        return Cell(row.kind, order, RIGHT)
    verdicts = compiled.check_globals()
    said = [f"{n}: {v}" for n, v in verdicts.items() if row.named in n and v != "ok"]
    if said:
        return Cell(row.kind, order, LISTED, said[0])
    return Cell(row.kind, order, WRONG, f"{found!r} for {expected!r}")


def _refusal(row: Change, order: str, words: str) -> Cell:
    if row.named in words:
        return Cell(row.kind, order, REFUSED)
    return Cell(row.kind, order, WRONG, f"refused without naming {row.named}: {words}")


def _answer(call: Any, row: Change, module: types.ModuleType) -> Any:
    try:
        return call(*row.inputs(module))
    except Exception as error:  # whatever the program raises
        return error


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Exception) or isinstance(other, Exception):
        return type(one) is type(other)
    is_alike = one.dtype == other.dtype and one.device == other.device
    return is_alike and (one.device.type == "meta" or torch.allclose(one, other))


def main(folder: str) -> None:
    """Print what becomes of every file of a folder in this process."""
    logging.disable(logging.WARNING)
    sys.path.insert(0, folder)
    for row in (*changes(), *hooks()):
        if _file(row, Path(folder)).exists():
            for order in (LOADED, CHANGED_FIRST):
                print(json.dumps(vars(loaded(row, Path(folder), order))))


if __name__ == "__main__":
    main(*sys.argv[1:])
