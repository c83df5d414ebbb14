"""What to do next, on the overview: at most five opportunities, with those that were tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from workbench.analysis.opportunities.opportunity import SURE, Cost, Opportunity, Tried
from workbench.analysis.opportunities.rules import opportunities
from workbench.report import Report
from workbench.views.answers.alternatives_text import (
    format_saved,
    format_shortest_saving,
    nothing,
    saving,
)
from workbench.views.panes.pane import ViewContext
from workbench.views.wire import advice_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.words.units import format_bytes, format_us

MOST = 5


def advice(report: Report, context: ViewContext) -> wire.Advice:
    """The opportunities that save most."""
    changes = opportunities(report)
    where = f"{report.request.name or 'this compilation'} on {report.request.target}"
    return {
        "rows": [_row(each, context) for each in changes[:MOST]],
        "more": max(len(changes) - MOST, 0),
        "none": nothing(where) if report.outcome.ok else "",
    }


def _row(change: Opportunity, context: ViewContext) -> wire.Opportunity:
    tried = context.tried.get(change.key)
    file = None if change.file is None else PurePath(change.file).name
    return convert_row(
        wire.Opportunity,
        change,
        saving=sentence(f"{saving(change)}"),
        short=format_shortest_saving(change),
        source=sentence(change.source),
        sure_words=f"{sentence(change.sure, '')}: {SURE[change.sure]}",
        place=file if change.line is None else f"{file}:{change.line}",
        action=change.action if change.settings else None,
        why_not=change.why_not or context.why_not["try"],
        tried=None if tried is None else _tried(change, tried),
    )


def sentence(text: str, end: str = ".") -> str:
    """Words as a sentence."""
    return f"{text[:1].upper()}{text[1:]}{end}"


def _tried(change: Opportunity, tried: Tried) -> wire.TriedChange:
    return {
        "rows": list(_figures(tried.before, tried.after)),
        "saved": format_saved(tried),
        "agrees": tried.agrees,
        "checked": tried.checked,
        "part": f"tried:{change.id}",
    }


def _figures(before: Cost, after: Cost) -> Iterator[tuple[str, str, str]]:
    """Each figure that both have: its name, before, after."""
    if before.breaks or after.breaks:
        yield "Graph breaks, counted", str(before.breaks), str(after.breaks)
    yield "Kernels, counted", str(before.kernels), str(after.kernels)
    if before.bytes is not None and after.bytes is not None:
        yield "Traffic, counted", format_bytes(before.bytes), format_bytes(after.bytes)
    if before.bound_us is not None and after.bound_us is not None:
        yield "Bound, by the roofline", format_us(before.bound_us), format_us(after.bound_us)
    if before.call_us is not None and after.call_us is not None:
        yield "Call, measured in turn", format_us(before.call_us), format_us(after.call_us)
