"""A difference as stable text without times, and as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from workbench.analysis.diff.difference import MEASURED, PARTS, Change, Diff
from workbench.errors import UsageError
from workbench.number_text import ABSENT
from workbench.report.presenter import presenter
from workbench.views.diff.diff_page import build_blocks
from workbench.views.diff.sentences import (
    CHANGES,
    TITLES,
    describe_side,
    difference_text,
    sentences,
    value_text,
)
from workbench.views.kit.shown import Shown
from workbench.views.words.record_words import short

if TYPE_CHECKING:
    import anywidget
    import pandas

_ROWS = 4
_WIDTH = 100
_IN_SENTENCES = ("outcome", "request", "nodes", "graphs")  # rows that add little to the sentences


def text(diff: Diff) -> str:
    """The difference in a few dozen lines of at most 100 columns; measured times left out."""
    lines = [f"Diff({diff.names[0]} → {diff.names[1]})"]
    lines += [
        f"  {side}: {describe_side(report)}" for side, report in (("a", diff.a), ("b", diff.b))
    ]
    for sentence in sentences(diff):
        if not sentence.is_measured:
            lines += wrap(
                sentence.text,
                _WIDTH,
                initial_indent="- ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
    same = dict(diff.same)
    for part in PARTS:
        rows = [change for change in diff.changes if change.part == part]
        if rows and part not in MEASURED:
            lines.append(f"{TITLES[part]}: {len(rows)} differ, {same.get(part, 0)} the same")
            if part not in _IN_SENTENCES:
                lines += _rows(part, rows)
    lines += [f"not compared  {TITLES[part]}: {why}" for part, why in diff.missing]
    return "\n".join(short(line, _WIDTH) for line in lines)


def _rows(part: str, rows: list[Change]) -> Iterator[str]:
    # those whose difference three digits show
    visible = [r for r in rows if part == "kernels" or value_text(r, r.a) != value_text(r, r.b)]
    for row in visible[:_ROWS]:
        if part == "kernels":
            ids = f"{row.id_a or ABSENT} → {row.id_b or ABSENT}"
            yield f"  {CHANGES[row.change]}: {ids}  {row.item}{f': {row.note}' if row.note else ''}"
        else:
            yield f"  {CHANGES[row.change]}: {row.item}  {difference_text(row)}"
    if len(rows) > len(visible[:_ROWS]):
        yield f"  {len(rows) - len(visible[:_ROWS])} more in .frame({part!r})"


def list_sentences(diff: Diff) -> tuple[str, ...]:
    """What matters most, the most important first."""
    return tuple(sentence.text for sentence in sentences(diff))


def frame(diff: Diff, part: str | None) -> pandas.DataFrame:
    """See `Diff.frame`."""
    if part is not None and part not in PARTS:
        raise UsageError(f"Unknown part {part!r}. Choose one of: {', '.join(PARTS)}.")
    rows = [change for change in diff.changes if part in (None, change.part)]
    return presenter().rows_frame(rows, Change)


def _view(diff: Diff) -> anywidget.AnyWidget:
    from workbench.views.diff.diff_view import DiffView

    return DiffView(diff)


SHOWN = {
    "Diff": Shown(
        document=build_blocks, text=text, sentences=list_sentences, frame=frame, view=_view
    )
}
