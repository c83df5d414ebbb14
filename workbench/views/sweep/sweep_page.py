"""A sweep as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import UsageError
from workbench.settings import Embed
from workbench.views.answers.rivals_answer import codes, sentence
from workbench.views.pages.interactive import interactive
from workbench.views.static_html import render
from workbench.views.static_html.grids import grid
from workbench.views.static_html.row_limits import Limits
from workbench.views.sweep.frame import choices, report_of
from workbench.views.sweep.sweep_charts import plot
from workbench.views.sweep.sweep_document import document
from workbench.views.tables.column import Column
from workbench.views.wire.codec import SMALL, pack
from workbench.views.wire.sweep_messages import SweepDocument, SweepRow
from workbench.views.words.units import format_us

_CHOICES = (
    Column("Operation", "op", "code"),
    Column("Choice", "choice", "code"),
    Column("Kind", "kind"),
    Column("Time", "time", "right"),
    Column("Against the best", "against_best", "ratio"),
    Column("Verdict", "verdict"),
)
_Inside = tuple[str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""A title, the choices of a row, its winners beside the runners-up."""
_PAIRS = 3
_CHARTS = ("pareto", "heat", "parallel", "distribution")


def page(sweep: Sweep, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the table and the charts stand below one another as plain HTML.
    """
    shown = document(sweep)
    static = render.body("sweep", partial(_view, shown, list(_charts(sweep)), _inside(sweep)))
    view = interactive(static, pack({"sweep": shown}, SMALL), kind="page", carries_bundle=True)
    return render.page(f"Sweep of {sweep.name}", view, path, has_view=True)


def saved(sweep: Sweep, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    shown = document(sweep)
    if embed == "none":
        return _summary(shown)
    record = pack({"sweep": shown}, SMALL)
    return interactive(_summary(shown), record, kind="saved", carries_bundle=carries_bundle)


def fragment(sweep: Sweep) -> str:
    """The answer and the table, for a notebook; it needs no style sheet."""
    return _summary(document(sweep))


def _summary(shown: SweepDocument) -> str:
    return render.summary("sweep", partial(_view, shown, [], None))


def _charts(sweep: Sweep) -> Iterator[dict[str, str]]:
    """The charts as addresses of pictures; those for which nothing was measured are left out."""
    for chart in _CHARTS:
        try:
            figure = plot(sweep, chart)
        except UsageError:  # what the table says already
            continue
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
        address = f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
        yield {"name": chart, "address": address}


def _inside(sweep: Sweep) -> _Inside | None:
    """The choices of the best row that has any, its winners beside the runners-up."""
    ordered = sorted(sweep.trials, key=lambda t: (-(t.speedup or 0.0), t.call_us or 0.0))
    for trial in ordered:
        report = report_of(sweep, trial)
        if report is not None and (len(report.autotune) or len(report.ranked_configs)):
            rows = [_choice(row) for row in choices(sweep, [trial]).to_dict("records")]
            pairs = [
                {"sentence": sentence(found), "codes": codes(found)}
                for found in report.rivals()[:_PAIRS]
            ]
            return f"Inside of the kernels of {trial.title}", rows, pairs
    return None


def _choice(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A choice with its time in words; what is missing in a DataFrame is not a number."""
    time, ratio = row["time_us"], row["against_best"]
    words = format_us(time) if isinstance(time, float) and time == time else None
    if words is not None and row["is_model"]:
        words += " (model)"
    return {
        **row,
        "time": words,
        "against_best": ratio if isinstance(ratio, float) and ratio == ratio else None,
        "verdict": "chosen" if row["chosen"] else row["why"] or "",
    }


def _view(
    shown: SweepDocument, charts: list[dict[str, str]], inside: _Inside | None, limits: Limits
) -> dict[str, Any]:
    title, rows, pairs = inside or ("", (), ())
    return {
        "doc": shown,
        "settings": _settings(shown, limits),
        "charts": charts,
        "choices": grid(title, _CHOICES, rows, limits, call=".choices()"),
        "pairs": pairs,
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
