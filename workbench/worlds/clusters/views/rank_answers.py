"""What ranks of a cluster compiled to, as text and blocks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workbench.analysis.collectives.collective_order import list_unlike
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Sentence, Table, write_text
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column, exact
from workbench.views.tables.columns import ORDER_COLUMNS
from workbench.worlds.clusters.findings.ranks import Ranks
from workbench.worlds.clusters.rows import RankRow

_OF_RANKS = measures(RankRow)
_RANKS = (
    Column("Rank", "rank", "number"),
    Column("At", "coordinates"),
    Column("Program", "program", "number"),
    *(Column(measure.title, name, exact(measure.unit)) for name, measure in _OF_RANKS.items()),
)
_SHARDS = (
    Column("Rank", "rank", "number"),
    Column("Holds", "shape", "code"),
    Column("Of", "name", "code"),
    Column("Bytes", "bytes", "B"),
)


def build_ranks(ranks: Ranks) -> Document:
    """The sentences; ranks, collectives that do not match, shards that differ."""
    first, *others = ranks.sentences
    sizes = " × ".join(f"{name} {size}" for name, size in ranks.mesh.items())
    rows = [asdict(row) for row in ranks.rows]
    shards = _list_shards(ranks)
    order = [asdict(row) for row in list_unlike(ranks.order)]
    blocks = [
        Sentence(first),
        *(Sentence(words, "muted") for words in others),
        Table("Ranks", _RANKS, rows, ".frame()", is_open=True),
        Table(
            "Mismatched collectives",
            ORDER_COLUMNS,
            order,
            ".frame('order')",
            is_open=not rows,
        ),
        Table("Differing shards", _SHARDS, shards, ".frame('shards')", is_open=False),
    ]
    return Document(f"{ranks.name} on {ranks.target}, {sizes}", blocks, summary_bytes=HEAT_BYTES)


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
    "Ranks": Shown(
        document=build_ranks,
        text=lambda ranks: write_text(build_ranks(ranks)),
        sentences=lambda ranks: ranks.sentences,
    ),
}
