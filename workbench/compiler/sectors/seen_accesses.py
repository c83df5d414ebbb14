"""The accesses of a run beside those of the compiled code: what is wrong with them, what helps.

The run says which addresses each lane of a block reaches, the compiled code which thread has the
lane, and how many bytes it moves at once. An access of the one is one of the other where line,
kind, shape and size are the same; where it is not sure which is which, it is not judged.

A cure is said as one where the kernel was compiled again with it and the instruction grew wider;
else the sentence says what is known, and no more.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from pathlib import PurePath
from typing import Literal, NamedTuple

import numpy as np

from workbench.compiler.interpreter.watched.watched_call import Access, AccessLog, Kind, Place
from workbench.compiler.memory_layouts.laid_tensors import ONE_ADDRESS, LaidKernel, LaidTensor
from workbench.compiler.sectors.sector_counts import Array, Moved, count_moved
from workbench.number_text import number_text, plural

Trouble = Literal[
    "", "narrow", "masked", "unaligned", "shifted", "pitched", "strided", "transposed", "gather"
]
_GOOD = 0.9  # of what is brought is used: nothing to say


@dataclass(frozen=True)
class WidenedAccess:
    """Arguments that were changed, each as (name, value, value tried), and the width it gave.

    Without a value an argument is a tensor that begins elsewhere.
    """

    changed: tuple[tuple[str, int | None, int | None], ...]
    width: int


def find_trouble(seen: SeenAccess) -> Trouble:
    """What keeps an access from being as wide and as dense as it could be; "" for nothing."""
    moved, width = seen.moved, seen.width
    if moved is None or width is None or not moved.steps or moved.sectors <= moved.least:
        return ""
    step = moved.steps[moved.axis]
    if step is None:
        return "gather" if moved.share_l1 < _GOOD else ""
    if abs(step) not in (0, seen.size):
        if moved.share_l1 >= _GOOD:
            return ""
        others = (axis_step for axis, axis_step in enumerate(moved.steps) if axis != moved.axis)
        return "transposed" if seen.size in others else "strided"
    if step == 0:
        return ""
    return _find_narrow(seen, moved, width) or _find_misplaced(moved)


def _find_narrow(access: SeenAccess, moved: Moved, width: int) -> Trouble:
    """What keeps a thread from moving more with one instruction."""
    if access.kind == "atomic":
        return ""
    if moved.fits > width:
        return "narrow"
    if moved.aligned > width:
        return "masked"
    return "unaligned" if moved.follow > max(width, moved.aligned) else ""


def _find_misplaced(moved: Moved) -> Trouble:
    """Why what follows one another lies in more sectors than its bytes would fill."""
    if moved.share >= _GOOD:
        return ""
    if moved.behind and moved.earlier < moved.sectors:
        return "shifted"
    return "pitched" if _find_pitch(moved) else ""


def _find_pitch(moved: Moved) -> int | None:
    """How far apart rows of a block are that begin elsewhere in their sector each; else None."""
    others = (step for axis, step in enumerate(moved.steps) if axis != moved.axis and step)
    return next((abs(step) for step in others if step % moved.sector), None)


def describe_access(seen: SeenAccess, cure: WidenedAccess | None = None) -> str:
    """The hint of a row: what is wrong, what helps; empty where nothing is."""
    trouble, moved = find_trouble(seen), seen.moved
    if not trouble or moved is None or seen.width is None:
        return ""
    wide, narrow = plural(moved.follow, "byte"), plural(seen.width, "byte")
    used = number_text(moved.share, "percent")
    if trouble == "gather":
        return (
            f"A gather: the addresses of neighbouring elements have no pattern, and {used} of the "
            "fetched bytes are used. No layout fixes that."
        )
    if trouble in ("strided", "transposed"):
        step = abs(moved.steps[moved.axis] or 0) // seen.size
        far = f"Neighbouring lanes are {step} elements apart in memory, so"
        if trouble == "strided":
            return f"{far} only {used} of the fetched bytes are used."
        axis = moved.steps.index(seen.size)
        return (
            f"{far} only {used} of the fetched bytes are used. Consecutive elements run along axis "
            f"{axis} of the block: swap its axes, or its load order."
        )
    if trouble == "narrow":
        sentence = (
            f"The elements of a thread are consecutive and {moved.fits}-byte aligned, but are "
            f"moved {narrow} at a time, because the compiler did not know it."
        )
    elif trouble == "masked":
        sentence = (
            f"The elements of a thread are consecutive and {moved.aligned}-byte aligned, but the "
            f"mask separates some of them, so {narrow} are moved at a time."
        )
    elif trouble == "unaligned":
        sentence = (
            f"A thread's elements are consecutive, but {wide} of them do not start at a multiple "
            f"of {moved.follow}, so {narrow} are moved at a time."
        )
        if cure is None and moved.behind:
            sentence = f"{sentence} {_say_behind(seen, moved, moved.behind)}"
    elif trouble == "shifted":
        touched, fewer = (
            number_text(n / moved.instructions, "amount") for n in (moved.sectors, moved.earlier)
        )
        return (
            f"An instruction touches {touched} sectors; if aligned to a sector, it would touch "
            f"{fewer}. "
            f"{_say_behind(seen, moved, moved.behind or 0)}"
        )
    else:
        return (
            f"The rows of a block are {plural(_find_pitch(moved) or 0, 'byte')} apart, not a "
            f"multiple of {moved.sector}, so {used} of the fetched bytes are used. Pad rows to a "
            f"multiple of {moved.sector} bytes to align them all like the first."
        )
    return sentence if cure is None else f"{sentence} {_say_cure(cure, trouble)}"


def _say_behind(access: SeenAccess, moved: Moved, behind: int) -> str:
    """How far from the begin of a sector every instruction begins, and what moves it there."""
    name, multiple = access.argument, f"a multiple of {moved.sector} bytes"
    far = f"{_count_elements(access, behind)} ({plural(behind, 'byte')}) after {multiple}"
    # what the index adds to where the argument begins
    ahead = (behind - access.start) % moved.sector
    if not ahead:
        return (
            f"{name} itself starts {far}: align it, as {name}.clone() does, or pass a view that "
            "starts at an aligned address."
        )
    return (
        f"Every instruction starts {far}. Handle the first "
        f"{_count_elements(access, moved.sector - behind)} separately, or pass {name} as a view "
        f"that starts {_count_elements(access, ahead)} before an aligned one."
    )


def _count_elements(access: SeenAccess, size: int) -> str:
    return plural(size // access.size, "element")


def _say_cure(cure: WidenedAccess, trouble: Trouble) -> str:
    facts, tried, does = [], [], []
    for name, value, other in cure.changed:
        if value is None:
            facts.append(f"{name} does not start at a multiple of 16 bytes")
            tried.append(f"with {name} aligned")
            does.append(f"pass {name} with an aligned start address")
        else:
            facts.append(f"{name} = {value} is not divisible by 16")
            tried.append(f"with {name} = {other}")
            what = f"rows to {name} = {other}" if trouble == "unaligned" else f"{name} to {other}"
            does.append(f"pad {what}")
    return (
        f"{', and '.join(facts)}. When recompiled {' and '.join(tried)}, this line moves "
        f"{plural(cure.width, 'byte')} at a time. Fix: {', '.join(does)}."
    )


_CALLED = "several calls access memory in this line with different"
_UNSURE = "and cannot be matched"
BUDGET = 1 << 21
"""Elements of one access that are looked at: of more, a sample of the programs."""


class _Key(NamedTuple):
    """What an access of a run and one of the code have in common."""

    file: str
    line: int
    kind: Kind
    shape: tuple[int, ...]
    size: int


class _Known(NamedTuple):
    """An access of the compiled code: its call in the source, its layout, its possible widths."""

    call: SourceCall
    tensor: LaidTensor
    widths: tuple[int, ...]


@dataclass(frozen=True)
class SeenAccess:
    """One access of a line, for one argument, in all steps of a run.

    `reason` says why there is no `moved`, or why it is not of the whole run.

    `argument` is empty where none was reached, `asked` are the bytes that all programs ask for,
    `size` those of an element, `width` those of one thread's instruction. `start` says how many
    bytes behind the begin of a line of a cache the argument begins. `programs` were looked at, of
    `all_programs` that ran.
    """

    place: Place
    kind: Kind
    shape: tuple[int, ...]
    size: int
    argument: str = ""
    asked: int | None = None
    tensor: LaidTensor | None = None
    width: int | None = None
    moved: Moved | None = None
    start: int = 0
    programs: int = 0
    all_programs: int = 0
    reason: str = ""


def see_accesses(
    laid: LaidKernel,
    log: AccessLog,
    starts: Mapping[str, int],
    sector: int,
    *,
    stopped: str = "",
    budget: int = BUDGET,
) -> list[SeenAccess]:
    """What the memory sees of every access of a run, by line.

    `starts` says how many bytes behind the begin of a line of a cache the memory of an argument
    begins, `sector` how many it is read in at least, `stopped` why the run did not
    come to its end.
    """
    groups: dict[tuple[Place, Kind, int, tuple[int, ...], int], list[Access]] = {}
    for access in log.accesses:
        place = log.places[access.place]
        what = place, access.kind, access.argument, access.lanes, access.size
        groups.setdefault(what, []).append(access)
    by_key: dict[_Key, list[_Known]] = {}
    for tensor in laid.tensors:
        if tensor.kind is not None:
            call = find_call(tensor.file, tensor.line, tensor.column, tensor.kind)
            size = tensor.bits // 8
            key = _make_key(tensor.file, call.line, tensor.kind, tensor.shape, size)
            by_key.setdefault(key, []).append(_Known(call, tensor, _list_widths(laid, tensor)))
    rows = []
    for (place, kind, argument, shape, size), accesses in groups.items():
        held = log.arguments[argument]
        row = SeenAccess(
            place,
            kind,
            shape,
            size,
            held.name,
            sum(access.count_used() * access.size for access in accesses),
            start=starts.get(held.name, 0),
            all_programs=log.programs,
        )
        here = by_key.get(_make_key(place.file, place.line, kind, shape, size), [])
        pairs = _find_pairs(here, place.column)
        if isinstance(pairs, str):
            rows.append(replace(row, reason=pairs or _explain_absence(laid, row)))
            continue
        for pair in pairs:
            with_tensor = replace(row, tensor=pair.tensor, width=min(pair.widths, default=None))
            if not pair.tensor.bases:
                rows.append(replace(with_tensor, reason=pair.tensor.layout))
            elif with_tensor.width is None:
                rows.append(replace(with_tensor, reason="the GPU code has no such instruction"))
            else:
                counted = _count(with_tensor, pair, accesses, sector, budget)
                rows.append(replace(counted, reason=counted.reason or stopped))
    rows += list_unseen(
        laid, stopped or "the run did not access memory of an argument in this line", rows
    )
    return sorted(rows, key=lambda row: (row.place.file, row.place.line, row.place.column))


def list_unseen(laid: LaidKernel, reason: str, seen: Sequence[SeenAccess] = ()) -> list[SeenAccess]:
    """The accesses of the code in lines without any that was seen, with the reason for that."""
    reached = {
        (PurePath(access.place.file).name, access.place.line, access.kind) for access in seen
    }
    unseen = []
    for tensor in laid.tensors:
        if tensor.kind is not None:
            call = find_call(tensor.file, tensor.line, tensor.column, tensor.kind)
            place = Place(tensor.file, call.line, call.column)
            row = SeenAccess(place, tensor.kind, tensor.shape, tensor.bits // 8, tensor=tensor)
            why = reason if tensor.bases else tensor.layout
            if (PurePath(place.file).name, place.line, tensor.kind) not in reached:
                unseen.append(replace(row, width=find_width(laid, tensor), reason=why))
    return unseen


def find_width(laid: LaidKernel, tensor: LaidTensor) -> int | None:
    """The bytes that one thread moves with one instruction of an access; None: not known.

    Of several calls that reach it in different widths the least.
    """
    return min(_list_widths(laid, tensor), default=None)


def _list_widths(laid: LaidKernel, tensor: LaidTensor) -> tuple[int, ...]:
    """The widest instruction at the place of an access, all if several calls reach it."""
    widths = laid.widths.find(tensor.file, tensor.line, tensor.column, tensor.kind or "")
    if not widths and tensor.layout == ONE_ADDRESS:
        return (tensor.bits // 8,)
    return widths if tensor.ways > 1 else widths[-1:]


def _make_key(file: str, line: int, kind: Kind, shape: Sequence[int], size: int) -> _Key:
    return _Key(PurePath(file).name, line, kind, tuple(shape), size)


def _find_pairs(candidates: Sequence[_Known], column: int) -> Sequence[_Known] | str:
    """The accesses of the code that one of the run at a column is, or why they are not known.

    The compiler may load again what it needs in several layouts: then one is several.
    """
    if not candidates:
        return ""
    if len({(candidate.tensor.bases, candidate.widths) for candidate in candidates}) == 1:
        return candidates[:1]
    exact = [candidate for candidate in candidates if candidate.call.column == column]
    if exact and not any(candidate.call.is_nested for candidate in candidates):
        alike = {
            (candidate.tensor.bases, candidate.widths): candidate for candidate in reversed(exact)
        }
        if len(alike) > 1 and any(candidate.tensor.ways > 1 for candidate in exact):
            return f"{_CALLED} layouts, {_UNSURE}"
        return [*reversed(alike.values())]
    return (
        f"this line has {plural(len(candidates), 'access', 'accesses')} of this shape, in "
        f"different layouts or widths, {_UNSURE}: write them on separate lines"
    )


def _explain_absence(laid: LaidKernel, row: SeenAccess) -> str:
    bulk = next(
        (
            tensor
            for tensor in laid.tensors
            if tensor.kind == row.kind
            and not tensor.bases
            and find_call(tensor.file, tensor.line, tensor.column, row.kind).line == row.place.line
        ),
        None,
    )
    if bulk is not None:
        return bulk.layout
    word = " × ".join(map(str, row.shape)) or "one element"
    return f"the compiled code has no access of {word} in this line"


def _count(
    row: SeenAccess, pair: _Known, accesses: Sequence[Access], sector: int, budget: int
) -> SeenAccess:
    sample = list(_sample(accesses, row.all_programs, budget))
    programs = len({number for access in sample for number in access.programs.tolist()})
    counted = {}
    for width in pair.widths:
        counted[width] = Moved()
        for access in sample:
            counted[width] += count_moved(
                access.find_addresses() + row.start,
                access.find_used(),
                pair.tensor.bases,
                access.size,
                width,
                is_read=access.kind == "read",
                sector=sector,
            )
    if not counted[pair.widths[0]].instructions:
        return replace(row, reason="all lanes of those programs are masked", programs=programs)
    # an instruction is no wider than the elements that follow one another in every program
    able = [width for width, moved in counted.items() if width <= moved.fits]
    if len(pair.widths) > 1 and len(able) != 1:
        return replace(row, width=None, reason=f"{_CALLED} widths, {_UNSURE}", programs=programs)
    width = able[0] if len(pair.widths) > 1 else pair.widths[0]
    return replace(row, width=width, moved=counted[width], programs=programs)


def _sample(accesses: Sequence[Access], programs: int, budget: int) -> Iterator[Access]:
    """So many programs, spread over all, that their elements stay within a budget.

    One program alone may be above it: of its steps a sample is taken, too.
    """
    total = sum(prod(access.shape) for access in accesses)
    apart = min(programs, -(-total // budget))
    chosen = None
    if apart > 1:  # of those that ran, which may be a sample of the grid
        ran = np.unique(np.concatenate([access.programs for access in accesses]))
        chosen = ran[apart // 2 :: apart]
    sampled = []
    for access in accesses:
        if chosen is None:
            sampled.append(access)
            continue
        rows = np.flatnonzero(np.isin(access.programs, chosen))
        if len(rows):
            sampled.append(_cut(access, rows))
    left = sum(prod(access.shape) for access in sampled)
    yield from sampled[:: max(1, left // budget)]


def _cut(access: Access, rows: Array) -> Access:
    """An access of fewer programs."""
    mask = access.mask
    if mask is not None and mask[1][0] > 1:
        bits = np.unpackbits(mask[0], count=prod(mask[1])).astype(bool).reshape(mask[1])[rows]
        mask = np.packbits(bits), bits.shape
    base, offsets = access.base, access.offsets
    return replace(
        access,
        programs=access.programs[rows],
        base=base[rows] if len(base) > 1 else base,
        offsets=offsets[rows] if offsets is not None and len(offsets) > 1 else offsets,
        mask=mask,
        values=None,
    )


_WORDS: Mapping[Kind, tuple[str, ...]] = {
    "read": ("load", "gather"),
    "write": ("store", "scatter"),
    "atomic": ("atomic",),
}


@dataclass(frozen=True)
class SourceCall:
    """A call that reaches memory, by where it begins, from 1; `is_nested`: with another in it.

    What is noted of the outer of two may lie in the inner one.
    """

    line: int
    column: int
    is_nested: bool = False


class _Span(NamedTuple):
    """Where a part of a source begins and ends, each as its line and column in bytes."""

    begin: tuple[int, int]
    end: tuple[int, int]


class _Source(NamedTuple):
    """The functions of a file, and its calls that reach memory."""

    functions: tuple[_Span, ...]
    calls: Mapping[Kind, tuple[_Span, ...]]


def find_call(file: str, line: int, column: int, kind: Kind) -> SourceCall:
    """The innermost call of that kind around a place of TTGIR; the place itself without any.

    Columns of TTGIR are those of the function without its indentation.
    """
    source = _read("".join(linecache.getlines(file)))
    if source is None:
        return SourceCall(line, column)
    indents = (part.begin[1] for part in source.functions if part.begin[0] <= line <= part.end[0])
    place, calls = (line, column - 1 + max(indents, default=0)), source.calls[kind]
    around = [call for call in calls if call.begin <= place < call.end]
    if not around:
        return SourceCall(line, column)
    inner = max(around, key=lambda call: call.begin)
    has_inner = any(call is not inner and inner.begin <= call.begin < inner.end for call in calls)
    return SourceCall(inner.begin[0], inner.begin[1] + 1, len(around) > 1 or has_inner)


@lru_cache(maxsize=16)
def _read(text: str) -> _Source | None:
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except SyntaxError:  # a cell with magics: lines are compared as they are
        return None
    functions = tuple(_find_span(node) for node in nodes if isinstance(node, ast.FunctionDef))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return _Source(functions, {kind: tuple(_list_calls(calls, kind)) for kind in _WORDS})


def _list_calls(calls: list[ast.Call], kind: Kind) -> Iterator[_Span]:
    for node in calls:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if any(word in name for word in _WORDS[kind]):
            yield _find_span(node)


def _find_span(node: ast.stmt | ast.expr) -> _Span:
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return _Span((node.lineno, node.col_offset), end)
