"""Where a call would look up what a capture compiled in: by guards, classes, modules."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path as File
from typing import Any

import torch

from workbench.compiler.calls.paths import Path, parse
from workbench.compiler.captured_code import inlined_code
from workbench.compiler.captured_code.inlined_code import (
    ANSWER,
    CLASS,
    NO_ATTRIBUTE,
    NO_KEY,
    OBJECT,
    Inlined,
    InlinedCode,
    of_function,
    to_function,
)
from workbench.compiler.captured_code.specialized_values import (
    find_globals_module,
    find_importable_name,
)
from workbench.compiler.guards.unguarded_reads import find_unguarded

_TORCH = str(File(torch.__file__).parent) + "/"
_IDENTITIES = ("CLOSURE_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "CLASS_MATCH")
_FOREIGN = ("torch", "builtins", "workbench")
_IMPORTED = "__import_"  # what Dynamo calls a module whose globals a function reads
Codes = frozenset[types.CodeType]


def find_inlined(
    codes: Iterable[types.CodeType],
    function: types.FunctionType,
    receiver: Any | None,
    dropped: Sequence[Any],
    guarded: Iterable[Any],
    live: Set[int] = frozenset(),
) -> InlinedCode:
    """Everything that a capture which traced `codes` depends on.

    `dropped` are the guards that a file cannot hold: what they look at is compared in this
    process, those whose identity is in `live` by torch. `guarded` are the values of all guards,
    whose classes have methods that were traced.
    """
    users = {code for code in codes if not _is_torch(code)}
    users -= {inner for code in users for inner in code.co_consts if inner in users}
    values = (*guarded, *_parts(receiver))
    classes = {type(value) for value in values}
    all_classes = classes | {value for value in values if isinstance(value, type)}
    parts = [
        *called(receiver, function),
        *_by_guards(dropped, live, function, frozenset(users)),
        *_in_classes(all_classes, frozenset(users)),
    ]
    rest = users - {one.expected for one in parts if one.kind == inlined_code.CODE}
    parts += _in_modules(frozenset(rest), function)
    parts += find_unguarded(parts, frozenset(users), classes, values)
    return InlinedCode(tuple({_place_of(one): one for one in parts}.values()))


def _place_of(one: Inlined) -> tuple[Any, ...]:
    """What two parts that compare the same have in common."""
    is_lacking = one.kind in (NO_ATTRIBUTE, NO_KEY)
    return id(one.holder), one.lookup, one.kind, one.expected if is_lacking else ""


def called(receiver: Any | None, function: types.FunctionType | None) -> Iterator[Inlined]:
    """What is called: a method, also when the object was given another one, or the function itself.

    A function is kept, as by torch.compile: its name may be given to another one. `function` is
    None for what was loaded.
    """
    if receiver is None:
        if function is not None:
            one = of_function(function.__qualname__, function, "", function)
            yield replace(one, place=one.source)
        return
    name = "forward" if isinstance(receiver, torch.nn.Module) or not function else function.__name__
    steps, target = to_function(getattr(receiver, name, None), lambda f: function in (None, f))
    if target is not None:
        one = of_function(f"{type(receiver).__name__}.{name}", receiver, f".{name}{steps}", target)
        yield replace(one, place=one.source)


def _is_torch(code: types.CodeType) -> bool:
    return code.co_filename.startswith(_TORCH)


def _parts(receiver: Any | None) -> Iterable[Any]:
    return receiver.modules() if isinstance(receiver, torch.nn.Module) else ()


def _by_guards(
    dropped: Sequence[Any],
    live: Set[int],
    function: types.FunctionType,
    users: Codes,
) -> Iterator[Inlined]:
    """Functions, classes and objects that torch's own guards name, where they are looked up."""
    modules, cells = _modules(dropped), _cells(function)
    for entry in dropped:
        place = parse(entry.name)
        spot = None if place is None else _spot(entry, place, function, modules, cells)
        if spot is None or place is None:
            continue
        spot = replace(spot, is_guarded=id(entry) in live)
        if entry.guard_type in _IDENTITIES:
            yield _compared(spot, entry.value)
        elif entry.guard_type == "TYPE_MATCH" and place[0] == "G":
            yield replace(spot, kind=CLASS, expected=type(entry.value))
            yield from _without_own_methods(spot, entry.value, users)


def _spot(
    entry: Any,
    place: tuple[str, Path],
    function: types.FunctionType,
    modules: Mapping[str, Any],
    cells: Mapping[str, Any],
) -> Inlined | None:
    """Where a guard looks, if that is in a closure or in a global."""
    scope, path = place
    if not entry.has_value:
        return None
    if scope == "L" and path.root in cells:
        return Inlined(str(path), cells[path.root], f".cell_contents{path.tail}", OBJECT, None)
    return _of_global(path, function, modules) if scope == "G" else None


def ask_environment(key: str, value: str | None) -> Inlined:
    """A variable of the environment that a capture read, None where it was not set."""
    source = f"os.environ[{key!r}]"
    if value is None:
        return Inlined(source, os.environ, "", NO_KEY, key)
    return Inlined(source, os.environ, f".get({key!r})", ANSWER, value)


def find_compared_by_code(entries: Sequence[Any], function: types.FunctionType) -> set[int]:
    """The places of guards on functions of the user that are compared by their code instead.

    Torch compares the code object itself, so that a cell which is run again would be refused.
    """
    modules = _modules(entries)
    cells = _cells(function)
    places = set()
    for i, entry in enumerate(entries):
        is_user = isinstance(entry.value, types.FunctionType) and not _is_torch(
            entry.value.__code__
        )
        place = parse(entry.name) if entry.guard_type in _IDENTITIES and is_user else None
        if place is not None and _spot(entry, place, function, modules, cells) is not None:
            places.add(i)
    return places


def find_compared_in_files(
    dropped: Sequence[Any], function: types.FunctionType, code: InlinedCode
) -> set[int]:
    """The places in `dropped` of guards on what a file compares by its code or its name."""
    written = [one for one in code.parts if one.is_written()]
    places = {(id(one.holder), one.lookup) for one in written}
    expected = {id(one.expected) for one in written}
    modules, cells = _modules(dropped), _cells(function)
    indices = set()
    for i, entry in enumerate(dropped):
        place = parse(entry.name) if entry.guard_type in _IDENTITIES else None
        spot = None if place is None else _spot(entry, place, function, modules, cells)
        own_code = getattr(entry.value, "__code__", entry.value)
        if id(own_code) in expected if spot is None else (id(spot.holder), spot.lookup) in places:
            indices.add(i)
    return indices


def _modules(entries: Sequence[Any]) -> dict[str, Any]:
    return {e.name: e.value for e in entries if isinstance(e.value, types.ModuleType)}


def _cells(function: types.FunctionType) -> dict[str, Any]:
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def _of_global(
    path: Path, function: types.FunctionType, modules: Mapping[str, Any]
) -> Inlined | None:
    """The place of a global, in the module that has it; None for those of torch and Python."""
    owner, scope = find_globals_module(function), function.__globals__
    if path.root.startswith(_IMPORTED):
        imported = path.root.removeprefix(_IMPORTED).replace("_dot_", ".")
        imported_module = modules.get(f"G[{path.root!r}]", sys.modules.get(imported))
        scope = {} if imported_module is None else {path.root: imported_module}
    if path.root not in scope:
        return None
    while path.steps and isinstance(scope.get(path.root), types.ModuleType):
        module, (kind, name) = scope[path.root], path.steps[0]
        if kind != "attr":
            return None
        owner, scope, path = module.__name__, vars(module), Path(str(name), path.steps[1:])
    if owner.partition(".")[0] in _FOREIGN or isinstance(scope.get(path.root), types.ModuleType):
        return None
    is_plain = all(kind == "attr" and "__" not in str(name) for kind, name in path.steps)
    place = f"{owner}:{path}" if is_plain else None
    return Inlined(
        f"{path} (of {owner})", scope, f"[{path.root!r}]{path.tail}", OBJECT, None, place
    )


def _compared(spot: Inlined, value: Any) -> Inlined:
    """A function of the user by its code, anything else by itself."""
    if isinstance(value, types.FunctionType) and not _is_torch(value.__code__):
        return of_function(spot.name, spot.holder, spot.lookup, value, spot.place)
    return replace(spot, expected=value)


def _without_own_methods(spot: Inlined, value: Any, users: Codes) -> Iterator[Inlined]:
    """The methods of an object's class that were traced, of which it may not have others itself."""
    if isinstance(getattr(value, "__dict__", None), dict):
        for one in _in_classes({type(value)}, users):
            name = one.lookup.split(".")[1]
            if name not in vars(value):
                yield replace(
                    spot,
                    name=f"{spot.name}.{name}",
                    kind=NO_ATTRIBUTE,
                    expected=name,
                    place=None,
                    is_guarded=False,
                )


def _in_classes(classes: Iterable[type], users: Codes) -> Iterator[Inlined]:
    """Methods of the classes, each as an object of the class would find it."""
    for owner in classes:
        for base in owner.__mro__:
            if base.__module__.partition(".")[0] in ("torch", "builtins"):
                continue
            for name, member in list(vars(base).items()):
                if _user_function(member, users)[1] is None:
                    continue
                for holder in {owner, base}:  # a method of the base may be called by `super()`
                    steps, method = _user_function(getattr(holder, name), users)
                    if method is not None:
                        source = f"{holder.__qualname__}.{name}"
                        one = of_function(source, holder, f".{name}{steps}", method)
                        place = find_importable_name(holder)
                        yield replace(one, place=one.source if place is None else f"{place}.{name}")


def _user_function(value: Any, users: Codes) -> tuple[str, types.FunctionType | None]:
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    return to_function(value, lambda function: function.__code__ in users)


def _in_modules(users: Codes, function: types.FunctionType) -> Iterator[Inlined]:
    """Functions that a module has by the name that their code has."""
    modules: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    files = {code.co_filename for code in users}
    for module in list(sys.modules.values()) if files else ():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file in files and isinstance(module, types.ModuleType):
            modules.setdefault(file, []).append((module.__name__, vars(module)))
    own = (find_globals_module(function), function.__globals__)
    for code in users:
        root, *rest = code.co_qualname.split(".")
        path = Path(root, tuple(("attr", part) for part in rest))
        for owner, scope in (own, *modules.get(code.co_filename, ())):
            try:
                value = path.get(scope)
            except (KeyError, AttributeError):
                continue
            steps, target = _user_function(value, frozenset({code}))
            if target is not None:
                lookup = f"[{root!r}]{path.tail}{steps}"
                yield of_function(f"{path} (of {owner})", scope, lookup, target, f"{owner}:{path}")
                break
