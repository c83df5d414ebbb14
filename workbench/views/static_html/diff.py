"""Two compilations compared, where no script runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from workbench.views.static_html import render
from workbench.views.static_html.grids import Column, frame_call, grid
from workbench.views.static_html.limits import PAGE, Limits
from workbench.views.wire.diff import DiffDocument, DiffKernels, DiffLine, DiffPart
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


def summary(shown: DiffDocument) -> str:
    """What a notebook keeps: at most 10 kB."""
    return render.summary("diff", partial(_view, shown))


def body(shown: DiffDocument) -> str:
    """The body of a page."""
    return render.body("diff", partial(_view, shown))


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
    call = frame_call("diff", part["id"])
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
    near: set[int] = set()
    for n, line in enumerate(source):
        if line["kind"] != "same":
            near.update(range(n - _CONTEXT, n + _CONTEXT + 1))
    added: list[str] = []
    last = -1
    for n, line in enumerate(source):
        if n not in near:
            continue
        if line["kind"] == "same" and added:
            yield from added
            added = []
        if n > last + 1:
            yield f"@@ {line['left'] or ABSENT}, {line['right'] or ABSENT}"
        last = n
        if line["kind"] == "same":
            yield f" {line['before']}"
            continue
        if line["before"] is not None:
            yield f"-{line['before']}"
        if line["after"] is not None:
            added.append(f"+{line['after']}")
    yield from added
