"""Finds the part of an object that cannot be pickled, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import torch

from workbench.errors import UsageError, first_line

_DEPTH = 6  # attributes of attributes that are looked through


def cannot_be_sent(
    error: Exception,
    parcel: Mapping[str, Any],
    what: str,
    dump: Callable[[Any], object],
    cure: str = "Compile it here with aot_compile, or keep that object out of what is compiled.",
) -> UsageError:
    """The error in words, naming the innermost part; `what` is the name of the function."""
    place = _culprit(parcel, dump)
    where = f"{what}: {place}" if place else what
    return UsageError(f"{where} cannot be sent to another process ({first_line(error)}). {cure}")


def _culprit(parcel: Mapping[str, Any], dump: Callable[[Any], object]) -> str | None:
    path: list[str] = []
    parts: Iterator[tuple[str, Any]] = iter(parcel.items())
    for _ in range(_DEPTH):
        found = next((part for part in parts if not _can(part[1], dump)), None)
        if found is None:
            break
        path.append(found[0])
        parts = _parts(found[1])
    names = [name for name in path if name not in parcel]
    return " of ".join(reversed(names)) or None


def _can(value: Any, dump: Callable[[Any], object]) -> bool:
    try:
        dump(value)
    except Exception:  # that it fails is the answer
        return False
    return True


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object is made of, with words for each part."""
    if isinstance(value, Mapping):
        yield from ((f"{key!r}", inner) for key, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"item {n}", inner) for n, inner in enumerate(value))
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f"the closure variable {name!r}", c.cell_contents) for name, c in cells)
        scope = value.__globals__
        used = (name for name in value.__code__.co_names if name in scope)
        yield from ((f"the global {name!r}", scope[name]) for name in used)
    elif isinstance(value, torch.nn.Module):
        yield from ((f"the submodule {name!r}", m) for name, m in value.named_children())
        yield from _attributes(value)
    else:
        yield from _attributes(value)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        yield f"the object {type(owner).__name__}", owner
    held: Mapping[str, Any] = getattr(value, "__dict__", None) or {}
    yield from ((f"the attribute {name!r}", inner) for name, inner in held.items())
