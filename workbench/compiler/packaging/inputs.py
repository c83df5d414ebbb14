"""The leaves of a call in the order in which torch.export flattens them, with readable paths."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.compiler.contract.contract import CONSTANTS
from workbench.compiler.contract.paths import Path
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError


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
    signature = inspect.signature(forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"The example inputs do not fit {title}{signature}: {error}.") from error
    leaves, _ = tp.TREE_FLATTEN_WITH_PATH.get()((tuple(args), dict(kwargs)))
    roots = list(_roots(signature, len(args)))
    found = tuple((_path(keys, roots), value) for keys, value in leaves)
    parameters = tuple(
        (p.name, int(p.kind), _default(p.default)) for p in signature.parameters.values()
    )
    rest = (p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD)
    return CallInputs(found, parameters, dict(bound.arguments), next(rest, None))


def _default(value: Any) -> str | None:
    if value is inspect.Parameter.empty or not isinstance(value, CONSTANTS):
        return None
    return repr(value)


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
