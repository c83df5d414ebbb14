"""A sweep as HTML: the answer, the table, the charts."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.report.sweep import Sweep
from workbench.report.trials import Trial
from workbench.views.plain_page import MOST, document
from workbench.views.sweep.figures import plot, words_of
from workbench.views.units import plural, seconds_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = (
    ("speedup", "Speed-up"),
    ("call_us", "Call"),
    ("compile_s", "Compile"),
    ("first_call_s", "First call"),
    ("peak_bytes", "Peak memory"),
    ("kernels", "Kernels"),
    ("dram_bytes", "DRAM traffic"),
    ("artifact_bytes", "Artifact"),
)
_NUMBER = 'style="padding: 3px 10px; text-align: right"'
_TEXT = 'style="padding: 3px 10px; text-align: left"'


def page(sweep: Sweep, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given."""
    charts = "".join(_chart(sweep, chart) for chart in ("pareto", "heat", "parallel"))
    rounds = _chart(sweep, "distribution")
    text = document(
        f"Sweep of {sweep.name}",
        f"<h1>Sweep of {escape(sweep.name)}</h1>{_head(sweep)}{_answer(sweep)}"
        f"<h2>Settings</h2>{_table(sweep)}{charts}{rounds}",
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def fragment(sweep: Sweep) -> str:
    """The answer and the table, for a notebook; it needs no style sheet."""
    return f"<div><b>{escape(sweep.name)}</b>{_head(sweep)}{_answer(sweep)}{_table(sweep)}</div>"


def _head(sweep: Sweep) -> str:
    known = f", {sweep.from_store} from the store" if sweep.from_store else ""
    machines = sorted({trial.machine for trial in sweep.trials if trial.machine})
    words = [f"{plural(len(sweep.trials), 'setting')} in {seconds_text(sweep.seconds)}{known}."]
    words += [f"Measured on {', '.join(machines)}."] if machines else []
    return "".join(f"<p>{escape(word)}</p>" for word in (*words, *sweep.notes))


def _answer(sweep: Sweep) -> str:
    try:
        found = sweep.best()
    except UsageError as error:
        return f"<p>{escape(str(error))}</p>"
    return f"<p><b>{escape(found.sentence)}</b></p><pre>{escape(found.code)}</pre>"


def _table(sweep: Sweep) -> str:
    names = [*sweep.axes, *(title for _, title in _SHOWN)]
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
        f"<td {_NUMBER}>{escape(words_of(name, getattr(trial, name)))}</td>" for name, _ in _SHOWN
    )
    return f'<tr>{cells}<td class="text" {_TEXT}>{escape("; ".join(_remarks(trial)))}</td></tr>'


def _remarks(trial: Trial) -> Iterator[str]:
    if trial.status != "done":
        yield f"{trial.status}: {trial.reason}" if trial.reason else trial.status
    if trial.is_model:
        yield "a model's figure, nothing was run"
    if trial.warning:
        yield trial.warning


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
