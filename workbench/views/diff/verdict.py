"""The first sentence of a difference: what got better or worse, or that the code is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.analysis.cost.costs import list_costs
from workbench.analysis.diff.difference import Diff
from workbench.analysis.diff.report_comparison import is_same_code
from workbench.analysis.forecast.forecast import Forecast, find_forecast
from workbench.analysis.fusion.traffic import count_moved_bytes, sum_known
from workbench.analysis.memory.memory import count_quick_memory
from workbench.number_text import count_text, format_bytes, format_percent, format_us, join_words
from workbench.report import Report
from workbench.report.measures import count_guards

_LEAST = 0.005  # of a figure: less is rounding
_COUNTS = ("graph breaks", "recompiles", "kernels", "guards")
_SHOWN = 4


@dataclass(frozen=True)
class Figure:
    """A figure of both compilations; less is better."""

    name: str
    a: float
    b: float

    @property
    def is_equal(self) -> bool:
        """Whether nothing that counts is between the two."""
        is_count = self.name in _COUNTS
        return self.a == self.b if is_count else abs(self.b - self.a) <= _LEAST * abs(self.a)

    @property
    def text(self) -> str:
        """`kernels 5 → 3`, `DRAM traffic 1.2 MB → 1.0 MB (−17 %)`."""
        if self.name in _COUNTS:
            return f"{self.name} {count_text(self.a)} → {count_text(self.b)}"
        is_time = self.name.endswith("time")
        a, b = (format_us(v) if is_time else format_bytes(v) for v in (self.a, self.b))
        share = "" if not self.a else f" ({format_percent(self.b - self.a, self.a)})"
        return f"{self.name} {a} → {b}{share if self.b < self.a else share.replace('(', '(+')}"


def tell_verdict(diff: Diff) -> str:
    """What is better or worse in the second; where only the first says it, neither is judged."""
    a, b = diff.a, diff.b
    if not (a.outcome.ok and b.outcome.ok):
        return _tell_failure(a, b)
    figures = list(list_figures(a, b))
    differ = [figure for figure in figures if not figure.is_equal]
    is_one_code = is_same_code(a, b)
    if diff.is_same:
        most = "only measured times may differ."
        return f"Both generate the same code: {most}" if is_one_code else most.capitalize()
    if is_one_code:
        others = [figure.text for figure in differ]
        return f"Both generate the same code{f'; {join_words(others)}' if others else ''}."
    names = [figure.name for figure in figures]
    if not differ:
        if not figures:
            return "The reports have no figures in common, so there is no verdict."
        return f"Neither is better: the differences do not affect {_join(names, 'or')}."
    less = [figure.text for figure in differ if figure.b < figure.a]
    more = [figure.text for figure in differ if figure.b > figure.a]
    # other inputs, or another program, are more or less work: neither is better for that
    words = ("Better", "worse") if _is_one_task(a, b) else ("Less", "more")
    if less and more:
        return f"{words[0]} in b: {_some(less)}; {words[1]}: {_some(more)}."
    word = words[0] if less else words[1].capitalize()
    return f"{word} in b: {_some(less or more)}."


def _tell_failure(a: Report, b: Report) -> str:
    if a.outcome.ok:
        return f"b {b.outcome.clause}{b.outcome.place}; a compiled."
    if b.outcome.ok:
        return f"b compiled; a {a.outcome.clause}{a.outcome.place}."
    return "Neither compiled."


def _is_one_task(a: Report, b: Report) -> bool:
    """Whether both compile the same program, with or without gradients, for the same call."""
    one, other = ((of.name, of.inputs, of.target, of.grad) for of in (a.request, b.request))
    return one == other


def list_figures(a: Report, b: Report) -> Iterator[Figure]:
    """What both reports have a figure of, the most important first."""
    yield Figure("graph breaks", len(a.breaks), len(b.breaks))
    if len(a.recompiles) or len(b.recompiles):
        yield Figure("recompiles", len(a.recompiles), len(b.recompiles))
    yield from _times(a, b)
    if len(a.kernels) and len(b.kernels):
        yield Figure("kernels", len(a.kernels), len(b.kernels))
        moved = [sum_known(map(count_moved_bytes, report.kernels)) for report in (a, b)]
        if moved[0] is not None and moved[1] is not None:
            yield Figure("DRAM traffic", moved[0], moved[1])
    peaks = [usage.peak if (usage := count_quick_memory(r)) else None for r in (a, b)]
    if peaks[0] and peaks[1]:
        yield Figure("peak memory", peaks[0], peaks[1])
    if len(a.guards) or len(b.guards):
        kept = [count_guards(guard.kept for guard in report.guards).kept for report in (a, b)]
        yield Figure("guards", *kept)


def _times(a: Report, b: Report) -> Iterator[Figure]:
    """The modelled time where the intervals lie apart, else the roofline of the kernels."""
    one, other = find_forecast(a), find_forecast(b)
    if one is not None and other is not None:
        if _is_apart(one, other):
            yield Figure("modelled time", one.call_us, other.call_us)
        return
    totals = [
        next((cost.total for cost in list_costs(report) if cost.kind == "bound"), None)
        for report in (a, b)
    ]
    if totals[0] is not None and totals[1] is not None:
        yield Figure("roofline time", totals[0], totals[1])


def _is_apart(one: Forecast, other: Forecast) -> bool:
    """Whether the intervals of two forecasts have nothing in common; unknown ends are open."""
    if not (one.most_us and other.most_us):
        return False
    return one.most_us < other.least_us or other.most_us < one.least_us


def _some(texts: list[str]) -> str:
    shown, more = texts[:_SHOWN], len(texts) - _SHOWN
    return join_words([*shown, f"{more} more"] if more > 0 else shown)


def _join(names: list[str], word: str) -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
