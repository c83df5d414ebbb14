"""A function or module with a few of its lines changed, as a copy beside the original."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import torch

from workbench.compiler.contract.callables import closure_of, uncompiled
from workbench.compiler.sources.sources import Places
from workbench.errors import UsageError

_BY_HAND = "Change the line yourself and compile again."


class LineChange(Protocol):
    """Lines of a file and what stands in their place: `before` from `line` on, and `after`."""

    @property
    def file(self) -> str | None:
        """The file, by the name that is shown."""

    @property
    def line(self) -> int | None:
        """The first line that changes, from 1."""

    @property
    def before(self) -> tuple[str, ...]:
        """The lines as they are."""

    @property
    def after(self) -> tuple[str, ...]:
        """The lines in their place."""


@dataclass(frozen=True)
class _Found:
    """The function that holds the lines; `caller` names it among its globals, or is itself."""

    function: types.FunctionType
    caller: types.FunctionType


def rewritten(target: Any, *changes: LineChange, above: Sequence[str] = ()) -> Any:
    """The callable with the lines of one or more rewrites in place, as a copy.

    `above` are assignments that stand before the functions, and see the same globals. Raises
    `UsageError` where the lines are not those of a plain function, or of a module's forward, that
    this callable runs.
    """
    target = uncompiled(target) or target
    left = list(changes)
    while left:
        found = _found(target, left[0])
        here = [each for each in left if _holds(found.function, each)]
        left = [each for each in left if each not in here]
        target = _with(target, found, _caller(found, _changed(found.function, here, above)))
    return target


def holder(target: Any, change: LineChange) -> types.FunctionType:
    """The function that holds the lines of a change; raises `UsageError` as `rewritten` does."""
    return _found(uncompiled(target) or target, change).function


def _found(target: Any, change: LineChange) -> _Found:
    for caller in _functions(target):
        for function in (caller, *_helpers(caller)):
            if _holds(function, change):
                return _Found(function, caller)
    raise UsageError(
        f"The line is not in a function that {getattr(target, '__name__', 'the call')} runs and "
        f"that can be copied. {_BY_HAND}"
    )


def _functions(target: Any) -> Iterator[types.FunctionType]:
    """The plain functions that a callable starts with."""
    if isinstance(target, types.FunctionType):
        yield target
    elif isinstance(target, torch.nn.Module):
        kinds = dict.fromkeys(type(part) for part in target.modules())
        yield from (forward for kind in kinds for forward in _forwards(kind))


def _forwards(kind: type) -> Iterator[types.FunctionType]:
    """The forward of a class, and those that it reaches through `super()`."""
    for base in kind.__mro__:
        forward = vars(base).get("forward")
        if isinstance(forward, types.FunctionType):
            yield forward
            if "__class__" not in forward.__code__.co_freevars:
                return


def _helpers(caller: types.FunctionType) -> Iterator[types.FunctionType]:
    for name in caller.__code__.co_names:
        found = caller.__globals__.get(name)
        if isinstance(found, types.FunctionType) and found.__module__ == caller.__module__:
            yield found


def _holds(function: types.FunctionType, change: LineChange) -> bool:
    """Whether the lines of the change are in the function's source as it is now."""
    if Places().shown(function.__code__.co_filename) != change.file:
        return False
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return False
    start = (change.line or 0) - max(first, 1)
    here = [line.rstrip("\n") for line in lines[start : start + len(change.before)]]
    return start >= 0 and here == list(change.before)


def _changed(
    function: types.FunctionType, changes: Sequence[LineChange], above: Sequence[str]
) -> types.FunctionType:
    """The function of the changed source, with the same globals, defaults and closure."""
    file = function.__code__.co_filename
    text = "\n".join(changed_lines(linecache.getlines(file), changes)) + "\n"
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
            f"{function.__name__} is a lambda or has a decorator, which a copy would leave out. "
            f"{_BY_HAND}"
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


def changed_lines(lines: Sequence[str], changes: Sequence[LineChange]) -> list[str]:
    """The lines of a file, without their ends, after every change."""
    made = [line.rstrip("\n") for line in lines]
    for change in sorted(changes, key=lambda each: each.line or 1, reverse=True):
        start = (change.line or 1) - 1
        made[start : start + len(change.before)] = change.after
    return made


def _code(made: ast.FunctionDef, function: types.FunctionType, file: str) -> types.CodeType:
    """The code of a definition that reads the variables of an enclosing function."""
    names = ", ".join(closure_of(function)) if function.__closure__ else ""
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
    raise UsageError(f"{made.name} could not be compiled by itself. {_BY_HAND}")


def _caller(found: _Found, new: types.FunctionType) -> types.FunctionType:
    """The function that the callable starts with: the new one, or one that calls it."""
    old = found.caller
    if found.function is old:
        return new
    scope = {**old.__globals__, found.function.__name__: new}
    made = types.FunctionType(old.__code__, scope, old.__name__, old.__defaults__, old.__closure__)
    made.__kwdefaults__, made.__module__ = old.__kwdefaults__, old.__module__
    return made


def _with(target: Any, found: _Found, new: types.FunctionType) -> Any:
    """The callable with the new function in place of the old one; tensors are shared."""
    if not isinstance(target, torch.nn.Module):
        return new
    shared = {id(t): t for t in chain(target.parameters(), target.buffers())}
    made = copy.deepcopy(target, dict(shared))
    kinds: dict[type, type] = {}
    for part in made.modules():
        kind = type(part)
        if found.caller in _forwards(kind):
            if kind not in kinds:
                kinds[kind] = _subclass(kind, found.caller, new)
            part.__class__ = kinds[kind]
    return made


def _subclass(kind: type, old: types.FunctionType, new: types.FunctionType) -> type:
    """A class under another one, in which a function is in place of its forward, or of a base's."""
    own = kind.__module__
    owner = next(base for base in kind.__mro__ if vars(base).get("forward") is old)
    if getattr(kind, "forward", None) is old:
        return type(kind.__name__, (kind,), {"forward": new, "__module__": own})
    between = type(owner.__name__, (owner,), {"forward": new, "__module__": owner.__module__})
    return type(kind.__name__, (kind, between), {"__module__": own})  # between it and its base
