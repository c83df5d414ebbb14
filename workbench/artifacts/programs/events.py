"""What a generated program does, in the order in which it does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.artifacts.programs.size_text import (
    Dims,
    count_strided_bytes,
    evaluate_all,
    split_parts,
)

LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")
"""How the names of library calls begin in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that a program does; `line` is where in its text, from 1."""

    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Inputs(Event):
    """It takes its inputs by these names; it holds each of them from now on."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check(Event):
    """It checks how an input, or what a library gave, is laid out."""

    name: str
    shape: Dims
    stride: Dims
    is_input: bool


@dataclass(frozen=True, slots=True)
class Allocate(Event):
    """It allocates a tensor; `bytes` is None where a size is not known before the program runs."""

    name: str
    bytes: int | None
    shape: Dims = field(default=(), compare=False)
    stride: Dims = field(default=(), compare=False)
    dtype: str = field(default="", compare=False)
    device: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Share(Event):
    """A name for memory that another name has already; `part` of it, where that is a tuple.

    `layout` has the shape and strides of a view.
    """

    name: str
    base: str
    part: int | None = None
    layout: tuple[Dims, Dims] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Drop(Event):
    """A name is deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class Call(Event):
    """A kernel or a library call runs; `result` is the name of what a library call makes.

    `absent` are the parts of the result that it was told not to make, `arguments` the text between
    its brackets.
    """

    kernel: str
    result: str | None = None
    absent: tuple[int, ...] = ()
    arguments: str = field(default="", compare=False)

    def split_arguments(self) -> tuple[str, ...]:
        """The text of each argument."""
        return split_parts(self.arguments)


@dataclass(frozen=True, slots=True)
class Retain(Event):
    """A list with a name of its own refers to these, beside their names."""

    names: tuple[str | None, ...]
    list: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Clear(Event):
    """The list that referred to these is cleared."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Return(Event):
    """It ends and gives these: the name behind each output, None for an output without memory."""

    names: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Number(Event):
    """A name for a number; `text` is how it is computed."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class RunPart(Event):
    """Another function of the program runs in this place and is given the list."""

    function: str
    list: str


@dataclass(frozen=True, slots=True)
class Branch(Event):
    """What is chosen while the program runs, loops too; `is_check` where it can only raise."""

    body: tuple[Event, ...]
    is_check: bool


@dataclass(frozen=True, slots=True)
class Note(Event):
    """A comment, without what begins it."""

    text: str


def make_allocation(
    name: str,
    shape: Dims,
    stride: Dims,
    dtype: str,
    device: str,
    known: Mapping[str, int],
    line: int,
) -> Allocate:
    """An allocation with its bytes, as far as its sizes are known."""
    numbers = evaluate_all(shape, known), evaluate_all(stride, known)
    is_known = numbers[0] is not None and numbers[1] is not None
    size = count_strided_bytes(numbers[0] or (), numbers[1] or (), dtype) if is_known else None
    return Allocate(name, size, shape, stride, dtype, device, line=line)


def flatten(events: Iterable[Event]) -> Iterator[Event]:
    """The events, those of branches in their place."""
    for event in events:
        if isinstance(event, Branch):
            yield from flatten(event.body)
        else:
            yield event


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
