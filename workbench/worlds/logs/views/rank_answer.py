"""What the ranks of a run compiled by their logs, as text and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from workbench.analysis.collectives.collective_order import list_unlike
from workbench.number_text import plural
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Sentence, Table, write_text
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column, exact
from workbench.views.tables.columns import ORDER_COLUMNS
from workbench.worlds.logs.reading.logged_ranks import LoggedRanks, RankCompile

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


def build_document(ranks: LoggedRanks) -> Document:
    """The sentences; compiles, collectives that do not match."""
    rows = [
        {
            **asdict(row),
            "ranks": _join(row.ranks),
            "without": _join(row.without),
            "unknown": _join(row.unknown),
            "programs": len(row.programs) or None,
        }
        for row in ranks.compiles
    ]
    first, *others = ranks.sentences
    order = [asdict(row) for row in list_unlike(ranks.order)]
    blocks = [
        Sentence(first),
        *(Sentence(words, "muted") for words in others),
        Table("Compiles", _COMPILES, rows, ".frame()", is_open=True),
        Table(
            "Mismatched collectives",
            ORDER_COLUMNS,
            order,
            ".frame('order')",
            is_open=not rows,
        ),
    ]
    title = f"{ranks.name} on {plural(len(ranks.ranks), 'rank')}"
    return Document(title, blocks, summary_bytes=HEAT_BYTES)


def _join(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))


SHOWN = Shown(
    document=build_document,
    text=lambda ranks: write_text(build_document(ranks)),
    sentences=lambda ranks: ranks.sentences,
)
