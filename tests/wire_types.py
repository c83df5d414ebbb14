"""Whether JSON-ready data fits a type of the wire, to the last field."""

from __future__ import annotations

import types
import typing
from importlib import import_module
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from workbench.views.wire.report_messages import Document
from workbench.worlds.world import list_worlds


def mismatches(value: Any, kind: Any, place: str = "") -> list[str]:
    """Where `value` differs from the type, as sentences; empty when it fits."""
    if kind is Document and isinstance(value, dict):
        return _document(value)
    if is_typeddict(kind):
        return _typed_dict(value, kind, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        tries = [mismatches(value, option, place) for option in arguments]
        return [] if any(not found for found in tries) else tries[0]
    if origin is Literal:
        return [] if value in arguments else [f"{place}: {value!r} is none of {arguments}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{place}: {type(value).__name__} is no list"]
        items = enumerate(value)
        return [m for i, item in items for m in mismatches(item, arguments[0], f"{place}[{i}]")]
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(arguments):
            return [f"{place}: {value!r} has not {len(arguments)} items"]
        return [m for v, k in zip(value, arguments, strict=True) for m in mismatches(v, k, place)]
    if origin is dict:
        return [
            m
            for key, item in value.items()
            for m in mismatches(item, arguments[1], f"{place}.{key}")
        ]
    expected = type(None) if kind is None else (int, float) if kind is float else kind
    is_fit = isinstance(value, expected) and not (kind is int and isinstance(value, bool))
    return [] if is_fit else [f"{place}: {value!r} is no {kind}"]


def _document(value: dict[str, Any]) -> list[str]:
    """The document of a report, to which worlds add their own fields."""
    own, found = dict(value), list[str]()
    for world in list_worlds():
        if (world.folder / "views" / "messages.py").exists():
            messages = import_module(f"workbench.worlds.{world.name}.views.messages")
            if (kind := getattr(messages, "Document", None)) is None:
                continue
            found += mismatches({n: own.pop(n) for n in kind.__annotations__ if n in own}, kind)
    return found + _typed_dict(own, Document, "")


def _typed_dict(value: Any, kind: Any, place: str) -> list[str]:
    hints = typing.get_type_hints(kind, include_extras=True)
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no {kind.__name__}"]
    found = [f"{place}.{name} is unknown" for name in value if name not in hints]
    for name, hint in hints.items():
        is_optional = get_origin(hint) is NotRequired
        if name in value:
            inner = get_args(hint)[0] if is_optional else hint
            found += mismatches(value[name], inner, f"{place}.{name}")
        elif not is_optional:
            found.append(f"{place}.{name} is missing")
    return found
