"""Whether the ranks of a group start the same collectives in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from workbench.number_text import number_text, plural
from workbench.report.collectives.collective_rows import Collective, CollectiveOrder

ALL_RANKS = "all ranks"
"""What the group of the whole cluster is called."""
_UNEVEN = ("all_to_all",)  # every rank may send another number of bytes


def compare_started(
    group: str,
    first: int,
    started: Sequence[Collective],
    rank: int,
    others: Sequence[Collective],
    within: str = "",
) -> CollectiveOrder:
    """What two ranks of a group start, one by one up to the first that differs.

    `within` names the program, where a rank may start the rest of them outside of it.
    """
    alike = 0
    for one, other in zip_longest(started, others):
        if one is None or other is None or not _is_alike(one, other):
            here, there = (None if start is None else _describe(start) for start in (other, one))
            note = _say(rank, other, first, one, group, alike, within)
            return CollectiveOrder(group, None, rank, first, alike, alike, here, there, note)
        alike += 1
    return CollectiveOrder(group, None, rank, first, alike)


def _is_alike(one: Collective, other: Collective) -> bool:
    """Whether both move the same; a size that is not known, since it is dynamic, is no other."""
    is_counted = one.op not in _UNEVEN and None not in (one.bytes, other.bytes)
    return (one.op, one.dtype) == (other.op, other.dtype) and not (
        is_counted and one.bytes != other.bytes
    )


def _describe(row: Collective) -> str:
    size = "" if row.bytes is None else f" of {number_text(row.bytes, 'bytes')}"
    return f"{row.op}{size}, {row.dtype}"


def _say(
    rank: int,
    here: Collective | None,
    first: int,
    there: Collective | None,
    group: str,
    alike: int,
    within: str,
) -> str:
    where = f"in the group {group}" if group != ALL_RANKS else "of all ranks"
    after = f", after {plural(alike, 'collective')} that both ranks start" if alike else ""
    if there is None or here is None:
        waits, never, row = (rank, first, here) if there is None else (first, rank, there)
        assert row is not None
        if within:
            return (
                f"Rank {waits} deadlocks in {within} unless rank {never} starts "
                f"{_with_article(row)} {where} elsewhere: rank {never} does not start one in "
                f"{within}{after}."
            )
        return (
            f"Rank {waits} deadlocks: it waits for {_with_article(row)} {where} that rank {never} "
            f"never starts{after}."
        )
    if within:
        after += f", if both run {within} at the same time"
    if here.op != there.op:
        return (
            f"Rank {rank} deadlocks: it waits for {_with_article(here)} {where} where rank "
            f"{first} starts {_with_article(there)}{after}."
        )
    return (
        f"Ranks {first} and {rank} do not agree on {_with_article(here, with_size=False)} "
        f"{where}{after}: {_size(there)} on rank {first}, {_size(here)} on rank {rank}. NCCL "
        "does not check this: the program hangs or corrupts data."
    )


def _with_article(row: Collective, *, with_size: bool = True) -> str:
    word = row.op.replace("_", "-")
    size = f" of {number_text(row.bytes, 'bytes')}" if with_size and row.bytes is not None else ""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}{size}"


def _size(row: Collective) -> str:
    size = "" if row.bytes is None else f"{number_text(row.bytes, 'bytes')} of "
    return f"{size}{row.dtype}"


def list_unlike(order: Iterable[CollectiveOrder]) -> list[CollectiveOrder]:
    """Rows with a difference, where a rank that starts nothing says so."""
    return [
        replace(row, here=row.here or "nothing", there=row.there or "nothing")
        for row in order
        if row.note
    ]
