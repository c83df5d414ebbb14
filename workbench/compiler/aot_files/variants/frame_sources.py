"""The code that recorded frames were made from, compared by what it says in another process."""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.captured_code.code_digest import (
    compile_codes_in_file,
    digest,
    find_codes_inside,
    hash_file,
    in_source,
)
from workbench.compiler.captured_code.inlined_code import (
    Inlined,
    InlinedCode,
    of_function,
    to_function,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Overlay, ProcessPatches

_TORCH = str(Path(torch.__file__).parent) + "/"
_LOCAL = ".<locals>."
Row = Mapping[str, str | None]


@contextmanager
def collect_sources(codes: list[types.CodeType]) -> Iterator[None]:
    """Take every code that a compilation reads, also what was typed into a notebook.

    Torch would compare lines of files by their numbers, and knows no module of a notebook's cell,
    nor that of methods which are generated, as those of data classes.
    """
    inner = tp.CODE_SOURCE.get()

    def code_source(code: types.CodeType) -> tuple[str, str]:
        function = _generated(code)
        return inner(code) if function is None else (function.__qualname__, "__code__")

    with ProcessPatches() as patches:
        patches.name(tp.CODE_SOURCE, code_source)
        patches.name(tp.ADD_SOURCE, lambda _info, code: codes.append(code))
        patches.name(tp.PACKAGE_INSPECT, Overlay(inspect, getmodule=_module_of))
        yield


def list_source_rows(codes: Iterable[types.CodeType]) -> tuple[list[Row], list[str]]:
    """What another process can compare, and the names of what it would not find or compare."""
    users = {code for code in codes if not code.co_filename.startswith(_TORCH)}
    users -= {inner for code in users for inner in find_codes_inside(code) if inner in users}
    rows, lost = list[Row](), list[str]()
    for code in sorted(users, key=lambda code: (code.co_filename, code.co_firstlineno)):
        module = _module_of(code)
        function = _generated(code)
        qualified = code.co_qualname if function is None else function.__qualname__
        name = f"{'?' if module is None else module.__name__}:{qualified}"
        row = {"name": name, "digest": digest(code), "file": hash_file(code.co_filename)}
        if row["digest"] not in _digests(row):
            lost.append(name)
            continue
        inlined = _inlined(row)
        row["defaults"] = None if inlined is None else _defaults_text(inlined.defaults)
        rows.append(row)
        if inlined is not None and row["defaults"] is None:
            lost.append(f"{name}: its defaults")
    return rows, lost


def find_changed_sources(rows: Sequence[Row]) -> list[str]:
    """The code that says something else in this process, or is gone, as "f of module"."""
    return [
        "{2} of {0}".format(*str(row["name"]).partition(":"))
        for row in rows
        if row["digest"] not in _digests(row) or _has_other_defaults(row)
    ]


def find_inlined_sources(rows: Sequence[Row]) -> InlinedCode:
    """What a call looks up of it in this process, to be compared again with each call."""
    return InlinedCode(tuple(filter(None, map(_inlined, rows))))


def _has_other_defaults(row: Row) -> bool:
    inlined, expected = _inlined(row), row.get("defaults")
    if inlined is None or expected is None:
        return False  # what cannot be compared is listed when it is recorded
    return _defaults_text(inlined.defaults) != expected


def _defaults_text(defaults: Any) -> str | None:
    """Defaults as a text that is the same in every process; None where there is none."""
    plain = (bool, int, float, complex, str, bytes, type(None))
    positional, named = defaults
    values = (*(positional or ()), *(named or {}).values())
    return repr(defaults) if all(type(value) in plain for value in values) else None


def _digests(row: Row) -> set[str | None]:
    """What code of that name says here: in its module, or in its file where nobody imported it."""
    module, _, qualified = str(row["name"]).partition(":")
    imported = sys.modules.get(module)
    if imported is None:
        now = in_source(row["name"], row["file"])
        return {row["digest"] if now is None else now}
    codes = _codes_of(imported, qualified)
    file = getattr(imported, "__file__", None)
    if not codes and file is not None and Path(file).suffix == ".py":
        codes = [code for name, code in compile_codes_in_file(Path(file)) if name == qualified]
    return set(map(digest, codes))


def _inlined(row: Row) -> Inlined | None:
    """Where a function of a module is looked up; None for one inside of another function."""
    module, _, qualified = str(row["name"]).partition(":")
    if module not in sys.modules or _LOCAL in qualified:
        return None
    scope = vars(sys.modules[module])
    steps, function = _function_of(sys.modules[module], qualified)
    root, *path = qualified.split(".")
    if function is None:
        return None
    lookup = "".join((f"[{root!r}]", *(f".{part}" for part in path), steps))
    return of_function(f"{qualified} (of {module})", scope, lookup, function)


def _module_of(value: Any) -> types.ModuleType | None:
    module = inspect.getmodule(value)
    if module is not None or not isinstance(value, types.CodeType):
        return module
    main = sys.modules["__main__"]
    if value in _codes_of(main, value.co_qualname):
        return main
    function = _generated(value)
    return None if function is None else sys.modules[function.__module__]


def _generated(code: types.CodeType) -> types.FunctionType | None:
    """The function that has a code of no file, where its module has it under its name."""
    if code.co_filename != "<string>":
        return None
    functions = (f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType))
    for function in functions:
        module = sys.modules.get(function.__module__)
        if module is not None and code in _codes_of(module, function.__qualname__):
            return function
    return None


def _codes_of(module: types.ModuleType, qualified: str) -> list[types.CodeType]:
    """The code that is found under a name, as it is in this process; several lambdas share one."""
    outer, *inner = qualified.split(_LOCAL, 1)
    _, function = _function_of(module, outer)
    if function is None:
        return []
    if not inner:
        return [function.__code__]
    return [code for code in find_codes_inside(function.__code__) if code.co_qualname == qualified]


def _function_of(module: types.ModuleType, name: str) -> tuple[str, types.FunctionType | None]:
    """The function that a name of a module leads to, and how from what is found under the name."""
    value: Any = module
    for part in name.split("."):
        try:
            value = inspect.getattr_static(value, part)
        except AttributeError:
            return "", None
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    return to_function(value, lambda f: name in (f.__code__.co_qualname, f.__qualname__))
