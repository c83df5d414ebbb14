"""What single ranks of a cluster compiled to, which run the same code and start the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.analysis.collectives.collective_order import compare_started
from workbench.analysis.diff.difference import MEASURED, Change
from workbench.analysis.diff.report_comparison import compare, compute_code_digest
from workbench.report import Report
from workbench.report.collectives.collective_rows import Collective, CollectiveOrder
from workbench.report.texts import Texts
from workbench.worlds.clusters.rows import Shard

_CALLS = ("c10d_functional.", "symm_mem.")  # what is called with the name of a group


@dataclass(frozen=True)
class RankGroup:
    """A process group: `label` is what the mesh calls it, `ranks` are those of the cluster."""

    label: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RankProgram:
    """What one rank compiled to, and what it holds; `error` says why there is no report.

    `coordinates` are by dimension of the mesh, `groups` by torch's names.
    """

    rank: int
    coordinates: Mapping[str, int]
    shards: tuple[Shard, ...] = ()
    groups: Mapping[str, RankGroup] = field(default_factory=dict)
    report: Report | None = None
    error: str = ""


def rename_groups(program: RankProgram) -> Report:
    """The report with the groups called as the mesh does.

    torch counts the groups of a process: the same group of another rank has another name.
    """
    report = program.report
    assert report is not None
    labels = {f"'{name}'": f"'{group.label}'" for name, group in program.groups.items()}
    if not labels:
        return report
    names = re.compile("|".join(map(re.escape, labels)))
    stored = report.texts.to_json() if isinstance(report.texts, Texts) else None
    if stored is None:
        return report
    stored["lines"] = [
        names.sub(lambda match: labels[match[0]], line)
        if any(call in line for call in _CALLS)
        else line
        for line in stored["lines"]
    ]
    return replace(report, texts=Texts.from_json(stored))


def group_by_program(reports: Mapping[int, Report]) -> tuple[tuple[int, ...], ...]:
    """The ranks that run the same code, together; groups are called alike in all reports."""
    groups: list[list[int]] = []
    for rank, report in reports.items():
        for ranks in groups:
            if _is_same_program(reports[ranks[0]], report):
                ranks.append(rank)
                break
        else:
            groups.append([rank])
    return tuple(map(tuple, groups))


def _is_same_program(a: Report, b: Report) -> bool:
    digests = compute_code_digest(a), compute_code_digest(b)
    if None not in digests:
        return digests[0] == digests[1]
    return not list(list_changes_of_code(compare(a, b).changes))


def list_changes_of_code(changes: Iterable[Change]) -> list[Change]:
    """Those that are not of a clock, and not of what a call has to fulfil."""
    return [change for change in changes if change.part not in (*MEASURED, "guards")]


def list_differing_shards(
    a: Sequence[Shard], b: Sequence[Shard]
) -> list[tuple[Shard | None, Shard | None]]:
    """Pairs by name that differ, the largest first; None where a rank lacks one."""
    ones, others = ({shard.name: shard for shard in shards} for shards in (a, b))
    pairs = [(ones.get(name), others.get(name)) for name in dict.fromkeys([*ones, *others])]
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    return sorted(differing, key=lambda pair: -max(shard.bytes for shard in pair if shard))


def compare_orders(programs: Iterable[RankProgram]) -> list[CollectiveOrder]:
    """A row for each group and each further rank in it, compared with the first one.

    Groups are the same where they have the same ranks of the cluster, whatever they are called.
    """
    by_group: dict[tuple[int, ...], list[tuple[str, RankProgram]]] = {}
    for program in programs:
        if program.report is not None:
            for name, group in program.groups.items():
                by_group.setdefault(group.ranks, []).append((name, program))
    rows: list[CollectiveOrder] = []
    for (name, first), *rest in by_group.values():
        started = _list_started(first, name)
        for other_name, program in rest:
            others = _list_started(program, other_name)
            if started or others:
                group = first.groups[name]
                row = compare_started(group.label, first.rank, started, program.rank, others)
                rows.append(replace(row, group_size=len(group.ranks)))
    return rows


def _list_started(program: RankProgram, name: str) -> Sequence[Collective]:
    """Those of a group, the forward first; a graph without a place in a program keeps its order."""
    assert program.report is not None
    rows = [row for row in program.report.collectives if row.group == name]
    return sorted(rows, key=lambda row: (row.is_backward, row.order or 0))


def list_uncompared(
    programs: Iterable[RankProgram], rows: Iterable[CollectiveOrder]
) -> Iterator[int]:
    """Ranks with collectives of which no group has another of these ranks."""
    compared = {rank for row in rows for rank in (row.rank, row.other)}
    for program in programs:
        has_any = program.report is not None and len(program.report.collectives)
        if has_any and program.rank not in compared:
            yield program.rank
