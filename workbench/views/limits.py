"""How much of a report one view shows; what is left out stays in the report's frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass
class TextBudget:
    """Lines of text that may still be shown."""

    lines: int

    def take(self, text: str) -> bool:
        """Whether the text still fits; counts it when it does."""
        count = text.count("\n") + 1
        if count > self.lines:
            return False
        self.lines -= count
        return True


@dataclass(frozen=True)
class Limits:
    """The caps of one view."""

    rows: int = 500
    sources: int = 100
    codes: int = 500
    figures: int = 6  # of the matrix, a table for each
    context: int = 4  # lines around one that has something to say; others are folded
    text: TextBudget = field(default_factory=lambda: TextBudget(40_000))

    @classmethod
    def for_page(cls) -> Limits:
        """What stands on a page where no script runs."""
        return cls(rows=120, sources=40, codes=60, text=TextBudget(5_000))

    @classmethod
    def for_notebook(cls) -> Limits:
        """Small: the output is saved with the notebook."""
        return cls(rows=8, sources=2, codes=1, figures=2, context=1, text=TextBudget(110))


def cut(items: Sequence[T], limit: int, frame: str) -> tuple[Sequence[T], str | None]:
    """The first items, and a sentence that says where the rest is."""
    if len(items) <= limit:
        return items, None
    return items[:limit], f"{len(items) - limit} more in report.frame({frame!r})"
