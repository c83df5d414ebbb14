"""The traces of several ranks as one profile: every table of each, with a column `rank`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.number_text import plural
from workbench.report.profile.profile_rows import PROFILE_TABLES, ProfileHeader, RankTime
from workbench.report.table import Table

_RANK = re.compile(r"rank[_-]?(\d{1,6})", re.IGNORECASE)
_IDS = {
    "kernels": ("id",),
    "modules": ("id", "parent"),
    "gaps": ("before", "after"),
    "collectives": ("kernel",),
    "events": ("kernel", "module"),
}
"""Columns with ids, which get the rank before them: several ranks have a `k0`."""
_MOST_SHOWN = 5


@dataclass(frozen=True)
class FileFacts:
    """What a file says of its place among others; `began_us` is by its machine's clock."""

    rank: int | None
    ranks: int | None
    began_us: float


@dataclass(frozen=True)
class ReadRank:
    """One file of a folder, read."""

    file: str
    header: ProfileHeader
    tables: Mapping[str, Table[Any]]
    facts: FileFacts


def read_facts(head: Mapping[str, Any], origin: float) -> FileFacts:
    """The rank that a trace names, how many there are, and when its device began."""
    said = head.get("distributedInfo")
    known = said if isinstance(said, dict) else {}
    base = head.get("baseTimeNanoseconds")
    began = origin + (base / 1e3 if isinstance(base, int | float) else 0.0)
    rank, ranks = known.get("rank"), known.get("world_size")
    return FileFacts(
        rank if type(rank) is int and rank >= 0 else None,
        ranks if type(ranks) is int and ranks > 0 else None,
        began,
    )


def join_ranks(
    folder: str, parts: Sequence[ReadRank], refused: Sequence[str]
) -> tuple[ProfileHeader, dict[str, Table[Any]]]:
    """Header and tables of a folder; the header has the times of the rank that took longest."""
    ranks = number_ranks(parts)
    # a file of the CPU alone says nothing of the devices that others ran on
    slowest = max(parts, key=lambda part: (not part.header.on_cpu, part.header.total_us))
    tables: dict[str, Table[Any]] = {
        name: join_tables(kind, name, parts, ranks)
        for name, kind in PROFILE_TABLES.items()
        if name != "ranks"
    }
    tables["ranks"] = Table.of(
        RankTime,
        [
            RankTime(
                rank=rank,
                file=part.file,
                device_name=part.header.device_name,
                total_us=part.header.total_us,
                busy_us=part.header.busy_us,
                idle_us=part.header.idle_us,
                collectives_us=sum(row.exposed_us for row in part.tables["collectives"]),
                began_us=part.facts.began_us,
            )
            for rank, part in zip(ranks, parts, strict=True)
        ],
    )
    notes = [*list_mixed(parts, ranks), *refused[:_MOST_SHOWN]]
    notes += [note for part in parts for note in part.header.notes]
    longest = ranks[list(parts).index(slowest)]
    which = (
        "the longest"
        if len({part.header.on_cpu for part in parts}) == 1
        else ("the longest of those with work of a GPU")
    )
    first = f"{plural(len(parts), 'rank')}: the times are those of rank {longest}, {which}."
    header = replace(
        slowest.header,
        source=folder,
        rank=longest,
        events=sum(part.header.events for part in parts),
        notes=(*([first] if len(parts) > 1 else []), *dict.fromkeys(notes)),
    )
    return header, tables


def number_ranks(parts: Sequence[ReadRank]) -> list[int]:
    """The rank of each file: what it says itself, else its name, else its place."""
    for find in (lambda part: part.facts.rank, find_rank_in_name):
        found = [find(part) for part in parts]
        if None not in found and len(set(found)) == len(parts):
            return [int(rank) for rank in found if rank is not None]
    return list(range(len(parts)))


def find_rank_in_name(part: ReadRank) -> int | None:
    """The rank in the name of a file; None without one."""
    found = _RANK.search(part.file)
    return int(found[1]) if found else None


def join_tables(
    kind: type, name: str, parts: Sequence[ReadRank], ranks: Sequence[int]
) -> Table[Any]:
    """One table of all ranks."""
    columns: dict[str, list[Any]] = {}
    for rank, part in zip(ranks, parts, strict=True):
        table = part.tables[name]
        for column, values in table.columns.items():
            own = list(values)
            if column == "rank":
                own = [rank] * len(own)
            elif column in _IDS.get(name, ()):
                own = [f"r{rank}.{value}" if value else value for value in own]
            columns.setdefault(column, []).extend(own)
    return Table(kind, columns, sum(part.tables[name].omitted for part in parts))


def list_mixed(parts: Sequence[ReadRank], ranks: Sequence[int]) -> Iterator[str]:
    """What does not fit together in a folder, in sentences."""
    devices = Counter(part.header.device_name for part in parts)
    if len(devices) > 1:
        shown = ", ".join(name or "one without a name" for name, _ in devices.most_common())
        yield f"The folder mixes traces of several devices: {shown}."
    sizes = {part.facts.ranks for part in parts} - {None}
    if len(sizes) > 1:
        yield f"The folder mixes runs of {', '.join(map(str, sorted(map(int, sizes))))} ranks."  # type: ignore[arg-type]
    elif sizes and (wanted := sizes.pop()) is not None and wanted != len(parts):
        yield f"The run had {wanted} ranks, the folder has {len(parts)}."
    said = [part.facts.rank for part in parts if part.facts.rank is not None]
    if len(set(said)) < len(said):
        yield "Several files say that they are of the same rank: they are numbered by their names."
    begins = [(part.facts.began_us, part.header.total_us) for part in parts]
    if len(parts) > 1 and not is_together(begins):
        yield (
            "The clocks of the ranks differ, or they did not run at the same time: times of one "
            "rank cannot be compared with those of another."
        )


def is_together(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether there is a moment at which all ran, by their own clocks."""
    return max(began for began, _ in spans) <= min(began + took for began, took in spans)
