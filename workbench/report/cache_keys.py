"""Why torch compiled again: two keys of its cache, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.report.presenter import FormerTable, Presented, presenter

if TYPE_CHECKING:
    import pandas

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of two keys; None where a key has nothing there, `same` None where it is unknown.

    `graph` is "forward" or "backward". Long values are cut, what is compared is all of them.
    """

    graph: str
    part: str
    a: str | None
    b: str | None
    same: bool | None


@dataclass(frozen=True)
class WhyRecompiled(Presented):
    """The comparison of two compilations' cache keys; `differences` are sentences."""

    a: str
    b: str
    rows: tuple[KeyPart, ...] = field(repr=False)
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether torch would take the second from its cache, as far as the parts tell."""
        return not self.differences

    @property
    def text(self) -> str:
        """What differed, in a sentence or a few lines."""
        unknown = sum(row.same is None for row in self.rows)
        note = f" {unknown} parts are not recorded in both." if unknown else ""
        if self.same:
            return (
                f"{self.a} and {self.b} have the same key: torch takes the second from its cache, "
                f"if it is still there.{note}"
            )
        shown = self.differences[:_SHOWN]
        more = len(self.differences) - len(shown)
        if len(self.differences) == 1:
            return f"{self.b} was compiled again because {shown[0]}.{note}"
        lines = [f"{self.b} was compiled again because:", *(f"  - {line}" for line in shown)]
        return (
            "\n".join([*lines, *([f"  - … and {more} more: see .frame()"] if more else [])]) + note
        )

    table = FormerTable()

    def frame(self) -> pandas.DataFrame:
        """A row for each part: graph, part, a, b, same; what differs comes first."""
        ordered = sorted(self.rows, key=lambda row: (row.same is not False, row.same is not None))
        return presenter().rows_frame(ordered, KeyPart)

    def __repr__(self) -> str:
        """The sentence."""
        return self.text
