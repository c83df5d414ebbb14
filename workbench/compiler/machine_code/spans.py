"""Runs of lines that come from the same line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from workbench.compiler.machine_code.listings import Chain, Listing
from workbench.report.machine_rows import Runs

Value = TypeVar("Value")


def runs(values: Iterable[Value]) -> Iterator[tuple[int, int, Value]]:
    """First line, last line (from 1) and value of each run of equal values."""
    first = 1
    for value, group in groupby(values):
        last = first + sum(1 for _ in group) - 1
        yield first, last, value
        first = last + 1


def joined(lines: Iterable[tuple[int, int]]) -> Runs:
    """Runs of pairs of a line and the line that it comes from, 0 for none, in order."""
    found: list[tuple[int, int, int]] = []
    for number, origin in lines:
        if origin <= 0:
            continue
        if found and found[-1][1] == number - 1 and found[-1][2] == origin:
            found[-1] = (found[-1][0], number, origin)
        else:
            found.append((number, number, origin))
    return tuple(found)


def source_runs(listing: Listing, file: str, offset: int) -> Runs:
    """Runs with their line in the kernel's own `file`, whose text begins `offset` lines later."""

    def own(chain: Chain) -> int:
        return next((place.line - offset for place in chain if place.base == file), 0)

    found = runs(_of_each(listing.chains, own))
    return tuple((first, last, line) for first, last, line in found if line > 0)


def helper_runs(listing: Listing, file: str) -> tuple[tuple[int, int, str, int], ...]:
    """Runs that come from another file than the kernel's, with their line there."""

    def helper(chain: Chain) -> tuple[str, int] | None:
        return (chain[0].file, chain[0].line) if chain and chain[0].base != file else None

    found = runs(_of_each(listing.chains, helper))
    return tuple((first, last, *place) for first, last, place in found if place is not None)


def _of_each(chains: Iterable[Chain], value: Callable[[Chain], Value]) -> Iterator[Value]:
    """The value of every chain, found once for the many lines that share one."""
    known: dict[int, Value] = {}
    for chain in chains:
        if id(chain) not in known:
            known[id(chain)] = value(chain)
        yield known[id(chain)]


def ptx_runs(listing: Listing) -> Runs:
    """Runs with their line in the PTX."""
    return tuple((first, last, line) for first, last, line in runs(listing.ptx) if line > 0)
