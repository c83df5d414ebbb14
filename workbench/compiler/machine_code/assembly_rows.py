"""Makes the rows of the table `assembly` from what was read of a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from workbench.compiler.machine_code.code_readers import MachineCode
from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.listings import Chain, Listing
from workbench.compiler.sources.sources import Places
from workbench.report import TextWriter
from workbench.report.machine_rows import Assembly, Runs

Value = TypeVar("Value")


def runs(values: Iterable[Value]) -> Iterator[tuple[int, int, Value]]:
    """First line, last line (from 1) and value of each run of equal values."""
    first, last = 1, 0
    current: Any = None
    for last, value in enumerate(values, 1):
        if last > first and value != current:
            yield first, last - 1, current
            first = last
        current = value
    if last:
        yield first, last, current


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


def find_source_runs(listing: Listing, file: str, offset: int) -> Runs:
    """Runs with their line in the kernel's own `file`, whose text begins `offset` lines later."""

    def own(chain: Chain) -> int:
        return next((place.line - offset for place in chain if place.base == file), 0)

    found = runs(_of_each(listing.chains, own))
    return tuple((first, last, line) for first, last, line in found if line > 0)


def find_helper_runs(listing: Listing, file: str) -> tuple[tuple[int, int, str, int], ...]:
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


def find_ptx_runs(listing: Listing) -> Runs:
    """Runs with their line in the PTX."""
    return tuple((first, last, line) for first, last, line in runs(listing.ptx) if line > 0)


MOST_TEXT = 100_000_000
"""Characters of assembly that a report keeps; what comes later is named without its text."""


class AssemblyRows:
    """Rows whose texts go to `writer`, until there is too much of them."""

    def __init__(self, writer: TextWriter, places: Places):
        self._writer = writer
        self._places = places
        self._kept = 0

    def of(
        self, kernel: str, id: str, config: CompiledConfig, code: MachineCode
    ) -> Iterator[Assembly]:
        """A row for each stage of one configuration."""
        file = os.path.basename(config.file)
        offset = len(config.source) - len(config.source.lstrip("\n"))
        for stage, listing in code.listings.items():
            size = sum(map(len, listing.lines))
            if self._kept + size > MOST_TEXT:
                note = f"not kept: the report holds {MOST_TEXT // 10**6} MB of assembly already"
                yield Assembly(kernel, id, stage, None, note=note)
                continue
            self._kept += size
            yield Assembly(
                kernel,
                id,
                stage,
                self._writer.add(self._places.shared("\n".join(listing.lines))),
                lines=find_source_runs(listing, file, offset),
                inlined=tuple(
                    (first, last, self._places.shown(helper), line)
                    for first, last, helper, line in find_helper_runs(listing, file)
                ),
                ptx=find_ptx_runs(listing),
            )
        if code.missing is not None:
            yield Assembly(kernel, id, "sass", None, note=code.missing)
