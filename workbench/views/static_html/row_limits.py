"""How much of a document is shown where no script runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The caps of one rendering: `letters` of a cell, `context` lines around one with a remark."""

    rows: int
    others: int  # rows of tables besides kernels, breaks and what was not fused
    lines: int  # of sources
    context: int
    letters: int | None
    tables: int = 1  # of a matrix, one for each figure
    texts: int = 0  # lines of code, all kernels together


PAGE = Limits(rows=120, others=40, lines=3000, context=4, letters=None, tables=6, texts=5000)
SUMMARY_BYTES = 10_000
"""A notebook keeps a summary of each view: it is the first of these that is no longer than that."""
HEAT_BYTES = 20_000
"""The same for heat maps with tables below them."""
SUMMARIES = (
    Limits(rows=24, others=8, lines=80, context=2, letters=160, tables=6),
    Limits(rows=16, others=5, lines=60, context=2, letters=120, tables=2),
    Limits(rows=13, others=4, lines=50, context=1, letters=100, tables=2),
    Limits(rows=10, others=3, lines=40, context=1, letters=80),
    Limits(rows=8, others=2, lines=30, context=1, letters=60),
    Limits(rows=6, others=1, lines=24, context=0, letters=50),
    Limits(rows=2, others=1, lines=6, context=0, letters=30),
)
