"""What a guard of torch that does not hold means, in words about the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import torch

from workbench.compiler.contract.paths import Path, leaves, parse

_OWN_ATTRIBUTE = re.compile(r"not ___dict_contains\('(\w+)', (L\[.*)\.__dict__\)")
_SAME = re.compile(r"(L\[.*) is (L\[.*)")
_TYPE = re.compile(r"___check_type_id\((L\[.*), \d+\), type=<class '([\w.<>]+)'>")
_MODULE = re.compile(r"\._modules\['(\w+)'\]")
_ARGUMENT = re.compile(r"L\['(\w+)'\]")
_KEYS = re.compile(
    r"tensor '(L\[.*)' dispatch key set mismatch\. expected DispatchKeySet\((.*)\), "
    r"actual DispatchKeySet\((.*)\)"
)
_TWICE = "Duplicate tensor found where not expected!"


def in_words(reasons: Iterable[str], bound: Mapping[str, Any]) -> Iterator[str]:
    """Each reason without its place in torch, in words where there are better ones."""
    for reason in reasons:
        text = reason.split("  # ")[0].strip()
        if text == _TWICE:
            yield from _same_tensors(bound) or [text]
        elif own := _OWN_ATTRIBUTE.fullmatch(text):
            name = f"{_shown(own[2])}.{own[1]}"
            yield f"{name}: the object was given one of its own after it was compiled"
        elif same := _SAME.fullmatch(text):
            yield f"{_shown(same[1])} and {_shown(same[2])} have to be one tensor, as when compiled"
        elif kind := _TYPE.fullmatch(text):
            yield f"{_shown(kind[1])}: expected a {kind[2]}{_instead(kind[1], bound)}"
        else:
            yield text


def other_kind(reason: str) -> str:
    """A reason in words where it is that a tensor is of another kind inside torch."""
    keys = _KEYS.fullmatch(reason)
    if keys is None:
        return reason
    was, found = set(keys[2].split(", ")), set(keys[3].split(", "))
    parts = [
        f"{words} {', '.join(sorted(keys))}"
        for words, keys in (("has", found - was), ("lacks", was - found))
        if keys
    ]
    return (
        f"{_shown(keys[1])}: it is of another kind inside torch than the example was "
        f"({' and '.join(parts)}): pass a plain tensor, such as its .clone()"
    )


def _instead(place: str, bound: Mapping[str, Any]) -> str:
    """What a call has there, where it can be looked up."""
    found = parse(place)
    try:
        value = None if found is None else found[1].get(bound)
    except (KeyError, IndexError, TypeError, AttributeError):
        value = None
    return "" if value is None else f", got a {type(value).__module__}.{type(value).__qualname__}"


def _same_tensors(bound: Mapping[str, Any]) -> list[str]:
    found = [
        (path, value)
        for name, part in bound.items()
        for path, value in leaves(part, Path(name))
        if isinstance(value, torch.Tensor)
    ]
    return [
        f"{path} and {again} are one tensor; compiled for inputs that are not: pass a .clone(), or "
        "compile with one tensor for both"
        for (path, value), (again, other) in combinations(found, 2)
        if value is other
    ]


def _shown(place: str) -> str:
    """`self.inner` for `L['self']._modules['inner']`."""
    return _ARGUMENT.sub(r"\1", _MODULE.sub(r".\1", place))
