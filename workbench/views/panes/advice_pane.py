"""What to do next, on the overview: at most five opportunities, with those that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from statistics import median, quantiles

from workbench.analysis.opportunities.opportunity import SURE, Opportunity, Tried
from workbench.analysis.opportunities.rules import opportunities
from workbench.report import Report
from workbench.report.paired import PairedTimes
from workbench.views.answers.alternatives_text import (
    format_prediction,
    format_saved,
    format_shortest_saving,
    name_stream_verdict,
    nothing,
    saving,
)
from workbench.views.panes.pane import ViewContext
from workbench.views.wire import advice_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.words.units import format_bytes, format_us

MOST = 5


def advice(report: Report, context: ViewContext) -> wire.Advice:
    """The opportunities that save most."""
    changes = opportunities(report)
    where = f"{report.request.name or 'this compilation'} on {report.request.target}"
    return {
        "rows": [_row(each, context) for each in changes[:MOST]],
        "more": max(len(changes) - MOST, 0),
        "none": nothing(where, report) if report.outcome.ok else "",
    }


def _row(change: Opportunity, context: ViewContext) -> wire.Opportunity:
    tried = context.tried.get(change.key)
    file = None if change.file is None else PurePath(change.file).name
    return convert_row(
        wire.Opportunity,
        change,
        saving=sentence(f"{saving(change)}"),
        short=format_shortest_saving(change),
        predicted_us=change.predicted_us,
        predicted_by=format_prediction(change),
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
        "rows": list(_figures(tried)),
        "times": None if tried.times is None else convert_pairs(tried.times),
        "saved": format_saved(tried),
        "agrees": tried.agrees,
        "checked": tried.checked,
        "part": f"tried:{change.id}",
    }


def convert_pairs(times: PairedTimes) -> wire.TimedPairs:
    """The pairs as a view draws them, with the verdict that they allow."""
    saved = times.saved_us if len(times) else None
    return {
        "before": _runs(times.before_us),
        "after": _runs(times.after_us),
        "saved_us": None if saved is None else (saved.low, saved.median, saved.high),
        "faster": times.faster,
        "slower": times.slower,
        "disturbed": times.disturbed,
        "verdict": times.verdict,
        "doubt": times.doubt,
        "sentence": times.sentence,
    }


def _runs(runs_us: Sequence[float]) -> wire.TimedRuns | None:
    if not runs_us:
        return None
    low, middle, high = quantiles(runs_us, n=4) if len(runs_us) > 1 else (runs_us[0],) * 3
    return {
        "runs_us": [shorten(run) for run in runs_us],
        "minimum_us": min(runs_us),
        "median_us": middle,
        "middle_us": (low, high),
    }


def _figures(tried: Tried) -> Iterator[tuple[str, str, str]]:
    """Each figure that both have: its name, before, after."""
    before, after = tried.before, tried.after
    if before.breaks or after.breaks:
        yield "Graph breaks, counted", str(before.breaks), str(after.breaks)
    yield "Kernels, counted", str(before.kernels), str(after.kernels)
    if before.bytes is not None and after.bytes is not None:
        yield "Traffic, counted", format_bytes(before.bytes), format_bytes(after.bytes)
    if before.bound_us is not None and after.bound_us is not None:
        yield "Bound, by the roofline", format_us(before.bound_us), format_us(after.bound_us)
    if tried.streams is not None:
        old, new = tried.streams.before, tried.streams.after
        words = f"Call with collectives, modelled: {name_stream_verdict(tried.streams)}"
        yield words, format_us(old.whole_us), format_us(new.whole_us)
        yield "Kernels wait for it, modelled", format_us(old.exposed_us), format_us(new.exposed_us)
    if tried.times is not None and len(tried.times):
        first, second = tried.times.before_us, tried.times.after_us
        yield "Call, shortest of the pairs", format_us(min(first)), format_us(min(second))
        yield "Call, median of the pairs", format_us(median(first)), format_us(median(second))
