"""Rows about hand-written kernels that were run under watch: what was found, and in which cases."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.report.measures import describe


@dataclass(frozen=True, slots=True)
class KernelFinding:
    """What is wrong in one line of a kernel, or may be: the first of `count` places.

    `programs` counts programs along the axes of the grid, at most 256 of those concerned; `case` is
    what differs from the call that was given, empty for that call itself.
    """

    kernel: str  # the kernel, by the name of its function
    kind: str  # "out of bounds", "race", "uninitialised", "differs", "not judged", ...
    text: str  # the finding in a sentence
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    column: int | None = field(default=None, metadata=describe("Column"))
    argument: str = ""  # the argument of the kernel
    index: tuple[int, ...] = ()  # the element, by its place on each axis of the argument
    shape: tuple[int, ...] = ()  # its sizes
    program: tuple[int, ...] = ()  # the program of the grid, by its place on each axis
    lane: tuple[int, ...] = ()  # the element of the block that the program works on
    other_line: int | None = None  # the line that it is in conflict with
    other_program: tuple[int, ...] = ()  # the program that it is in conflict with
    other_lane: tuple[int, ...] = ()  # the lane that it is in conflict with
    count: int = field(default=1, metadata=describe("Places"))
    case: str = ""  # what differs from the call that was given; empty for that call
    programs: tuple[int, ...] = ()  # the programs concerned, counted along the grid


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """One call of a kernel that was run under watch, and what could be judged of it.

    Bytes are counted from the log of its accesses: `asked_bytes` what programs ask for, and
    the `least` different ones among them; an atomic counts as a write. Not known of samples.
    """

    kernel: str  # the kernel, by the name of its function
    case: str  # what differs from the call that was given; empty for that call
    verdict: str  # "passed", "failed" or "not checked"
    grid: tuple[int, ...]  # how many programs the grid has along each axis
    programs: int = field(metadata=describe("Programs"))
    judged: tuple[str, ...] = ()  # what was judged
    not_judged: tuple[str, ...] = ()  # what was not judged, and why
    notes: tuple[str, ...] = ()  # what the reader should know of it
    seconds: float = field(
        default=0.0,
        metadata=describe("Time", "s", source="measured", meaning="Seconds of the run on a CPU."),
    )
    log_bytes: int = field(default=0, metadata=describe("Log", "B"))
    asked_bytes: int = field(default=0, metadata=describe("Asked", "B"))
    least_read_bytes: int | None = field(default=None, metadata=describe("Least read", "B"))
    least_written_bytes: int | None = field(default=None, metadata=describe("Least written", "B"))
    operations: tuple[tuple[str, int], ...] = ()  # operations of floats by dtype, and of tl.dot
