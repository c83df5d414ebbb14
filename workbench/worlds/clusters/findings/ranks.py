"""Several ranks of a cluster compiled and compared: a record that answers as text and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.collectives.collective_order import ALL_RANKS
from workbench.analysis.diff.difference import Diff
from workbench.analysis.diff.report_comparison import compare
from workbench.analysis.memory.memory import memory
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import join_words, plural
from workbench.report import Report
from workbench.report.collectives.collective_rows import Collective, CollectiveOrder
from workbench.report.presenter import Presented, presenter
from workbench.worlds.clusters.findings.rank_programs import (
    RankGroup,
    RankProgram,
    compare_orders,
    group_by_program,
    list_changes_of_code,
    list_differing_shards,
    list_uncompared,
    rename_groups,
)
from workbench.worlds.clusters.rows import RankRow, Shard

if TYPE_CHECKING:
    import pandas

__all__ = ["RankGroup", "RankProgram", "Ranks"]

TABLES = ("ranks", "shards", "order", "collectives")


@dataclass(frozen=True, repr=False)
class Ranks(Presented):
    """Hold the compilations of several ranks of a cluster, with their differences and causes.

    `mesh` has the sizes of the cluster by name. `why_these` says how the ranks were chosen. Each
    was compiled separately; nothing is known of the other ranks. `programs` are in the order of the
    ranks.
    """

    name: str
    target: str
    mesh: Mapping[str, int]
    programs: tuple[RankProgram, ...]
    why_these: str = ""

    @property
    def reports(self) -> dict[int, Report]:
        """The report of each compiled rank."""
        return {
            program.rank: program.report for program in self.programs if program.report is not None
        }

    @property
    def errors(self) -> dict[int, str]:
        """The reasons why the other ranks were not compiled."""
        return {program.rank: program.error for program in self.programs if program.report is None}

    @cached_property
    def same_code(self) -> tuple[tuple[int, ...], ...]:
        """Groups of ranks that run the same code; the group of the first rank is first."""
        return group_by_program(self._alike)

    @cached_property
    def order(self) -> tuple[CollectiveOrder, ...]:
        """The collectives of each group, compared between its ranks."""
        return tuple(compare_orders(self.programs))

    @property
    def hangs(self) -> tuple[str, ...]:
        """A sentence for each rank that deadlocks or receives the wrong data."""
        return tuple(row.note for row in self.order if row.note)

    @property
    def is_same(self) -> bool:
        """Whether all were compiled to the same code."""
        return not self.errors and len(self.same_code) == 1

    @cached_property
    def rows(self) -> tuple[RankRow, ...]:
        """A row for each rank."""
        places = {rank: n for n, ranks in enumerate(self.same_code) for rank in ranks}
        return tuple(_measure(program, places.get(program.rank)) for program in self.programs)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The findings in plain words: deadlocks first, then differences."""
        return tuple(_tell(self))

    @checked
    def frame(self, name: str = "ranks") -> pandas.DataFrame:
        """Return one of the tables "ranks", "shards", "order" and "collectives".

        `shards`: each rank's shard of every parameter, buffer and input. `order`: the collectives
        of each group, compared between its ranks. `collectives`: those of every rank. Raises
        `UsageError` for another name.
        """
        if name not in TABLES:
            raise UsageError(f"Ranks have no table {name!r}. They have: {join_words(TABLES)}.")
        if name == "ranks":
            return presenter().rows_frame(self.rows, RankRow)
        if name == "order":
            return presenter().rows_frame(self.order, CollectiveOrder)
        rows = [
            (program.rank, row)
            for program in self.programs
            for row in (program.shards if name == "shards" else _list_collectives(program))
        ]
        frame = presenter().rows_frame(
            [row for _, row in rows], Shard if name == "shards" else Collective
        )
        frame.insert(0, "rank", [rank for rank, _ in rows])
        return frame

    @checked
    def diff(self, a: int | None = None, b: int | None = None) -> Diff:
        """Compare two ranks, as `wb.diff` does, with groups named as on the mesh.

        By default, it compares the first rank with the first one that runs other code. If all run
        the same code, it takes the last rank. Raises `UsageError` for a rank that was not compiled.
        """
        ranks = list(self.reports)
        if len(ranks) == 1:
            raise UsageError(
                f"Only rank {ranks[0]} was compiled: compile a second one to compare it with."
            )
        first = ranks[0] if a is None else a
        mates = next((same for same in self.same_code if first in same), ())
        others = [rank for rank in ranks if rank not in mates] or [ranks[-1]]
        second = others[0] if b is None else b
        for rank in (first, second):
            if rank not in ranks:
                why = self.errors.get(rank, f"choose from {join_words([*map(str, ranks)])}.")
                raise UsageError(f"Rank {rank} was not compiled: {why}")
        return compare(self._alike[first], self._alike[second], (f"rank {first}", f"rank {second}"))

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained page, which needs no network; written to `path` when given."""
        return presenter().page(self, path)

    @cached_property
    def _alike(self) -> dict[int, Report]:
        return {
            program.rank: rename_groups(program)
            for program in self.programs
            if program.report is not None
        }


def _list_collectives(program: RankProgram) -> list[Collective]:
    return [] if program.report is None else list(program.report.collectives)


def _measure(program: RankProgram, place: int | None) -> RankRow:
    at = ", ".join(f"{name}={index}" for name, index in program.coordinates.items())
    parameters = [shard for shard in program.shards if shard.is_parameter]
    report = program.report
    if report is None:
        held = sum(shard.bytes for shard in parameters) if program.shards else None
        return RankRow(program.rank, at, None, held, error=program.error)
    trains = any(kernel.is_backward for kernel in report.kernels)
    try:
        peak = memory(report).peak
    except UsageError:  # no generated program to count in
        peak = None
    sizes = [row.bytes for row in report.collectives]
    return RankRow(
        rank=program.rank,
        coordinates=at,
        program=place,
        parameter_bytes=sum(shard.bytes for shard in parameters),
        gradient_bytes=sum(s.bytes for s in parameters if s.needs_grad) if trains else 0,
        peak_bytes=peak,
        kernels=len(report.kernels),
        collectives=len(sizes),
        message_bytes=None if None in sizes else sum(size or 0 for size in sizes),
    )


def _tell(ranks: Ranks) -> Iterator[str]:
    yield from ranks.hangs
    done, world = list(ranks.reports), prod(ranks.mesh.values())
    words = _name_ranks(done)
    if len(done) > 1:
        count = len(ranks.same_code)
        programs = f"{count} different programs" if count > 1 else "the same program"
        left = world - len(ranks.programs)
        unknown = f"; {plural(left, 'rank')} not compiled" if left else ""
        yield f"{words} of {world} run {programs}{unknown}."
    first, *others = ranks.same_code
    for same in others:
        yield _explain(ranks, first[0], same)
    for rank, why in ranks.errors.items():
        yield f"Rank {rank} was not compiled: {why}"
    compared = {row.group for row in ranks.order if not row.note}
    if compared and not ranks.hangs:
        where = "" if compared == {ALL_RANKS} else f" in {join_words(sorted(compared))}"
        yield f"The collectives{where} of these ranks are the same, in the same order."
    if alone := list(list_uncompared(ranks.programs, ranks.order)):
        yield (
            f"{_name_ranks(alone)}: collectives not compared, because no other compiled rank "
            "shares a group."
        )
    yield ranks.why_these


def _name_ranks(ranks: list[int]) -> str:
    return f"Rank {ranks[0]}" if len(ranks) == 1 else f"Ranks {join_words([*map(str, ranks)])}"


def _explain(ranks: Ranks, first: int, same: tuple[int, ...]) -> str:
    """Why ranks compile something else than the first: what they hold, else what differs."""
    by_rank = {program.rank: program for program in ranks.programs}
    shards = list_differing_shards(by_rank[first].shards, by_rank[same[0]].shards)
    rows = {row.rank: row for row in ranks.rows}
    more = (rows[same[0]].kernels or 0) - (rows[first].kernels or 0)
    count = plural(abs(more), f"{'more' if more > 0 else 'fewer'} kernel") if more else ""
    who = _name_ranks(list(same))
    if not shards:
        difference = ranks.diff(first, same[0])
        code = replace(difference, changes=tuple(list_changes_of_code(difference.changes)))
        words = (
            code.sentences[0]
            if code.changes
            else "kernels and graphs match, generated lines differ."
        )
        has = _agree("has", same)
        return f"{who} (b) {has} the same shards as rank {first} (a), but different code: {words}"
    words = f"{who} {_compare_shards(first, *shards[0], same)}"
    others = [f"{plural(len(shards) - 1, 'more shard')} of a different size"] if shards[1:] else []
    others += [count] if count else []
    it_has = "It has" if len(same) == 1 else "They have"
    return f"{words}. {it_has} {join_words(others)}." if others else f"{words}."


def _agree(verb: str, ranks: tuple[int, ...]) -> str:
    return verb if len(ranks) == 1 else {"has": "have", "holds": "hold"}[verb]


def _compare_shards(
    first: int, one: Shard | None, other: Shard | None, ranks: tuple[int, ...]
) -> str:
    holds = _agree("holds", ranks)
    if other is None:
        return f"{holds} no {one.name if one else ''}, which rank {first} has"
    if one is None:
        return f"{holds} {other.name}, which rank {first} does not have"
    dtypes = ("", "") if one.dtype == other.dtype else (f" {other.dtype}", f" {one.dtype}")
    return (
        f"{holds} {list(other.shape)}{dtypes[0]} of {one.name} while rank {first} holds "
        f"{list(one.shape)}{dtypes[1]}"
    )
