"""A tensor subclass taken apart into its inner tensors, as those of torchao for quantised weights.

See "tensor subclasses" in torch's documentation of `__tensor_flatten__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.errors import UsageError


def is_flattenable(value: torch.Tensor) -> bool:
    """Whether a tensor is of a subclass that says what it is made of."""
    kind = type(value)
    return kind not in PLAIN and all(
        hasattr(kind, name) for name in ("__tensor_flatten__", "__tensor_unflatten__")
    )


def find_dense_parts(value: Any) -> Iterator[torch.Tensor]:
    """The tensors that a tensor is made of: its inner ones, or itself where it has none."""
    if not is_flattenable(value):
        yield value
        return
    for name in value.__tensor_flatten__()[0]:
        # that of a DTensor names its mesh too, from torch 2.13 on
        if isinstance(part := getattr(value, name), torch.Tensor):
            yield from find_dense_parts(part)


@dataclass(frozen=True)
class Flattened:
    """A tensor subclass: its class, what is in it by name, the rest of it, its outer layout."""

    kind: type
    inner: Mapping[str, Any]
    context: Any
    outer: TensorLike

    @classmethod
    def of(cls, value: Any) -> Flattened:
        """A tensor of a subclass, taken apart; its inner tensors are those of the value."""
        names, context = value.__tensor_flatten__()
        inner = {name: getattr(value, name) for name in names}
        return cls(type(value), inner, context, TensorLike.of(value))

    def rebuilt(self, device: str | None = None) -> torch.Tensor:
        """A tensor of the subclass from its inner tensors, which are on `device` if it is given.

        Raises `UsageError` where the subclass stays on another device.
        """
        outer = self.outer
        context = self.context if device is None else _moved(self.context, device)
        kind: Any = self.kind
        value = kind.__tensor_unflatten__(dict(self.inner), context, outer.shape, outer.stride)
        if type(value) is not kind or (device is not None and value.device.type != device):
            raise UsageError(
                f"A {kind.__name__} cannot be moved to {device}: its inner tensors there do not "
                "make one there. Replace it by a plain tensor (dequantised), or compile with "
                "target='host'."
            )
        return outer.dressed(value)


def mapped(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A tensor of the same class, made of what `change` gives for each of its dense parts."""
    if not is_flattenable(value):
        return change(value)
    taken = Flattened.of(value)
    inner = {
        name: mapped(part, change) if isinstance(part, torch.Tensor) else part
        for name, part in taken.inner.items()
    }
    return replace(taken, inner=inner).rebuilt()


def _moved(context: Any, device: str) -> Any:
    """The same context with every device in it replaced."""
    if isinstance(context, torch.device):
        return torch.device(device)
    if type(context) in (tuple, list):
        return type(context)(_moved(part, device) for part in context)
    if type(context) is dict:
        return {key: _moved(part, device) for key, part in context.items()}
    return context
