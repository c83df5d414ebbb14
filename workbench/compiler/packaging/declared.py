"""`dynamic_shapes` as the user wrote it: the Dim of each dimension of each input."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.contract.dims import Dynamic
from workbench.compiler.contract.paths import Path
from workbench.compiler.packaging.inputs import CallInputs
from workbench.errors import UsageError

Declared = Mapping[tuple[Path, int], Dynamic]
_LARGEST = 2**31  # torch writes "no maximum" as a number beyond


def declared_dims(spec: Any, inputs: CallInputs) -> Declared:
    """The named Dims by leaf path and dimension.

    torch.export checks the specification itself, but for dimensions that a tensor does not have:
    these raise `UsageError`.
    """
    bound = inputs.bound
    if isinstance(spec, list | tuple):
        spec = dict(zip(bound, spec, strict=False))
    if not isinstance(spec, Mapping):
        return {}
    rest = spec.get(inputs.rest) if inputs.rest in bound else None
    entries = {**spec, **(rest if isinstance(rest, Mapping) else {})}
    values = {**bound, **bound.get(inputs.rest or "", {})}
    found: dict[tuple[Path, int], Dynamic] = {}
    for name, entry in entries.items():
        if name in values and name != inputs.rest:
            found.update(_collect(entry, values[name], Path(str(name))))
    return found


def _collect(entry: Any, value: Any, path: Path) -> Iterator[tuple[tuple[Path, int], Dynamic]]:
    if entry is None:
        return
    if isinstance(value, torch.Tensor):
        pairs = entry.items() if isinstance(entry, Mapping) else _numbered(entry)
        for index, dim in pairs:
            if not -value.dim() <= index < value.dim():
                raise UsageError(
                    f"dynamic_shapes names dimension {index} of {path}, which has {value.dim()}."
                )
            declared = _dim(dim)
            if declared is not None:
                yield (path, index % value.dim()), declared
        return
    children = dict(_children(value, path))
    pairs = entry.items() if isinstance(entry, Mapping) else _numbered(entry)
    keys = list(children)
    for key, part in pairs:
        at = key if key in children or not isinstance(key, int) else _nth(keys, key)
        if at in children:
            child, step = children[at]
            yield from _collect(part, child, step)


def _numbered(entry: Any) -> Iterator[tuple[Any, Any]]:
    return iter(enumerate(entry)) if isinstance(entry, list | tuple) else iter(())


def _nth(keys: list[Any], index: int) -> Any:
    return keys[index] if 0 <= index < len(keys) else None


def _children(value: Any, path: Path) -> Iterator[tuple[Any, tuple[Any, Path]]]:
    """The parts of a container by key, with their paths as torch names them."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key, (inner, path.item(key if isinstance(key, int) else str(key)))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name, inner in zip(value._fields, value, strict=True):
            yield name, (inner, path.attr(name))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield index, (inner, path.item(index))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield field.name, (getattr(value, field.name), path.attr(field.name))


def _dim(dim: Any) -> Dynamic | None:
    """A Dim or an expression of one; None for a fixed size and for torch's own hints."""
    root = getattr(dim, "root", dim)
    if not isinstance(getattr(root, "min", None), int) or not hasattr(root, "__name__"):
        return None
    function = getattr(dim, "fn", None)
    offset = function(0) if function else 0
    scale = function(1) - offset if function else 1
    high = root.max if isinstance(root.max, int) and root.max < _LARGEST else None
    return Dynamic(root.__name__, root.min, high, scale, offset)
