"""What ranks of a cluster compiled to, here or by their logs, as text, fragment and page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from workbench.analysis.ranks.logged_ranks import LoggedRanks
from workbench.analysis.ranks.ranks import Ranks
from workbench.number_text import plural
from workbench.report.cluster.cluster_rows import CollectiveOrder, RankCompile, RankRow
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Sentence, Table, write_text
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column, exact

_OF_RANKS = measures(RankRow)
_RANKS = (
    Column("Rank", "rank", "number"),
    Column("At", "coordinates"),
    Column("Program", "program", "number"),
    *(Column(measure.title, name, exact(measure.unit)) for name, measure in _OF_RANKS.items()),
)
_COMPILES = (
    Column("Compile", "compile_id", "code"),
    Column("Function", "function", "code"),
    Column("Ranks", "ranks"),
    Column("Without", "without"),
    Column("Not known", "unknown"),
    Column("Programs", "programs", "number"),
    Column("Caches", "cache"),
    *(
        Column(measure.title, name, exact(measure.unit))
        for name, measure in measures(RankCompile).items()
    ),
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


def build_ranks(ranks: Ranks) -> Document:
    """The sentences; ranks, collectives that do not match, shards that differ."""
    sizes = " × ".join(f"{name} {size}" for name, size in ranks.mesh.items())
    return _build_document(
        f"{ranks.name} on {ranks.target}, {sizes}",
        ranks.sentences,
        Table("Ranks", _RANKS, [asdict(row) for row in ranks.rows], ".frame()", is_open=True),
        _list_unlike(ranks.order),
        Table(
            "Shards that differ", _SHARDS, _list_shards(ranks), ".frame('shards')", is_open=False
        ),
    )


def build_logged_ranks(ranks: LoggedRanks) -> Document:
    """The sentences; compiles, collectives that do not match."""
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
    return _build_document(
        f"{ranks.name} on {plural(len(ranks.ranks), 'rank')}",
        ranks.sentences,
        Table("Compiles", _COMPILES, rows, ".frame()", is_open=True),
        _list_unlike(ranks.order),
    )


def _build_document(
    title: str,
    sentences: Sequence[str],
    table: Table,
    unlike: Sequence[Mapping[str, Any]],
    *more: Table,
) -> Document:
    first, *others = sentences
    order = Table(
        "Collectives that do not match", _ORDER, unlike, ".frame('order')", is_open=not table.rows
    )
    notes = [Sentence(words, "muted") for words in others]
    blocks = [Sentence(first), *notes, table, order, *more]
    return Document(title, blocks, summary_bytes=HEAT_BYTES)


def _list_numbers(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))


def _list_unlike(order: Iterable[CollectiveOrder]) -> list[dict[str, Any]]:
    return [
        {**asdict(row), "here": row.here or "nothing", "there": row.there or "nothing"}
        for row in order
        if row.note
    ]


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


SHOWN = {
    "LoggedRanks": Shown(
        document=build_logged_ranks,
        text=lambda ranks: write_text(build_logged_ranks(ranks)),
        sentences=list_rank_sentences,
    ),
    "Ranks": Shown(
        document=build_ranks,
        text=lambda ranks: write_text(build_ranks(ranks)),
        sentences=list_rank_sentences,
    ),
}
