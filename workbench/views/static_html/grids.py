"""Tables for where no script runs: rows of a document in words, and how many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from workbench.views.tables.column import CUT, Column
from workbench.views.words.units import ABSENT


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


@dataclass(frozen=True)
class Grid:
    """A table: `more` rows are left out, texts may be cut; `call` gives all of them."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    call: str = ""
    is_cut: bool = False

    @property
    def has_prose(self) -> bool:
        """Whether a column has sentences, which need a line of their own in plain text."""
        return any(column.unit == "prose" for column in self.columns)

    @property
    def head(self) -> str:
        """The titles of the columns above those of `lines`."""
        return self._line([column.title for column in self.columns])

    @property
    def lines(self) -> list[str]:
        """The rows as aligned plain text, each sentence on a line of its own below its row.

        That takes a fifth of what a table does where every cell needs its own style.
        """
        text_lines = []
        for row in self.rows:
            text_lines.append(self._line(row))
            for column, text in zip(self.columns, row, strict=True):
                if column.unit == "prose" and text:
                    text_lines.append(f"    {text}")
        return text_lines

    @cached_property
    def _widths(self) -> list[int]:
        titles = [column.title for column in self.columns]
        return [max(map(len, texts)) for texts in zip(titles, *self.rows, strict=True)]

    def _line(self, texts: Sequence[str]) -> str:
        cells = [
            text.rjust(width) if column.style == "num" else text.ljust(width)
            for column, text, width in zip(self.columns, texts, self._widths, strict=True)
            if column.unit != "prose"
        ]
        return "  ".join(cells).rstrip()


def write_frame_call(owner: str, name: str) -> Markup:
    """The call that gives the same rows as a DataFrame; the name is one of ours."""
    return Markup("{}.frame('{}')").format(owner, name)


def grid(
    title: str,
    columns: Iterable[Column],
    rows: Sequence[Mapping[str, Any]],
    limits: Limits,
    *,
    call: str = "",
    most: int | None = None,
    omitted: int = 0,
) -> Grid | None:
    """The first rows; a column without a value in any row is left out. None without rows."""
    if not rows:
        return None
    shown = rows[: limits.rows if most is None else most]
    used = tuple(c for c in columns if any(c.words(row, None) not in ("", ABSENT) for row in shown))
    texts = tuple(tuple(c.words(row, limits.letters) for c in used) for row in shown)
    is_cut = any(text.endswith(CUT) for row in texts for text in row)
    return Grid(title, used, texts, len(rows) - len(shown) + omitted, call, is_cut)
