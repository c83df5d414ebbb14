"""Globals that a program sets itself when it is first asked, such as flags of what is available.

A process that has just started does not have them yet. A file that was compiled where they were
there asks for them as the program would, and compares them from then on.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import torch

from workbench.compiler.calls.paths import Path
from workbench.compiler.captured_code.inlined_code import CODE, Inlined, InlinedCode, to_function
from workbench.compiler.captured_code.specialized_values import (
    SpecializedValue,
    SpecializedValues,
    resolve,
    scope_of,
)
from workbench.errors import ArtifactError

_CALLS = 3
"""How many calls deep in what was traced code is looked at that sets a value."""
_BY_NAME = {
    *("setattr", "__setattr__", "__dict__", "vars", "globals", "update"),
    *("register_buffer", "register_parameter", "register_module", "add_module"),
}
_GROWS = {"setdefault", "update", "add", "append", "extend", "insert", "appendleft"}
_OF_CONTAINERS = ("key", "keys", "members", "length")
_STORING = {dis.opmap[name]: name for name in ("STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR")}
"""Read from the bytes: `dis` needs half a millisecond for a function."""
_ROOTS = (str(File(torch.__file__).parent), str(File(dis.__file__).parent))
_INSTALLED = ("site-packages", "dist-packages")
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)


@dataclass(frozen=True)
class _Setter:
    """Traced code with its place, and the code that it may reach, itself first."""

    place: str
    reached: tuple[types.CodeType, ...]

    def sets(self, path: Path) -> bool:
        """Whether its own code sets what is at the path."""
        return sets(self.reached[0], path)

    def reaches(self, path: Path) -> bool:
        """Whether code that it may call does."""
        return any(sets(code, path) for code in self.reached[1:])


def add_setters(rows: Sequence[Mapping[str, Any]], inlined: InlinedCode) -> list[Mapping[str, Any]]:
    """The rows of a manifest; those of globals with the place of the traced code that sets them.

    What was set before is set by no traced code, only by code that this would have called.
    """
    if not any(row["owner"] for row in rows):
        return list(rows)
    setters = tuple(_setters(inlined))
    return [
        row if row.get("asked") or not row["owner"] else _with_setter(row, setters) for row in rows
    ]


def _with_setter(row: Mapping[str, Any], setters: Sequence[_Setter]) -> Mapping[str, Any]:
    (written,), scope = row["value"].values(), scope_of(row["owner"])
    value = ast.literal_eval(written) if row["check"] == "attribute" else written
    path = _set_place(Path.from_json(row["path"]), row["check"], value)
    direct = [one.place for one in setters if one.sets(path)]
    for place in direct or (one.place for one in setters if one.reaches(path)):
        if scope is not None and find_setter(path, scope, place) is not None:
            return {**row, "asked": place}
    return {**row, "asked": direct[0]} if direct else row


def _setters(inlined: InlinedCode) -> Iterator[_Setter]:
    for one in inlined.parts:
        if one.kind != CODE or (place := _place(one)) is None:
            continue
        function = _function(one)
        kind = one.holder if isinstance(one.holder, type) else _class_of(place)
        reached = {} if function is None else _reached(function, kind)
        yield _Setter(place, (one.expected, *(c for c in reached if c is not one.expected)))


def _function(one: Inlined) -> types.FunctionType | None:
    """The function that was compiled in, None where it is gone."""
    try:
        return to_function(one.found(), lambda f: f.__code__ is one.expected)[1]
    except _FAILURES:
        return None


def _class_of(place: str) -> type | None:
    """The class of a method's place, None for a function."""
    owner, _, _ = place.rpartition(".")
    try:
        kind = resolve(owner) if ":" in owner else None
    except (ImportError, AttributeError):
        return None
    return kind if isinstance(kind, type) else None


def _reached(function: types.FunctionType, kind: type | None) -> dict[types.CodeType, None]:
    """The code that a function may call, by the names that it has, a few calls deep."""
    reached: dict[types.CodeType, None] = {}
    front: list[tuple[types.FunctionType, type | None]] = [(function, kind)]
    for _ in range(_CALLS):
        following: list[tuple[types.FunctionType, type | None]] = []
        for caller, of in front:
            codes = list(_nested(caller.__code__))
            reached.update(dict.fromkeys(codes))
            for called in _called(caller, {n for c in codes for n in c.co_names}, of):
                if called[0].__code__ not in reached and not _is_foreign(called[0]):
                    following.append(called)
        front = following
    for last, _ in front:
        reached.update(dict.fromkeys(_nested(last.__code__)))
    return reached


def _is_foreign(function: types.FunctionType) -> bool:
    """Whether it is code of torch or of Python, which sets no globals of a program."""
    file = function.__code__.co_filename
    is_installed = any(part in file for part in _INSTALLED)
    return file.startswith(_ROOTS[0]) or (file.startswith(_ROOTS[1]) and not is_installed)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _called(
    caller: types.FunctionType, names: Iterable[str], kind: type | None
) -> Iterator[tuple[types.FunctionType, type | None]]:
    """What a function may mean by its names: globals, what is in these, what its class has."""
    scope, names = caller.__globals__, tuple(names)
    holders = [scope[name] for name in names if name in scope]
    for value in holders:
        yield from _functions(value, None)
    kinds = [value if isinstance(value, type) else type(value) for value in holders]
    for owner in dict.fromkeys((*([kind] if kind else ()), *kinds)):
        for name in names if owner.__module__ != "builtins" else ():
            has: Mapping[str, Any] = next(
                (vars(one) for one in owner.__mro__ if name in vars(one)), {}
            )
            yield from _functions(has.get(name), owner)
    for module in holders:
        if isinstance(module, types.ModuleType):
            for name in names:
                yield from _functions(vars(module).get(name), None)


def _functions(value: Any, kind: type | None) -> Iterator[tuple[types.FunctionType, type | None]]:
    """The function in a method, property or decorator, if there is one, with its class."""
    value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    functional = (types.FunctionType, types.MethodType, property, functools.cached_property)
    if isinstance(value, functional) or hasattr(type(value), "cache_info"):
        _, function = to_function(value, lambda f: not hasattr(f, "__wrapped__"))
        if function is not None:
            yield function, kind


def _place(one: Inlined) -> str | None:
    """`module:path` of a function, or of the property or method that it is of."""
    if one.place is None and isinstance(one.holder, type):
        return f"{one.holder.__module__}:{one.expected.co_qualname}"
    return one.place


def _set_place(path: Path, check: str, value: Any) -> Path:
    """What has to be set for the value to be there: of a container any entry."""
    if check == "attribute":
        return path.attr(value)
    return path.item("") if check in _OF_CONTAINERS else path


def find_stored_attributes(code: types.CodeType) -> list[str]:
    """The names under which code sets attributes."""
    return sorted(name for kind, name in _stores(code) if kind == "STORE_ATTR")


def sets(code: types.CodeType, path: Path) -> bool:
    """Whether code sets a global, an attribute by its name, or any entry of a table."""
    names = set(code.co_names)
    if not path.steps:
        return path.root in names and ("STORE_GLOBAL", path.root) in _stores(code)
    kind, name = path.steps[-1]
    if kind == "attr":
        if name in names and ("STORE_ATTR", name) in _stores(code):
            return True
        return bool(names & _BY_NAME) and name in _constants(code)
    if path.steps[-2:-1] == (("vars", ""),):  # an attribute, by the table of the object
        return sets(code, Path(path.root, (*path.steps[:-2], ("attr", name))))
    table = next((str(key) for step, key in path.steps[-2::-1] if step == "attr"), path.root)
    return table in names and (bool(names & _GROWS) or ("STORE_SUBSCR", "") in _stores(code))


@functools.lru_cache(maxsize=1024)
def _stores(code: types.CodeType) -> frozenset[tuple[str, str]]:
    """What code stores: by what instruction, and under what name."""
    stores, high = set(), 0
    for op, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = high | low
        high = number << 8 if op == dis.EXTENDED_ARG else 0
        if name := _STORING.get(op):
            stores.add((name, "" if name == "STORE_SUBSCR" else code.co_names[number]))
    return frozenset(stores)


def _constants(code: types.CodeType) -> set[Any]:
    """The strings of code, also the names of the arguments of a call."""
    strings = [value for value in code.co_consts if isinstance(value, str)]
    tuples = [value for value in code.co_consts if isinstance(value, tuple)]
    return {*strings, *(part for value in tuples for part in value if isinstance(part, str))}


def ask(values: SpecializedValues) -> SpecializedValues:
    """Have the program set what it sets when it is first asked, as far as that takes no arguments.

    The values that were asked for are compared from then on, in what is given back.

    Raises `ArtifactError` where the program's code fails.
    """
    places: set[int] = set()
    called: set[tuple[str, int]] = set()
    for place, one in enumerate(values.values):
        scope = values.scopes.get(one.owner or "")
        if not one.asked or scope is None or _is_set(one, scope):
            continue
        path = _set_place(one.path, one.check, one.value)
        try:
            setter = find_setter(path, scope, one.asked)
            if setter is None:
                continue  # not to be had without arguments: compared once the value is there
            key = one.asked, id(getattr(setter, "__self__", None))
            if key not in called:
                called.add(key)
                setter()
                setter()  # what is set once is there as it was: a count is not
        except Exception as error:  # whatever the program's own code raises
            raise ArtifactError(
                f"{path} (global of {one.owner}) was set at compilation. Calling {one.asked}, "
                f"which sets it, fails here ({type(error).__name__}): {error}. Recompile here."
            ) from error
        places.add(place)
    return replace(
        values,
        values=tuple(
            replace(one, asked=None) if place in places else one
            for place, one in enumerate(values.values)
        ),
    )


def _is_set(one: SpecializedValue, scope: Mapping[str, Any]) -> bool:
    """Whether the value is there, and not what stands for one that nobody asked for."""
    if not one.is_there(scope):
        return False
    value = one.path.get(scope)
    is_blank = value is False or (isinstance(value, list | dict | set) and not value)
    return not is_blank or one.holds(value)


def find_setter(path: Path, scope: Mapping[str, Any], asked: str) -> Any | None:
    """What sets a value, as a function that takes no arguments; None where there is none.

    A method or property is that of the object nearest to the value on its path.
    """
    owner, _, name = asked.rpartition(".")
    try:
        kind = resolve(owner) if ":" in owner else None
        if not isinstance(kind, type):
            setter = resolve(asked)
        else:
            static = inspect.getattr_static(kind, name)
            is_bound = isinstance(static, classmethod | staticmethod)
            holders = (one for one in _holders(path, scope) if _is_of(one, kind))
            holder = next(holders, kind) if is_bound else next(holders)
            if not is_bound and not callable(static):
                return functools.partial(getattr, holder, name)  # a property
            setter = getattr(holder, name)
        return setter if callable(setter) and not _required(setter) else None
    except (ImportError, StopIteration, *_FAILURES):
        return None


def _holders(path: Path, scope: Mapping[str, Any]) -> Iterator[Any]:
    """The objects on the way to a value, from the nearest on, as far as they are there."""
    for end in range(len(path.steps) - 1, -1, -1):
        try:
            yield Path(path.root, path.steps[:end]).get(scope)
        except _FAILURES:
            continue


def _is_of(holder: Any, kind: type) -> bool:
    return kind in (holder if isinstance(holder, type) else type(holder)).__mro__


def _required(function: Any) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind not in kinds for p in parameters)
