"""A difference as stable text without times, and as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from textwrap import wrap

import pandas

from workbench.analysis.diff.difference import MEASURED, PARTS, Change, Diff
from workbench.errors import UsageError
from workbench.views.diff.sentences import sentences
from workbench.views.diff.words import CHANGES, TITLES, difference_text, side_words, value_text
from workbench.views.words.units import ABSENT

_ROWS = 4
_WIDTH = 100
_IN_SENTENCES = ("outcome", "request", "nodes", "graphs")  # rows that add little to the sentences


def text(diff: Diff) -> str:
    """The difference in a few dozen lines of at most 100 columns; measured times left out."""
    lines = [f"Diff({diff.names[0]} → {diff.names[1]})"]
    lines += [f"  {side}: {side_words(report)}" for side, report in (("a", diff.a), ("b", diff.b))]
    for sentence in sentences(diff):
        if not sentence.is_measured:
            lines += wrap(
                sentence.text, _WIDTH, initial_indent="- ", subsequent_indent="  ",
                break_on_hyphens=False,
            )  # fmt: skip
    same = dict(diff.same)
    for part in PARTS:
        rows = [change for change in diff.changes if change.part == part]
        if rows and part not in MEASURED:
            lines.append(f"{TITLES[part]}: {len(rows)} differ, {same.get(part, 0)} the same")
            if part not in _IN_SENTENCES:
                lines += _rows(part, rows)
    lines += [f"not compared  {TITLES[part]}: {why}" for part, why in diff.missing]
    return "\n".join(_cut(line) for line in lines)


def _rows(part: str, rows: list[Change]) -> Iterator[str]:
    seen = [row for row in rows if _is_seen(row)]
    for row in seen[:_ROWS]:
        if part == "kernels":
            ids = f"{row.id_a or ABSENT} → {row.id_b or ABSENT}"
            yield f"  {CHANGES[row.change]}: {ids}  {row.item}{f': {row.note}' if row.note else ''}"
        else:
            yield f"  {CHANGES[row.change]}: {row.item}  {difference_text(row)}"
    if len(rows) > len(seen[:_ROWS]):
        yield f"  {len(rows) - len(seen[:_ROWS])} more in .frame({part!r})"


def _is_seen(row: Change) -> bool:
    """Whether three digits show the difference."""
    return value_text(row, row.a) != value_text(row, row.b) or row.part == "kernels"


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def frame(diff: Diff, part: str | None) -> pandas.DataFrame:
    """See `Diff.frame`."""
    if part is not None and part not in PARTS:
        raise UsageError(f"There is no part {part!r}. Take one of: {', '.join(PARTS)}.")
    rows = [change for change in diff.changes if part in (None, change.part)]
    columns = [column.name for column in fields(Change)]
    return pandas.DataFrame({name: [getattr(row, name) for row in rows] for name in columns})
