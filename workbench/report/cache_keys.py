"""Why torch compiled again: two keys of its cache, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING

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
class WhyRecompiled:
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
        return "\n".join([*lines, *([f"  - … and {more} more: see .table"] if more else [])]) + note

    @property
    def table(self) -> pandas.DataFrame:
        """A row for each part: graph, part, a, b, same; what differs comes first."""
        import pandas

        ordered = sorted(self.rows, key=lambda row: (row.same is not False, row.same is not None))
        columns = [column.name for column in fields(KeyPart)]
        return pandas.DataFrame({name: [getattr(row, name) for row in ordered] for name in columns})

    def __repr__(self) -> str:
        """The sentence."""
        return self.text

    def _repr_html_(self) -> str:
        """The sentence and a table of what differs."""
        head = "".join(f"<th>{escape(n)}</th>" for n in ("", "part", self.a, self.b))
        differing = [row for row in self.rows if row.same is not True]
        rows = "".join(
            f"<tr><td>{escape(row.graph)}</td><td>{escape(row.part)}</td>"
            f"<td>{escape(_shown(row.a))}</td><td>{escape(_shown(row.b))}</td></tr>"
            for row in differing
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<pre>{escape(self.text)}</pre>{table if differing else ''}"


def _shown(value: str | None) -> str:
    return "–" if value is None else value
