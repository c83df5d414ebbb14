"""A difference as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from typing import Any

from workbench.analysis.diff.difference import Diff
from workbench.report.side_by_side import sign_lines, split_hunks
from workbench.settings import Embed
from workbench.views.diff.diff_document import document, title
from workbench.views.pages.interactive import interactive
from workbench.views.static_html import render
from workbench.views.static_html.grids import grid, write_frame_call
from workbench.views.static_html.row_limits import PAGE, Limits
from workbench.views.tables.column import Column
from workbench.views.wire.codec import SMALL, pack
from workbench.views.wire.diff_messages import DiffDocument, DiffKernels, DiffLine, DiffPart
from workbench.views.words.units import ABSENT, plural

_COLUMNS = (
    Column("", "change"),
    Column("Item", "item", "code"),
    Column("a", "a"),
    Column("b", "b"),
    Column("", "delta", "right"),
    Column("", "notes", "prose"),
)
_CONTEXT = 3


def page(diff: Diff, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the same parts stand below one another as plain HTML.
    """
    shown = document(diff)
    static, record = render.body("diff", partial(_view, shown)), pack({"diff": shown}, SMALL)
    view = interactive(static, record, kind="page", carries_bundle=True)
    return render.page(title(diff.a, diff.b), view, path, has_view=True)


def saved(diff: Diff, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive.

    Without `carries_bundle` another output of the notebook has to carry the front end.
    """
    shown = document(diff)
    if embed != "full":
        return _summary(shown)
    record = pack({"diff": shown}, SMALL)
    return interactive(_summary(shown), record, kind="saved", carries_bundle=carries_bundle)


def fragment(diff: Diff) -> str:
    """At most 10 kB without script or style sheet, readable in a notebook that is not trusted."""
    return _summary(document(diff))


def _summary(shown: DiffDocument) -> str:
    return render.summary("diff", partial(_view, shown))


def _view(shown: DiffDocument, limits: Limits) -> dict[str, Any]:
    kernels = [kernel for kernel in shown["kernels"] if kernel["relation"] != "same"]
    is_page = limits is PAGE
    count = len(kernels) if is_page else limits.rows
    return {
        "doc": shown,
        "parts": [_part(part, limits) for part in shown["parts"] if part["differ"]],
        "kernels": list(_kernels(kernels[:count], None if is_page else limits.lines)),
        "kernels_left": max(len(kernels) - count, 0),
        "alike": _alike(shown),
    }


def _part(part: DiffPart, limits: Limits) -> dict[str, Any]:
    rows = [
        {**row, "notes": " · ".join(filter(None, (row["where"], row["note"])))}
        for row in part["rows"]
    ]
    call = write_frame_call("diff", part["id"])
    more = part["differ"] - len(rows)
    counted = f"{part['differ']} differ, {part['same']} the same"
    if part["is_measured"]:
        counted = f"{plural(part['differ'], 'number')}, different in every run"
    is_kernels = part["id"] == "kernels"
    made = grid("", _COLUMNS, rows, limits, call=call, omitted=more)
    return {**part, "counted": counted, "grid": None if is_kernels else made}


def _kernels(kernels: Sequence[DiffKernels], left: int | None) -> Iterator[dict[str, Any]]:
    """The kernels with the lines that differ, `left` of them in all."""
    for kernel in kernels:
        lines = list(unified(kernel["source"]))
        if left is not None:
            lines, left = lines[:left], max(left - len(lines), 0)
        ids = " → ".join(
            ", ".join(name.partition(" ")[0] for name in names) or ABSENT
            for names in (kernel["a"], kernel["b"])
        )
        yield {
            "title": f"{ids} {kernel['title']}",
            "facts": " · ".join((kernel["relation"], *kernel["facts"])),
            "lines": lines,
        }


def _alike(shown: DiffDocument) -> str:
    alike = [p["title"] for p in shown["parts"] if p["same"] and not p["differ"]]
    missing = [f"{p['title']} ({p['missing']})" for p in shown["parts"] if p["missing"]]
    words = f"The same in both: {', '.join(alike)}." if alike else ""
    return words + (f" Not compared: {'; '.join(missing)}." if missing else "")


def unified(source: Sequence[DiffLine]) -> Iterator[str]:
    """The lines that differ with three equal ones around them; `@@` where equal ones are left out.

    Where only one side has a source, all of it.
    """
    for near in split_hunks([line["kind"] for line in source], _CONTEXT):
        run = source[near.start : near.stop]
        if near.start:
            yield f"@@ {run[0]['left'] or ABSENT}, {run[0]['right'] or ABSENT}"
        yield from sign_lines((line["kind"], line["before"], line["after"]) for line in run)
