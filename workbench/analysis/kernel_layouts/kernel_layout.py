"""One layout of a kernel: who holds an element, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.machine_rows import KernelLayout
from workbench.report.presenter import Presented, presenter

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Place = tuple[int, ...]


@dataclass(frozen=True)
class Holder:
    """Who holds an element: the numbers are within the block, the warp and the thread."""

    element: Place  # its place along each axis
    warp: int  # the warp of the block
    lane: int  # the lane of the warp
    register: int  # the element of the thread


@dataclass(frozen=True, repr=False)
class Layout(Presented):
    """Which warp, lane and register hold which element of a tensor of a line.

    `report` is the record of the kernel. Several may hold the same element.
    """

    report: Report
    row: KernelLayout

    @property
    def sentence(self) -> str:
        """How many elements each thread holds, and which."""
        row = self.row
        size = " × ".join(map(str, row.shape)) or "1"
        return (
            f"{row.op} in line {row.line or '?'}: {size} elements, {row.registers} in each lane of "
            f"{row.warps} warps of {row.lanes} lanes ({row.layout})."
        )

    def list_holders(self) -> Iterator[Holder]:
        """Every register of the block with the element that it holds, warp after warp."""
        parts = self.row.bases or ((), (), (), ())
        axes = len(self.row.shape)
        registers, lanes, warps = (_spread(part, axes) for part in parts[:3])
        counted = product(enumerate(warps), enumerate(lanes), enumerate(registers))
        for (warp, a), (lane, b), (register, c) in counted:
            yield Holder(_xor(_xor(a, b), c), warp, lane, register)

    @checked
    def held_by(self, *element: int) -> list[Holder]:
        """Who holds an element, given by its place along each axis.

        Raises `UsageError` for a place that the tensor does not have.
        """
        shape = self.row.shape
        inside = len(element) == len(shape) and all(
            0 <= n < size for n, size in zip(element, shape, strict=True)
        )
        if not inside:
            raise UsageError(f"Element {list(element)} is outside the shape {list(shape)}.")
        return [holder for holder in self.list_holders() if holder.element == element]

    @checked
    def frame(self) -> pandas.DataFrame:
        """Element, warp, lane and register, a row for each register of the block."""
        return presenter().rows_frame(self.list_holders(), Holder)

    @checked
    def plot(self, warp: int = 0) -> Figure:
        """Draw the elements, coloured by lane, those of one warp with the numbers of their lanes.

        Raises `UsageError` for a warp that the block does not have, and for more than two axes.
        """
        if not 0 <= warp < self.row.warps:
            raise UsageError(f"Warp {warp} does not exist: choose 0 to {self.row.warps - 1}.")
        if len(self.row.shape) not in (1, 2):
            raise UsageError(
                f"A tensor of {plural(len(self.row.shape), 'axis', 'axes')} cannot be plotted: use "
                "frame() for its elements."
            )
        return presenter().plot(self, warp)

    def __repr__(self) -> str:
        """A short stable summary."""
        return f"Layout({self.row.op}, line {self.row.line}, {list(self.row.shape)})"

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def find_layout(report: Report, rows: Sequence[KernelLayout], line: int | str, op: str) -> Layout:
    """The layout of a line, of the operation whose name contains `op`.

    `line` is its number, or a part of its text. Raises `UsageError` where there is none.
    """
    held = [row for row in rows if row.bases and row.shape]
    here = [row for row in held if row.line == line or (isinstance(line, str) and line in row.text)]
    matching = [row for row in here if op in row.op]
    if matching:
        return Layout(report, matching[0])
    of = ", ".join(dict.fromkeys(row.op for row in here))
    known = ", ".join(map(str, sorted({row.line for row in held if row.line})))
    why = f"It has {of}." if here else f"Lines with a layout: {known or 'none'}."
    what = f" of an operation {op!r}" if op else ""
    raise UsageError(f"Line {line!r} has no layout{what} in registers. {why}")


def _spread(bases: Sequence[Place], axes: int) -> list[Place]:
    places: list[Place] = [(0,) * axes]
    for base in bases:
        places += [_xor(place, base) for place in places]
    return places


def _xor(a: Place, b: Sequence[Any]) -> Place:
    return tuple(x ^ y for x, y in zip(a, b, strict=True))
