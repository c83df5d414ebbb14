"""A sweep where no script runs: the answer, the settings, charts, what was tried in kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.views.static_html import render
from workbench.views.static_html.grids import Column, grid
from workbench.views.static_html.limits import Limits
from workbench.views.wire.sweep import SweepDocument, SweepRow

_CHOICES = (
    Column("Operation", "op", "code"),
    Column("Choice", "choice", "code"),
    Column("Kind", "kind"),
    Column("Time", "time", "right"),
    Column("Against the best", "against_best", "ratio"),
    Column("Verdict", "verdict"),
)


@dataclass(frozen=True)
class Inside:
    """What was tried inside of the kernels of one row: choices, winners beside runners-up."""

    row: str
    choices: Sequence[Mapping[str, Any]]
    pairs: Sequence[Mapping[str, Any]]


def summary(shown: SweepDocument) -> str:
    """What a notebook keeps: at most 10 kB."""
    return render.summary("sweep", partial(_view, shown, {}, None))


def body(shown: SweepDocument, charts: Mapping[str, str], inside: Inside | None) -> str:
    """The body of a page; `charts` are addresses of pictures by name."""
    return render.body("sweep", partial(_view, shown, charts, inside))


def _view(
    shown: SweepDocument, charts: Mapping[str, str], inside: Inside | None, limits: Limits
) -> dict[str, Any]:
    choices = None
    if inside is not None:
        title = f"Inside of the kernels of {inside.row}"
        choices = grid(title, _CHOICES, inside.choices, limits, call=".choices()")
    return {
        "doc": shown,
        "settings": _settings(shown, limits),
        "charts": [{"name": name, "address": address} for name, address in charts.items()],
        "choices": choices,
        "pairs": inside.pairs if inside is not None else (),
    }


def _settings(shown: SweepDocument, limits: Limits) -> Any:
    columns = [
        *(Column(axis["name"], f"axis{n}", "right") for n, axis in enumerate(shown["axes"])),
        *(Column(f["title"], f"figure{n}", "right") for n, f in enumerate(shown["figures"])),
        Column("Remark", "remark", "prose"),
    ]
    place = [figure["id"] for figure in shown["figures"]].index("speedup")
    ordered = sorted(shown["rows"], key=lambda row: -(row["figures"][place] or 0.0))
    rows = [_row(row) for row in ordered]
    return grid("Settings", columns, rows, limits, call=".frame()", omitted=shown["more"])


def _row(row: SweepRow) -> dict[str, Any]:
    axes = {f"axis{n}": value or "–" for n, value in enumerate(row["settings"])}
    return {**axes, **{f"figure{n}": w for n, w in enumerate(row["words"])}, **row}
