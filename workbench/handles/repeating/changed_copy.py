"""A change made: a function or module with other lines, as a copy; the options of Dynamo."""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import linecache
import operator
import types
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from workbench.analysis.changes.change import Change, Edit, apply_edits
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.callables import read_closure, uncompiled
from workbench.compiler.sources.sources import Places
from workbench.errors import UsageError

_BY_HAND = "Change the line yourself and recompile."


Way = tuple[types.FunctionType, ...]
"""Functions from one that a callable starts with to another that it calls by its name."""


def rewrite_callable(target: Any, *changes: Change) -> Any:
    """Return a copy of the callable with one or more changes applied to its source lines.

    Code inserted above the functions sees the same globals. The lines must belong to a plain
    function or method that the callable starts with, or to a function of the same package that it
    calls by name. Otherwise, raises `UsageError`.
    """
    if isinstance(target, functools.partial):
        inner = rewrite_callable(target.func, *changes)
        return functools.partial(inner, *target.args, **target.keywords)
    target = uncompiled(target) or target
    above = list(chain.from_iterable(dict.fromkeys(change.above for change in changes)))
    left = [edit for change in changes for edit in change.edits]
    while left:
        way = _found(target, left[0])
        here = [each for each in left if _holds(way[-1], each)]
        left = [each for each in left if each not in here]
        target = _with(target, way[0], _start(way, _changed(way[-1], here, above)))
    return target


def read_dynamo_options(changes: Iterable[Change]) -> dict[str, Any]:
    """Return the Dynamo options set by changes, with their values; may raise import errors."""
    options: dict[str, Any] = {}
    config = tp.DYNAMO_CONFIG.get()
    own = (setting for change in changes for setting in change.settings)
    for setting in own:
        if setting.is_added:
            module, _, path = setting.value.partition(".")
            added = operator.attrgetter(path)(importlib.import_module(module))
            before = options.get(setting.name, getattr(config, setting.name))
            options[setting.name] = {*before, added}
        elif setting.scope == "Dynamo":
            options[setting.name] = setting.value
    return options


def holder(target: Any, change: Edit) -> types.FunctionType:
    """Return the function that contains an edit's lines, or raise `UsageError` if none does."""
    while isinstance(target, functools.partial):
        target = target.func
    return _found(uncompiled(target) or target, change)[-1]


def _found(target: Any, change: Edit) -> Way:
    """The way to the function that holds the lines of a change."""
    for start in _starts(target):
        for way in _ways(start):
            if _holds(way[-1], change):
                return way
    raise UsageError(
        f"The line is not in a function that {getattr(target, '__name__', 'the call')} runs and "
        f"that can be copied. {_BY_HAND}"
    )


def _starts(target: Any) -> Iterator[types.FunctionType]:
    """The plain functions that a callable starts with: itself, or methods of its objects."""
    if isinstance(target, types.FunctionType):
        yield target
        return
    owner = _owner(target)
    parts = owner.modules() if isinstance(owner, torch.nn.Module) else (owner,)
    for kind in dict.fromkeys(type(part) for part in parts):
        yield from (method for _, method in _methods(kind))


def _owner(target: Any) -> Any:
    """The object whose methods a call runs: that of a bound method, or the callable itself."""
    return target.__self__ if isinstance(target, types.MethodType) else target


def _methods(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    """The methods of a class by name, with those that they reach through `super()`."""
    hidden: set[str] = set()
    for base in kind.__mro__:
        if base in (torch.nn.Module, object):
            return
        for name, method in vars(base).items():
            if isinstance(method, types.FunctionType) and name not in hidden:
                yield name, method
                if "__class__" not in method.__code__.co_freevars:
                    hidden.add(name)


def _ways(start: types.FunctionType) -> Iterator[Way]:
    """The ways from a function to itself and to those that it calls by name, nearest first."""
    waiting: list[Way] = [(start,)]
    seen = {start}
    while waiting:
        way = waiting.pop(0)
        yield way
        for _, function in _called(way[-1]):
            if function not in seen and _package(function) == _package(start):
                seen.add(function)
                waiting.append((*way, function))


def _called(caller: types.FunctionType) -> Iterator[tuple[str, types.FunctionType]]:
    """The functions among the globals and the closure of a function, by the names there."""
    code = caller.__code__
    named = [(name, caller.__globals__.get(name)) for name in code.co_names]
    cells = zip(code.co_freevars, caller.__closure__ or (), strict=True)
    named += [(name, cell.cell_contents) for name, cell in cells if cell != types.CellType()]
    for name, value in named:
        if isinstance(value, types.FunctionType):
            yield name, value


def _package(function: types.FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]


def _holds(function: types.FunctionType, change: Edit) -> bool:
    """Whether the lines of the change are in the function's source as it is now."""
    if Places().shown(function.__code__.co_filename) != change.file:
        return False
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return False
    start = change.line - max(first, 1)
    here = [line.rstrip("\n") for line in lines[start : start + len(change.before)]]
    return start >= 0 and here == list(change.before)


def _changed(
    function: types.FunctionType, changes: Sequence[Edit], above: Sequence[str]
) -> types.FunctionType:
    """The function of the changed source, with the same globals, defaults and closure."""
    file = function.__code__.co_filename
    text = "\n".join(apply_edits(linecache.getlines(file), changes)) + "\n"
    name = str(Path(file).with_name(f"{Path(file).stem}_rewritten{Path(file).suffix}"))
    first = function.__code__.co_firstlineno
    made = next(
        (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
            and node.lineno == first
            and node.name == function.__name__
        ),
        None,
    )
    if made is None:
        raise UsageError(
            f"{function.__name__} is a lambda or has a decorator that a copy would lose. {_BY_HAND}"
        )
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = _code(made, function, name)
    cells = dict(
        zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )  # the same cells: what the enclosing function sets later is seen
    closure = tuple(cells[variable] for variable in code.co_freevars)
    scope = {**function.__globals__}
    exec("\n".join(above), scope)
    new = types.FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__, new.__module__ = function.__kwdefaults__, function.__module__
    new.__qualname__ = function.__qualname__
    return new


def _code(made: ast.FunctionDef, function: types.FunctionType, file: str) -> types.CodeType:
    """The code of a definition that reads the variables of an enclosing function."""
    names = ", ".join(read_closure(function)) if function.__closure__ else ""
    outer = ast.parse(f"def _enclosing({names}):\n    pass")
    enclosing = outer.body[0]
    assert isinstance(enclosing, ast.FunctionDef)
    enclosing.body = [made]
    code = compile(ast.fix_missing_locations(outer), file, "exec", dont_inherit=True)
    for constant in chain.from_iterable(
        part.co_consts for part in code.co_consts if isinstance(part, types.CodeType)
    ):
        if isinstance(constant, types.CodeType) and constant.co_name == made.name:
            return constant
    raise UsageError(f"{made.name} could not be compiled separately. {_BY_HAND}")


def _start(way: Way, new: types.FunctionType) -> types.FunctionType:
    """The function that the callable starts with: the new one, or one that leads to it."""
    for caller, old in zip(way[-2::-1], way[:0:-1], strict=True):
        new = _calling(caller, old, new)
    return new


def _calling(
    caller: types.FunctionType, old: types.FunctionType, new: types.FunctionType
) -> types.FunctionType:
    """A function that calls another one in place of what it called."""
    names = {name for name, function in _called(caller) if function is old}
    scope = {**caller.__globals__, **dict.fromkeys(names & {*caller.__code__.co_names}, new)}
    cells = zip(caller.__code__.co_freevars, caller.__closure__ or (), strict=True)
    closure = tuple(types.CellType(new) if name in names else cell for name, cell in cells)
    made = types.FunctionType(
        caller.__code__, scope, caller.__name__, caller.__defaults__, closure or None
    )
    made.__kwdefaults__, made.__module__ = caller.__kwdefaults__, caller.__module__
    made.__qualname__ = caller.__qualname__
    return made


def _with(target: Any, old: types.FunctionType, new: types.FunctionType) -> Any:
    """The callable with a new function in place of an old one; tensors are shared."""
    if isinstance(target, types.FunctionType):
        return new
    owner = _owner(target)
    made = _twin(owner)
    kinds: dict[type, type] = {}
    for part in made.modules() if isinstance(made, torch.nn.Module) else (made,):
        kind = type(part)
        name = next((name for name, method in _methods(kind) if method is old), None)
        if name is not None:
            if kind not in kinds:
                kinds[kind] = _subclass(kind, name, old, new)
            _change_class(part, kinds[kind])
    if owner is target:
        return made
    return types.MethodType(new if old is target.__func__ else target.__func__, made)


def _change_class(part: Any, kind: type) -> None:
    try:
        part.__class__ = kind
    except TypeError as error:  # such as one with __slots__
        raise UsageError(
            f"A {kind.__name__} cannot be copied with a replaced method. {_BY_HAND}"
        ) from error


def _twin(owner: Any) -> Any:
    """An object with the same attributes; of a module all parts, which share their tensors."""
    if not isinstance(owner, torch.nn.Module):
        return copy.copy(owner)
    shared = {id(t): t for t in chain(owner.parameters(), owner.buffers())}
    return copy.deepcopy(owner, dict(shared))


def _subclass(kind: type, name: str, old: types.FunctionType, new: types.FunctionType) -> type:
    """A class under another one, in which a function is in place of its method, or of a base's."""
    own = kind.__module__
    owner = next(base for base in kind.__mro__ if vars(base).get(name) is old)
    if getattr(kind, name, None) is old:
        return type(kind.__name__, (kind,), {name: new, "__module__": own})
    between = type(owner.__name__, (owner,), {name: new, "__module__": owner.__module__})
    return type(kind.__name__, (kind, between), {"__module__": own})  # between it and its base
