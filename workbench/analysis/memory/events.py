"""What a generated program does with memory, in the order in which it does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Take:
    """It takes its inputs by these names; it holds each of them from now on."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Allocate:
    """It allocates a tensor; `bytes` is None where a size is not known before the program runs."""

    name: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Share:
    """A name for memory that another name has already; `part` of it, where that is a tuple."""

    name: str
    base: str
    part: int | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """A name is deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel or a library call runs; `result` is the name of what a library call makes.

    `absent` are the parts of the result that it was told not to make.
    """

    kernel: str
    result: str | None = None
    absent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold:
    """A list with a name of its own refers to these, beside their names."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LetGo:
    """The list that referred to these is cleared."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Give:
    """It ends and gives these: the name behind each output, None for an output without memory."""

    names: tuple[str | None, ...]


Event = Take | Allocate | Share | Drop | Call | Hold | LetGo | Give


@dataclass(frozen=True)
class Program:
    """The events of a program, the bytes of its inputs and its sizes by name.

    Sizes that were left open have the value that they had when it was compiled: `is_sized_by_hint`
    says that there are some. `branches` counts what is chosen while it runs, loops too; it is
    left out, as are `unread` lines. `calls` are those of functions of its own, such as layers that
    were compiled once, which are not followed.
    """

    events: tuple[Event, ...]
    input_bytes: Mapping[str, int]
    sizes: Mapping[str, int]
    is_sized_by_hint: bool
    branches: int
    unread: int = 0
    calls: int = 0


ITEM_BYTES = {
    **dict.fromkeys(("complex128",), 16),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32", "complex32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("float8_e8m0fnu",), 1),
}
"""Bytes of one element, by the name of its type."""


def count_strided_bytes(shape: Sequence[int], stride: Sequence[int], dtype: str) -> int | None:
    """Bytes from the first element to the last one: what `empty_strided` allocates.

    None for a type that is not known.
    """
    item = ITEM_BYTES.get(dtype)
    if item is None:
        return None
    if 0 in shape:
        return 0
    return (1 + sum((s - 1) * t for s, t in zip(shape, stride, strict=True))) * item
