"""What ranks of a cluster compiled to, here or by their logs, as text, fragment and page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from typing import Any

from workbench.analysis.ranks.logged_ranks import LoggedRanks
from workbench.analysis.ranks.ranks import Ranks
from workbench.number_text import plural
from workbench.report.cluster.cluster_rows import CollectiveOrder, RankCompile, RankRow
from workbench.report.measures import measures
from workbench.views.static_html import render
from workbench.views.static_html.grids import HEAT_BYTES, PAGE, Grid, Limits, grid
from workbench.views.tables.column import Column, exact

_OF_RANKS = measures(RankRow)
_RANKS = (
    Column("Rank", "rank", "number"),
    Column("At", "coordinates"),
    Column("Program", "program", "number"),
    *(Column(each.title, name, exact(each.unit)) for name, each in _OF_RANKS.items()),
)
_COMPILES = (
    Column("Compile", "compile_id", "code"),
    Column("Function", "function", "code"),
    Column("Ranks", "ranks"),
    Column("Without", "without"),
    Column("Not known", "unknown"),
    Column("Programs", "programs", "number"),
    Column("Caches", "cache"),
    *(Column(each.title, name, exact(each.unit)) for name, each in measures(RankCompile).items()),
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
    Column("Starts then", "here", "code"),
    Column("The other starts", "there", "code"),
)


def list_rank_sentences(ranks: Ranks | LoggedRanks) -> tuple[str, ...]:
    """What would hang, what differs and why, what was not checked."""
    return ranks.sentences


def format_ranks(ranks: Ranks) -> str:
    """The sentences, a line for each rank."""
    table = next(_list_rank_grids(ranks, PAGE))
    lines = [_name_ranks(ranks)] + [f"- {words}" for words in ranks.sentences]
    return "\n".join(
        [*lines, *([] if table is None else [f"  {table.head}"])]
        + [f"  {line}" for line in ([] if table is None else table.lines)]
    )


def render_ranks_page(ranks: Ranks, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given."""
    shown = render.body("forecast", lambda limits: _show_ranks(ranks, limits))
    return render.page(_name_ranks(ranks), shown, path)


def render_ranks(ranks: Ranks) -> str:
    """The sentences and the tables for a notebook; it needs no style sheet."""
    return render.summary("forecast", lambda limits: _show_ranks(ranks, limits), limit=HEAT_BYTES)


def format_logged_ranks(ranks: LoggedRanks) -> str:
    """The sentences, a line for each compile."""
    table = next(_list_logged_grids(ranks, PAGE))
    lines = [f"{ranks.name} on {plural(len(ranks.ranks), 'rank')}"]
    lines += [f"- {words}" for words in ranks.sentences]
    return "\n".join(
        lines + [f"  {line}" for line in (() if table is None else (table.head, *table.lines))]
    )


def render_logged_ranks(ranks: LoggedRanks) -> str:
    """The sentences and the tables for a notebook; it needs no style sheet."""
    return render.summary("forecast", lambda limits: _show_logged(ranks, limits), limit=HEAT_BYTES)


def _show_logged(ranks: LoggedRanks, limits: Limits) -> Mapping[str, Any]:
    first, *others = ranks.sentences
    grids = [each for each in _list_logged_grids(ranks, limits) if each is not None]
    title = f"{ranks.name} on {plural(len(ranks.ranks), 'rank')}"
    return {"title": title, "sentence": first, "notes": others, "grids": grids}


def _list_logged_grids(ranks: LoggedRanks, limits: Limits) -> Iterator[Grid | None]:
    rows = [
        {
            **asdict(row),
            "ranks": _list_numbers(row.ranks),
            "without": _list_numbers(row.without),
            "unknown": _list_numbers(row.unknown),
            "programs": len(row.programs) or None,
        }
        for row in ranks.compiles
    ]
    yield grid("Compiles", _COMPILES, rows, limits, call=".frame()")
    yield grid("Collectives that do not match", _ORDER, _list_unlike(ranks.order), limits,
               call=".frame('order')")  # fmt: skip


def _list_numbers(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))


def _list_unlike(order: Iterable[CollectiveOrder]) -> list[dict[str, Any]]:
    return [
        {**asdict(row), "here": row.here or "nothing", "there": row.there or "nothing"}
        for row in order
        if row.note
    ]


def _name_ranks(ranks: Ranks) -> str:
    sizes = " × ".join(f"{name} {size}" for name, size in ranks.mesh.items())
    return f"{ranks.name} on {ranks.target}, {sizes}"


def _show_ranks(ranks: Ranks, limits: Limits) -> Mapping[str, Any]:
    first, *others = ranks.sentences
    grids = [each for each in _list_rank_grids(ranks, limits) if each is not None]
    return {"title": _name_ranks(ranks), "sentence": first, "notes": others, "grids": grids}


def _list_rank_grids(ranks: Ranks, limits: Limits) -> Iterator[Grid | None]:
    rows = [asdict(row) for row in ranks.rows]
    yield grid("Ranks", _RANKS, rows, limits, call=".frame()")
    unlike = _list_unlike(ranks.order)
    yield grid("Collectives that do not match", _ORDER, unlike, limits, call=".frame('order')")
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
