"""The three precisions in which a part is computed: as eager rounds it, exactly, rounded late."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import torch

from workbench.compiler.internals.local_device import cut_to_tf32, round_to_tf32

LOW = (torch.float16, torch.bfloat16)
"""The types that a fused kernel computes in float32."""
_FLOATS = (*LOW, torch.float32)
_COMPLEX = (torch.complex32, torch.complex64)
_CASTS = frozenset({"half", "bfloat16", "float"})
"""Methods that cast to one type, as Dynamo's graph calls them."""


_FACTORS = {
    "mm": slice(0, 2),
    "bmm": slice(0, 2),
    "addmm": slice(1, 3),
    "baddbmm": slice(1, 3),
    "convolution": slice(0, 2),
}


def find_factors(operator: str) -> slice | None:
    """Which arguments an operator of ATen multiplies as matrices; None for one that does not."""
    namespace, _, name = operator.partition(".")
    return _FACTORS.get(name.partition(".")[0]) if namespace == "aten" else None


class Precision(Enum):
    """How the values of a graph are held.

    SAME is rounded after every node, as eager does it. In WIDE every value, and every type that is
    asked for, is float64. UPCAST holds float16 and bfloat16 in float32, as a fused kernel does.
    Types of 8 bits stay: rounding to them is what a quantised formula means. CUT and NEAREST are
    SAME but for products, whose factors of float32 have the digits of TF32, as `tl.dot` and a
    library of a GPU take them.
    """

    SAME = "same"
    WIDE = "wide"
    UPCAST = "upcast"
    CUT = "cut"
    NEAREST = "nearest"

    def dtype(self, dtype: torch.dtype) -> torch.dtype:
        """The type that stands for one here."""
        if self is Precision.WIDE:
            if dtype in _COMPLEX:
                return torch.complex128
            return torch.float64 if dtype in _FLOATS else dtype
        return torch.float32 if self is Precision.UPCAST and dtype in LOW else dtype

    def fit(self, value: Any) -> Any:
        """A value in this precision; what is no tensor of floats stays as it is."""
        if isinstance(value, torch.Tensor):
            dtype = self.dtype(value.dtype)
            return value if dtype is value.dtype else value.to(dtype)
        if isinstance(value, tuple | list):
            return type(value)(map(self.fit, value)) if type(value) in (tuple, list) else value
        if isinstance(value, Mapping):
            return {key: self.fit(part) for key, part in value.items()}
        return value

    def leaf(self, leaf: Any) -> Any:
        """An argument of a node that is no value of another."""
        return self.dtype(leaf) if isinstance(leaf, torch.dtype) else leaf

    def take_factors(self, operator: str, args: Any) -> Any:
        """The arguments of an operator; those that a product multiplies have its digits."""
        change = {Precision.CUT: cut_to_tf32, Precision.NEAREST: round_to_tf32}.get(self)
        place = find_factors(operator)
        if change is None or place is None:
            return args
        factors = tuple(change(value) for value in args[place])
        return (*args[: place.start], *factors, *args[place.stop :])

    def method(self, name: str) -> Callable[..., Any]:
        """A method of a tensor; one that casts gives this precision."""
        if name in _CASTS and self is not Precision.SAME:
            dtype_name = getattr(torch, "float16" if name == "half" else name)
            return lambda value, **options: value.to(self.dtype(dtype_name), **options)
        return lambda value, *args, **options: getattr(value, name)(*args, **options)
