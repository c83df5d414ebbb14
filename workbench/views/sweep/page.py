"""A sweep as HTML: the answer, the table, the charts."""

from __future__ import annotations

import io
from base64 import b64encode
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.settings import Embed
from workbench.views.interactive import interactive
from workbench.views.outputs import output
from workbench.views.plain_page import MOST, document
from workbench.views.sweep.document import document as shown
from workbench.views.sweep.figures import plot, words_of
from workbench.views.sweep.kernels import section
from workbench.views.sweep.words import SHOWN, facts, remarks
from workbench.views.wire_codec import SMALL, pack

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBER = 'style="padding: 3px 10px; text-align: right"'
_TEXT = 'style="padding: 3px 10px; text-align: left"'


def page(sweep: Sweep, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the table and the charts stand below one another as plain HTML.
    """
    charts = "".join(_chart(sweep, chart) for chart in ("pareto", "heat", "parallel"))
    rounds = _chart(sweep, "distribution")
    summary = (
        f"<header><h1>Sweep of {escape(sweep.name)}</h1></header><main>{_head(sweep)}"
        f"{_answer(sweep)}<h2>Settings</h2>{_table(sweep)}{charts}{rounds}"
        f"{section(sweep)}</main>"
    )
    record = pack({"sweep": shown(sweep)}, SMALL)
    view = interactive(summary, record, kind="page", carries_bundle=True)
    text = document(f"Sweep of {sweep.name}", view, has_view=True)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def saved(sweep: Sweep, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    summary = fragment(sweep)
    if embed == "none":
        return summary
    record = pack({"sweep": shown(sweep)}, SMALL)
    return interactive(summary, record, kind="saved", carries_bundle=carries_bundle)


def fragment(sweep: Sweep) -> str:
    """The answer and the table, for a notebook; it needs no style sheet."""
    return output(f"<b>{escape(sweep.name)}</b>{_head(sweep)}{_answer(sweep)}{_table(sweep)}")


def _head(sweep: Sweep) -> str:
    return "".join(f"<p>{escape(word)}</p>" for word in (facts(sweep), *sweep.notes))


def _answer(sweep: Sweep) -> str:
    try:
        found = sweep.best()
    except UsageError as error:
        return f"<p>{escape(str(error))}</p>"
    return f"<p><b>{escape(found.sentence)}</b></p><pre>{escape(found.code)}</pre>"


def _table(sweep: Sweep) -> str:
    names = [*sweep.axes, *(title for _, title in SHOWN)]
    head = "".join(f'<th scope="col" {_NUMBER}>{escape(name)}</th>' for name in names)
    ordered = sorted(sweep.trials, key=_order)
    body = "".join(_row(sweep, trial) for trial in ordered[:MOST])
    rest = len(ordered) - MOST
    more = f"<p>{rest} more in .frame()</p>" if rest > 0 else ""
    return (
        f'<div class="scroll"><table><thead><tr>{head}<th scope="col" {_TEXT}>Remark</th></tr>'
        f"</thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _order(trial: Trial) -> tuple[bool, float]:
    """The fastest first, what has no time last."""
    return trial.call_us is None, -(trial.speedup or 0.0) or (trial.call_us or 0.0)


def _row(sweep: Sweep, trial: Trial) -> str:
    settings = dict(trial.settings)
    cells = "".join(f"<td {_NUMBER}>{escape(settings.get(n, '–'))}</td>" for n in sweep.axes)
    cells += "".join(
        f"<td {_NUMBER}>{escape(words_of(name, getattr(trial, name)))}</td>" for name, _ in SHOWN
    )
    return f'<tr>{cells}<td class="text" {_TEXT}>{escape("; ".join(remarks(trial)))}</td></tr>'


def _chart(sweep: Sweep, chart: str) -> str:
    try:
        figure = plot(sweep, chart)
    except UsageError:  # what the table says already: nothing was measured
        return ""
    return f'<p><img alt="{chart} chart" style="max-width: 100%" src="{_address(figure)}"></p>'


def _address(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
