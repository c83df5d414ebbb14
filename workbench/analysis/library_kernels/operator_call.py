"""One call of an operator, as a profile of torch writes it, and the tensors of it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_DTYPES: Mapping[str, tuple[str, int]] = {
    "c10::BFloat16": ("bfloat16", 2),
    "c10::Half": ("float16", 2),
    "float": ("float32", 4),
    "double": ("float64", 8),
    "long int": ("int64", 8),
    "long": ("int64", 8),
    "int": ("int32", 4),
    "short int": ("int16", 2),
    "short": ("int16", 2),
    "signed char": ("int8", 1),
    "char": ("int8", 1),
    "unsigned char": ("uint8", 1),
    "bool": ("bool", 1),
    "c10::complex<float>": ("complex64", 8),
    "c10::complex<double>": ("complex128", 16),
    "c10::Float8_e4m3fn": ("float8_e4m3fn", 1),
    "c10::Float8_e4m3fnuz": ("float8_e4m3fnuz", 1),
    "c10::Float8_e5m2": ("float8_e5m2", 1),
    "c10::Float8_e5m2fnuz": ("float8_e5m2fnuz", 1),
    "c10::Float8_e8m0fnu": ("float8_e8m0fnu", 1),
    "c10::Float4_e2m1fn_x2": ("float4_e2m1fn_x2", 1),
}
"""By the name in a profile torch's name of a dtype and the bytes of an element."""
_MOST_LETTERS = 1000  # of a number or a list of numbers
_MOST_ELEMENTS = 1 << 50  # no device holds as many
_FLOATING = ("float8", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class Tensor:
    """An input: sizes, steps in elements (those of a dense tensor where not recorded), dtype."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    itemsize: int  # bytes

    @cached_property
    def numel(self) -> int:
        """Elements, as the operator sees them."""
        return math.prod(self.shape)

    @cached_property
    def unique(self) -> int:
        """Elements that lie in memory: what is expanded or overlaps counts once."""
        sizes = [(size, step) for size, step in zip(self.shape, self.strides, strict=True)]
        own = math.prod(size for size, step in sizes if step)
        reach = 1 + sum((size - 1) * step for size, step in sizes)
        return 0 if not self.numel else min(own, reach)

    @property
    def bytes(self) -> int:
        """The least that is read to have all of it."""
        return self.unique * self.itemsize

    @property
    def is_wrapped(self) -> bool:
        """Whether it is a number of Python's, which decides no dtype."""
        return not self.shape

    @property
    def fastest(self) -> int | None:
        """The dimension along which memory runs, None for one that has no such."""
        dims = [
            i
            for i, (n, step) in enumerate(zip(self.shape, self.strides, strict=True))
            if step == 1 and n > 1
        ]
        return dims[-1] if dims else None


@dataclass(frozen=True)
class OperatorCall:
    """A call of an operator with the fields of `torch.profiler`.

    `shapes` is `Input Dims`, `dtypes` `Input type`, `strides` `Input Strides`, `concrete_inputs`
    `Concrete Inputs`; the last two may be empty. An input that is no tensor has no sizes.
    """

    name: str
    shapes: Sequence[Any] = ()
    dtypes: Sequence[str] = ()
    strides: Sequence[Any] = ()
    concrete_inputs: Sequence[str] = ()

    @cached_property
    def base_name(self) -> str:
        """The name without namespace and overload: "addmm" of "aten::addmm.out"."""
        return self.name.rpartition("::")[2].partition(".")[0]

    @property
    def is_inplace(self) -> bool:
        """Whether it writes into its first input: "add_"."""
        return self.base_name.endswith("_") and not self.base_name.startswith("__")

    def __len__(self) -> int:
        return max(len(self.shapes), len(self.dtypes))

    def tensor(self, place: int) -> Tensor | None:
        """The input at a place, None where it is no tensor or its dtype is not known."""
        dtype = _DTYPES.get(str(self.dtypes[place])) if place < len(self.dtypes) else None
        if dtype is None or place >= len(self.shapes):
            return None
        return _make_tensor(self.shapes[place], self._stride(place), dtype)

    def tensors(self, place: int) -> list[Tensor]:
        """The tensors of a list of them; one that is none is left out. Dtypes are not recorded."""
        return list(self._list_tensors(place, "float32"))

    def _list_tensors(self, place: int, dtype: str) -> Iterator[Tensor]:
        shapes = self.shapes[place] if place < len(self.shapes) else ()
        strides = self._stride(place) or [None] * len(shapes)
        for shape, step in zip(shapes, strides, strict=False):
            tensor = _make_tensor(shape, step, (dtype, 4))
            if tensor is not None:
                yield tensor

    def has_list(self, place: int) -> bool:
        """Whether the input at a place is a list of tensors."""
        return place < len(self.dtypes) and self.dtypes[place] == "TensorList"

    def all_tensors(self) -> list[Tensor]:
        """Every input that is a tensor, in order."""
        inputs = (self.tensor(place) for place in range(len(self)))
        return [tensor for tensor in inputs if tensor is not None]

    def value(self, place: int) -> Any:
        """The number, flag or list at a place; None where it was not recorded."""
        text = self.concrete_inputs[place] if place < len(self.concrete_inputs) else ""
        if not isinstance(text, str) or not 0 < len(text) < _MOST_LETTERS:
            return None
        try:
            literal = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        parts = literal if isinstance(literal, list) else [literal]
        return literal if all(isinstance(part, int | float) for part in parts) else None

    def _stride(self, place: int) -> Any:
        return self.strides[place] if place < len(self.strides) else None


def _make_tensor(shape: Any, strides: Any, dtype: tuple[str, int]) -> Tensor | None:
    if not isinstance(shape, Sequence) or not all(isinstance(n, int) and n >= 0 for n in shape):
        return None
    sizes = tuple(shape)
    if math.prod(sizes) > _MOST_ELEMENTS:
        return None
    is_told = isinstance(strides, Sequence) and len(strides) == len(sizes)
    if is_told and all(isinstance(n, int) and n >= 0 for n in strides):
        return Tensor(sizes, tuple(strides), *dtype)
    return Tensor(sizes, dense_strides(sizes), *dtype)


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The steps of a tensor that lies row by row."""
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def broadcast(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape of what an elementwise operator makes of these."""
    rank = max((len(tensor.shape) for tensor in tensors), default=0)
    columns = (
        [t.shape[-place] for t in tensors if place <= len(t.shape)] for place in range(rank, 0, -1)
    )
    return tuple(0 if 0 in column else max(column) for column in columns)


def promote(tensors: Sequence[Tensor]) -> tuple[str, int]:
    """The dtype of what an elementwise operator makes of these, and its bytes.

    Numbers of Python's decide it only where nothing else is of their kind.
    """
    own = [tensor for tensor in tensors if not tensor.is_wrapped] or list(tensors)
    best = max(own, key=lambda tensor: (_rank(tensor.dtype), tensor.itemsize))
    is_float_by_number = not _rank(best.dtype) and any(_rank(t.dtype) for t in tensors)
    return ("float32", 4) if is_float_by_number else (best.dtype, best.itemsize)


def _rank(dtype: str) -> int:
    return int(dtype.startswith(_FLOATING))
