"""Several ranks of a cluster as text and as a page: the sentences, a table of the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any

from workbench.analysis.ranks.ranks import Ranks
from workbench.report.cluster.rank_rows import RankRow
from workbench.report.measures import measures
from workbench.views.static_html import render
from workbench.views.static_html.grids import HEAT_BYTES, PAGE, Grid, Limits, grid
from workbench.views.tables.column import Column, exact

_NUMBERS = measures(RankRow)
_RANKS = (
    Column("Rank", "rank", "number"),
    Column("At", "coordinates"),
    Column("Program", "program", "number"),
    *(Column(each.title, name, exact(each.unit)) for name, each in _NUMBERS.items()),
)
_SHARDS = (
    Column("Rank", "rank", "number"),
    Column("Holds", "shape", "code"),
    Column("Of", "name", "code"),
    Column("Bytes", "bytes", "B"),
)
_ORDER = (
    Column("Group", "group"),
    Column("Rank", "rank", "number"),
    Column("Against", "other", "number"),
    Column("Alike", "collectives", "number"),
    Column("Then", "here", "code"),
    Column("There", "there", "code"),
)


def list_rank_sentences(ranks: Ranks) -> tuple[str, ...]:
    """What would hang, what differs and why, what was not checked."""
    return ranks.sentences


def format_ranks(ranks: Ranks) -> str:
    """The sentences, a line for each rank."""
    table = next(_list_grids(ranks, PAGE))
    lines = [_title(ranks)] + [f"- {words}" for words in ranks.sentences]
    return "\n".join(
        [*lines, *([] if table is None else [f"  {table.head}"])]
        + [f"  {line}" for line in ([] if table is None else table.lines)]
    )


def render_ranks_page(ranks: Ranks, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given."""
    shown = render.body("forecast", lambda limits: _show(ranks, limits))
    return render.page(_title(ranks), shown, path)


def render_ranks(ranks: Ranks) -> str:
    """The sentences and the tables for a notebook; it needs no style sheet."""
    return render.summary("forecast", lambda limits: _show(ranks, limits), limit=HEAT_BYTES)


def _title(ranks: Ranks) -> str:
    sizes = " × ".join(f"{name} {size}" for name, size in ranks.mesh.items())
    return f"{ranks.name} on {ranks.target}, {sizes}"


def _show(ranks: Ranks, limits: Limits) -> Mapping[str, Any]:
    first, *others = ranks.sentences
    grids = [each for each in _list_grids(ranks, limits) if each is not None]
    return {"title": _title(ranks), "sentence": first, "notes": others, "grids": grids}


def _list_grids(ranks: Ranks, limits: Limits) -> Iterator[Grid | None]:
    rows = [asdict(row) for row in ranks.rows]
    yield grid("Ranks", _RANKS, rows, limits, call=".frame()")
    order = [asdict(row) for row in ranks.order if row.note]
    yield grid("Collectives that do not match", _ORDER, order, limits, call=".frame('order')")
    yield grid("Shards that differ", _SHARDS, _list_shards(ranks), limits, call=".frame('shards')")


def _list_shards(ranks: Ranks) -> list[dict[str, Any]]:
    """What ranks hold of a tensor whose shards are not equal, name by name."""
    held: dict[str, dict[int, Any]] = {}
    for program in ranks.programs:
        for shard in program.shards:
            held.setdefault(shard.name, {})[program.rank] = shard
    return [
        {"rank": rank, "name": name, "shape": str(list(shard.shape)), "bytes": shard.bytes}
        for name, by_rank in held.items()
        if len(set(by_rank.values())) > 1
        for rank, shard in by_rank.items()
    ]
