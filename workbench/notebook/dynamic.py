"""Dynamic dimensions as a magic's option writes them: `x:0=batch[1..64]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from workbench.errors import UsageError

_FORM = re.compile(
    r"(?P<arg>[A-Za-z_]\w*):(?P<dim>-?\d+)"
    r"(=(?P<name>[A-Za-z_]\w*)(\[(?P<low>\d*)\.\.(?P<high>\d*)\])?)?"
)


def dynamic_shapes(specs: Sequence[str]) -> dict[str, dict[int, Any]] | None:
    """What `torch.export` takes as `dynamic_shapes`, or None without any.

    The same name is the same dimension; without a name torch finds the range itself.

    Raises
    ------
    UsageError
        A spec has another form, or one name has two ranges.
    """
    if not specs:
        return None
    from torch.export import Dim

    ranges: dict[str, tuple[int | None, int | None]] = {}
    dims: dict[str, Any] = {}
    shapes: dict[str, dict[int, Any]] = {}
    for spec in specs:
        match = _FORM.fullmatch(spec.replace(" ", ""))
        if match is None:
            raise UsageError(f"-d {spec}: expected ARG:DIM=NAME[MIN..MAX], as x:0=batch[1..64].")
        name = match["name"]
        if name is None:
            shapes.setdefault(match["arg"], {})[int(match["dim"])] = Dim.AUTO
            continue
        low, high = (int(match[end]) if match[end] else None for end in ("low", "high"))
        if match["low"] is not None or name not in ranges:
            if ranges.setdefault(name, (low, high)) != (low, high):
                raise UsageError(f"-d {spec}: {name} was given another range before.")
            dims.setdefault(name, Dim(name, min=low, max=high))
        shapes.setdefault(match["arg"], {})[int(match["dim"])] = dims[name]
    return shapes
