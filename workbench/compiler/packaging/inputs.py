"""The example call of an export: its leaves in torch's order, the Dim of each dimension."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.arguments import shown
from workbench.compiler.calls.paths import Path, parts
from workbench.compiler.contract.contract import CONSTANTS
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.sizes.dims import Dynamic
from workbench.compiler.sizes.shapes import number_hint
from workbench.errors import UsageError

Declared = Mapping[tuple[Path, int], Dynamic]


@dataclass(frozen=True)
class CallInputs:
    """The example call: its leaves by path, in torch's order, and the callable's parameters.

    `parameters` are (name, number of inspect's kind, repr of the default or None); `bound` maps
    the names of the given parameters to their values; `rest` is the name of `**kwargs`.
    """

    leaves: tuple[tuple[Path, Any], ...]
    parameters: tuple[tuple[str, int, str | None], ...]
    bound: Mapping[str, Any]
    rest: str | None = None


def read_inputs(
    forward: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], title: str
) -> CallInputs:
    """Bind the example inputs; raises `UsageError` when they do not fit the signature."""
    signature = signature_of(forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"The example inputs do not fit {title}{signature}: {error}.") from error
    leaves, _ = tp.TREE_FLATTEN_WITH_PATH.get()((tuple(args), dict(kwargs)))
    roots = list(_roots(signature, len(args)))
    paths_and_values = tuple((_path(keys, roots), value) for keys, value in leaves)
    rows = signature.parameters.values()
    defaults = {p.name: repr(p.default) for p in rows if isinstance(p.default, CONSTANTS)}
    parameters = tuple((p.name, int(p.kind), defaults.get(p.name)) for p in rows)
    rest = (p.name for p in rows if p.kind is p.VAR_KEYWORD)
    return CallInputs(paths_and_values, parameters, dict(bound.arguments), next(rest, None))


def _roots(signature: inspect.Signature, count: int) -> Iterator[Path]:
    """The place of each positional argument: a parameter, or an item of `*args`."""
    names = [
        p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
    ]
    for index in range(count):
        parameter = names[min(index, len(names) - 1)]
        path = Path(parameter.name)
        is_rest = parameter.kind is parameter.VAR_POSITIONAL
        yield path.item(index - len(names) + 1) if is_rest else path


def _path(keys: tuple[Any, ...], roots: list[Path]) -> Path:
    group, place, *rest = keys
    path = roots[place.idx] if group.idx == 0 else Path(str(place.key))
    for key in rest:
        if hasattr(key, "name"):
            path = path.attr(str(key.name))
        else:
            step = getattr(key, "idx", getattr(key, "key", None))
            path = path.item(step if isinstance(step, int) else str(step))
    return path


def read_declared_dims(spec: Any, inputs: CallInputs) -> Declared:
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
    dims: dict[tuple[Path, int], Dynamic] = {}
    for name, entry in entries.items():
        if name in values and name != inputs.rest:
            dims.update(_collect(entry, values[name], Path(str(name))))
    return dims


def _collect(entry: Any, value: Any, path: Path) -> Iterator[tuple[tuple[Path, int], Dynamic]]:
    if entry is None:
        return
    if isinstance(value, torch.Tensor):
        for index, dim in _pairs(entry):
            if not isinstance(index, int):
                raise UsageError(
                    f"dynamic_shapes names dimension {shown(index)} of {path}: expected a whole "
                    "number."
                )
            if not -value.dim() <= index < value.dim():
                raise UsageError(
                    f"dynamic_shapes names dimension {index} of {path}, which has {value.dim()}."
                )
            declared = Dynamic.of(dim)
            if declared is not None:
                yield (path, index % value.dim()), declared
        return
    if type(value) is int and number_hint(entry, value, path) is not None:
        raise UsageError(explain_no_number(path, value))
    children = parts(value, path) or {}
    for key, part in _pairs(entry):
        numbered = isinstance(key, int) and key not in children and 0 <= key < len(children)
        child = [*children.values()][key] if numbered else children.get(key)
        if child is not None:
            yield from _collect(part, *child)


def explain_no_number(path: Path, value: Any) -> str:
    """Why a package takes no Python number that varies."""
    return (
        f"{path} is a Python {type(value).__name__} declared dynamic, but a package library takes "
        "only tensors. Pass it as a tensor (torch.tensor(value), and .item() where a size needs "
        f"it), or leave {path} out of dynamic_shapes to compile for {value!r}; wb.aot_compile "
        "takes ints that vary."
    )


def _pairs(entry: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(entry, Mapping):
        return entry.items()
    return enumerate(entry) if isinstance(entry, list | tuple) else ()
