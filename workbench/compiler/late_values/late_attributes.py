"""Attributes that an object sets itself when it is first called or asked, such as caches.

A new object does not have them yet, and one that was called has them already.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from workbench.compiler.calls.paths import Path, parse
from workbench.compiler.captured_code.inlined_code import CODE, Inlined, InlinedCode
from workbench.compiler.late_values.late_globals import find_setter, find_stored_attributes, sets
from workbench.errors import ContractError

_PLACE = re.compile(r"L\['\w+'\](?:\.\w+|\[(?:'[^']*'|\d+)\])*")
_OF_MODULE = re.compile(r"\.(?:_buffers|_modules|_parameters|__dict__)\['(\w+)'\]")
_ATTRIBUTE = re.compile(r"hasattr\(.*, '(\w+)'\)")
_ENTRY = "___dict_contains("
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)
_CALLED = (".forward", ".__call__")


def ask_object(reasons: Sequence[str], bound: Mapping[str, Any], inlined: InlinedCode) -> bool:
    """Have an argument's own methods and properties set what guards miss; whether any did.

    Only those that take no arguments and were compiled in: the original call would enter them.
    Raises `ContractError` where one of them fails.
    """
    has_set = False
    for path in _places(reasons, bound, inlined):
        setter = None if _is_there(path, bound) else _setter(path, bound, inlined)
        if setter is None:
            continue
        try:
            setter()
        except Exception as error:  # whatever the program's own code raises
            raise ContractError(
                f"{path} was set at compilation. Setting it fails here ({type(error).__name__}): "
                f"{error}. Set it, or recompile here."
            ) from error
        has_set = True
    return has_set


def _setter(path: Path, bound: Mapping[str, Any], inlined: InlinedCode) -> Any | None:
    """What sets what is at a path without arguments; None where nothing does."""
    try:
        holder = Path(path.root, path.steps[:-1]).get(bound)
    except _FAILURES:
        return None
    name = str(path.steps[-1][1])
    if _is_cached(type(holder), name):
        return functools.partial(getattr, holder, name)
    places = (one.place for one in _setters(path, inlined))
    setters = (find_setter(path, bound, p) for p in places if p and not p.endswith(_CALLED))
    return next((setter for setter in setters if setter is not None), None)


def say_setter(
    reasons: Sequence[str], bound: Mapping[str, Any], inlined: InlinedCode
) -> str | None:
    """What to do where a guard, by its `reasons`, asks for what the call sets itself, or None."""
    for path in _places(reasons, bound, inlined):
        for one in _setters(path, inlined):
            place, at = one.name.partition(" (")[0], str(path).removesuffix("['']")
            if _is_there(path, bound):
                return (
                    f"{place} sets {at} itself, and the compiled code is valid only for one value. "
                    "Run the model once in eager before compiling; keep per-call counters in a "
                    "tensor buffer."
                )
            owner = "the module" if isinstance(bound[path.root], torch.nn.Module) else path.root
            return (
                f"{place} sets {at} in its first call, which came before the compilation. Call "
                f"{owner} once before loading, or save it with weights='inside'."
            )
    return None


def _setters(path: Path, inlined: InlinedCode) -> Iterator[Inlined]:
    """The code that was compiled in and sets what is at a path."""
    for one in inlined.parts:
        if one.kind == CODE and sets(one.expected, path):
            yield one


def _places(
    reasons: Sequence[str], bound: Mapping[str, Any], inlined: InlinedCode
) -> Iterator[Path]:
    """The places below arguments that guards speak of."""
    for reason in reasons:
        source = reason.partition("  #")[0]
        for expression in _PLACE.findall(source):
            if (parsed := parse(_OF_MODULE.sub(r".\1", expression))) is None:
                continue
            _, path = parsed
            if attribute := _ATTRIBUTE.search(source):
                yield path.attr(attribute[1])
            elif _ENTRY in source or source.startswith(("len(", "not L[")):
                yield path.item("")
            elif source.startswith("getattr failed"):
                yield from _missing_below(path, bound, inlined)
            elif path.steps:
                yield path


def _missing_below(path: Path, bound: Mapping[str, Any], inlined: InlinedCode) -> Iterator[Path]:
    """What code sets of the object at a path that it lacks: torch names the object alone."""
    try:
        value = path.get(bound)
    except _FAILURES:
        return
    for one in inlined.parts:
        for name in find_stored_attributes(one.expected) if one.kind == CODE else ():
            if hasattr(value, "__dict__") and not hasattr(value, name):
                yield path.attr(name)


def _is_there(path: Path, bound: Mapping[str, Any]) -> bool:
    """Whether something was set; an entry of a table is there where the table has any."""
    try:
        holder, (kind, name) = Path(path.root, path.steps[:-1]).get(bound), path.steps[-1]
        if path.steps[-1] == ("item", ""):
            return len(holder) > 0
        if kind == "attr" and _is_cached(type(holder), str(name)):
            return name in vars(holder)  # to look would set it
        return path.get(bound) is not None
    except _FAILURES:
        return False


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
