"""The bytes of an optimizer's state, from the parameters that it updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from workbench.errors import UsageError

_MOMENTS: Mapping[str, int] = {
    "adam": 2,
    "adamw": 2,
    "nadam": 2,
    "radam": 2,
    "adamax": 2,
    "adadelta": 2,
    "adagrad": 1,
    "rmsprop": 1,
    "sgd": 0,
    "sgd with momentum": 1,
}
"""Tensors of the size of a parameter that each optimizer of torch.optim keeps by default."""
_DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def name_optimizer(optimizer: str | float | None, moments: str) -> str:
    """What an optimizer that `state_bytes` takes is called."""
    if isinstance(optimizer, int | float):
        return f"an optimizer with {optimizer} B of state per parameter"
    return f"{optimizer} ({moments})" if optimizer else "no optimizer"


def state_bytes(
    shapes: Iterable[tuple[int, ...]], optimizer: str | float | None, moments: str
) -> int:
    """Bytes of an optimizer's state for parameters of these shapes.

    A number is bytes for each element of a parameter.

    Raises `UsageError` for an optimizer or a type of moments that is not known.
    """
    learned = list(shapes)
    count = sum(map(math.prod, learned))
    if optimizer is None:
        return 0
    if isinstance(optimizer, int | float) and not isinstance(optimizer, bool):
        return math.ceil(count * optimizer)
    size = _DTYPES.get(moments)
    if size is None:
        raise UsageError(f"moments={moments!r} is unknown: pass one of {', '.join(_DTYPES)}.")
    moment_count, count_elements = _MOMENTS.get(str(optimizer)), _OTHERS.get(str(optimizer))
    if moment_count is not None:
        return moment_count * count * size
    if count_elements is None:
        known = ", ".join(OPTIMIZERS)
        raise UsageError(
            f"optimizer={optimizer!r} is unknown: pass one of {known}, None, or the bytes per "
            "parameter element, such as optimizer=8."
        )
    return sum(map(count_elements, learned)) * size


def _adafactor(shape: tuple[int, ...]) -> int:
    """A row and a column of variances for each matrix: torch.optim.Adafactor."""
    if len(shape) < 2:
        return math.prod(shape)
    return math.prod(shape[:-1]) + math.prod(shape[:-2]) * shape[-1]


_OTHERS: Mapping[str, Callable[[tuple[int, ...]], int]] = {"adafactor": _adafactor}
OPTIMIZERS = (*_MOMENTS, *_OTHERS)
"""The names that are known."""
