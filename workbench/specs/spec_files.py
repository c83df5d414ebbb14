"""Tables of values and sources, as TOML and JSON files hold them, made into GPUs."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from workbench.device_kinds import VendorName
from workbench.errors import UsageError
from workbench.specs.gpu import DTYPES, Gpu, Rates

_RATES = ("vector", "matrix")
_LIMITS = (  # the first never exceeds the second
    ("shared_per_block", "shared_per_block_optin"),
    ("shared_per_block_optin", "shared_per_sm"),
    ("registers_per_block", "registers_per_sm"),
    ("register_unit", "registers_per_sm"),
    ("max_blocks_per_sm", "max_warps_per_sm"),
)
_REQUIRED = [
    field.name
    for field in fields(Gpu)
    if field.default is MISSING and field.default_factory is MISSING and field.name not in _RATES
]
_MAY_BE_ZERO = ("minor", "shared_reserved")


def build_gpu(
    name: str,
    table: Mapping[str, Any],
    *,
    origin: str,
    base: Gpu | None = None,
    documents: Mapping[str, str] | None = None,
) -> Gpu:
    """The GPU that a table describes, what it leaves out taken from `base`.

    A value is given as such or as `[value, source]`; `origin` is the source of the first kind.
    Raises `UsageError` for a field that is unknown, missing, of the wrong type, or contradicts
    another one.
    """
    _check_name(name, origin)
    values, sources = read(table, f"{name} in {origin}", origin, documents or {})
    made: dict[str, Any] = base.values() | {"aliases": ()} if base else {}
    made |= {"name": name} | values
    _check_complete(made, f"{name} in {origin}")
    for part in _RATES:
        made[part] = Rates(**{dtype: made.pop(f"{part}.{dtype}", None) for dtype in DTYPES})
    made["sources"] = (dict(base.sources) if base else {}) | sources
    gpu = Gpu(**made)
    _check_limits(gpu, f"{name} in {origin}")
    return gpu


def read(
    table: Mapping[str, Any], where: str, origin: str, documents: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Checked values and expanded sources by field; `base` is left to the caller."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for key, value in _flat(table, where).items():
        source = origin
        is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and key != "aliases"
        if is_pair and isinstance(value[1], str):  # a list of names never has a source
            value, source = value
            document, colon, place = source.partition(":")
            source = f"{documents[document]}:{place}" if colon and document in documents else source
        values[key] = _checked(key, value, where)
        if key not in ("aliases", "note"):
            sources[key] = source or origin
    return values, sources


def _flat(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, given in table.items():
        if key == "base":
            continue
        if key in _RATES:
            if not isinstance(given, Mapping):
                raise UsageError(f"{where}: {key} must be a table of rates by dtype.")
            flat |= {f"{key}.{dtype}": rate for dtype, rate in given.items()}
        else:
            flat[key] = given
    return flat


def _checked(key: str, value: Any, where: str) -> Any:
    if key == "aliases":
        if not isinstance(value, (list, tuple)) or not all(isinstance(a, str) for a in value):
            raise UsageError(f"{where}: aliases must be a list of names.")
        return tuple(value)
    expected = _expected(key, where)
    if expected is str:
        _must(isinstance(value, str), where, key, "a text", value)
        if key == "vendor":
            known = get_args(VendorName)
            _must(value in known, where, key, " or ".join(f'"{name}"' for name in known), value)
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    _must(is_number and math.isfinite(value), where, key, "a number", value)
    least = 0 if key in _MAY_BE_ZERO else 1e-9
    if expected is int:
        _must(isinstance(value, int) and value >= least, where, key, "a positive integer", value)
        return value
    _must(value > 0, where, key, "a positive number", value)
    return float(value)


def _must(holds: bool, where: str, key: str, expected: str, value: Any) -> None:
    if not holds:
        raise UsageError(f"{where}: {key} must be {expected}, not {value!r}.")


def _expected(key: str, where: str) -> type:
    """The type of a field: str, int or float."""
    kinds = _kinds()
    if key not in kinds:
        near = difflib.get_close_matches(key, kinds, n=1)
        hint = f"; did you mean {near[0]}?" if near else f". Fields: {', '.join(kinds)}."
        raise UsageError(f"{where}: there is no field {key!r}{hint}")
    return kinds[key]


@cache
def _kinds() -> dict[str, type]:
    """What each field holds; of an optional one, what it holds when it is there."""
    kinds: dict[str, type] = {}
    for name, hint in get_type_hints(Gpu).items():
        if name in _RATES:
            kinds |= {f"{name}.{dtype}": float for dtype in DTYPES}
        elif name not in ("sources", "name"):
            options = [option for option in get_args(hint) if option is not NoneType] or [hint]
            kinds[name] = options[0] if isinstance(options[0], type) else str
    return kinds


def _check_complete(values: Mapping[str, Any], where: str) -> None:
    missing = [name for name in _REQUIRED if name not in values]
    if missing:
        raise UsageError(
            f"{where}: {', '.join(missing)} missing. Give them, or name a GPU to start from: "
            'base = "h100".'
        )


def _check_limits(gpu: Gpu, where: str) -> None:
    for small, large in _LIMITS:
        if getattr(gpu, small) > getattr(gpu, large):
            raise UsageError(
                f"{where}: {small} ({getattr(gpu, small)}) is larger than "
                f"{large} ({getattr(gpu, large)})."
            )


def _check_name(name: str, origin: str) -> None:
    plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    if not plain or name.startswith("-"):
        raise UsageError(
            f"{origin}: {name!r} cannot name a target; take lower-case letters, digits and dashes."
        )
