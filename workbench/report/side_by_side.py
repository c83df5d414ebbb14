"""Two listings of one kernel: rows side by side, and a unified difference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from workbench.report.listing_diff import Block, Kind, compare

_SIGNS = {"changed": "~", "added": "+", "removed": "-", "same": " "}
_WIDTH = 48
_ADDRESS = re.compile(r"^\s*/\*[0-9a-f]+\*/\s*")


class SideBySide(NamedTuple):
    """One row: a line of either listing with its number from 1, None where it has none."""

    kind: Kind
    before_line: int | None
    before: str | None
    after_line: int | None
    after: str | None


@dataclass(frozen=True)
class Difference:
    """The code of one kernel at one stage on two GPUs.

    Addresses, comments and blanks do not count as differences; with `loose` neither do the numbers
    of registers, values and labels.
    """

    kernel: str
    stage: str
    a: str
    b: str
    before: str = field(repr=False)
    after: str = field(repr=False)
    loose: bool = False

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Runs of lines that are the same, changed, added or removed."""
        return tuple(compare(self.before, self.after, loose=self.loose))

    @cached_property
    def rows(self) -> tuple[SideBySide, ...]:
        """Every line of both listings, equal and changed ones beside each other."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[SideBySide]:
        left, right = self.before.split("\n"), self.after.split("\n")
        for kind, before, after in self.blocks:
            for i, j in zip_longest(before, after):
                # a changed block may be longer on one side
                own: Kind = "removed" if j is None else "added" if i is None else kind
                yield SideBySide(
                    own,
                    None if i is None else i + 1,
                    None if i is None else left[i],
                    None if j is None else j + 1,
                    None if j is None else right[j],
                )

    @property
    def changed(self) -> int:
        """Rows that are not the same."""
        return sum(row.kind != "same" for row in self.rows)

    def unified(self, context: int = 3) -> str:
        """The difference as `diff -u` writes it, with this many equal lines around each change."""
        rows = self.rows
        near = {
            n
            for at, row in enumerate(rows)
            if row.kind != "same"
            for n in range(at - context, at + context + 1)
        }
        lines = [
            f"--- {self.kernel} {self.stage} {self.a}",
            f"+++ {self.kernel} {self.stage} {self.b}",
        ]
        run: list[SideBySide] = []
        for n, row in enumerate((*rows, None)):
            if row is not None and n in near:
                run.append(row)
            elif run:
                lines += _hunk(run)
                run = []
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Both listings beside each other, changed rows marked; equal stretches are left out."""
        head = f"{self.kernel}, {self.stage}: {self.a} and {self.b}, {self.changed} rows differ"
        lines = [head]
        is_open = True
        for row in self.rows:
            if row.kind == "same":
                if is_open:
                    lines.append("  …")
                is_open = False
                continue
            is_open = True
            left, right = (_ADDRESS.sub("", line or "").strip() for line in (row.before, row.after))
            line = f"{_SIGNS[row.kind]} {left[:_WIDTH]:<{_WIDTH}} | {right[:_WIDTH]}"
            lines.append(line.rstrip())
        return "\n".join(lines)


def _hunk(rows: list[SideBySide]) -> Iterator[str]:
    before = [row.before_line for row in rows if row.before_line is not None]
    after = [row.after_line for row in rows if row.after_line is not None]
    yield f"@@ -{_span(before)} +{_span(after)} @@"
    removed: list[str] = []
    added: list[str] = []
    for row in rows:
        if row.kind == "same":
            yield from (*removed, *added)
            removed, added = [], []
            yield f" {row.before}"
            continue
        removed += [] if row.before is None else [f"-{row.before}"]
        added += [] if row.after is None else [f"+{row.after}"]
    yield from (*removed, *added)


def _span(lines: list[int]) -> str:
    return f"{lines[0]},{len(lines)}" if lines else "0,0"
