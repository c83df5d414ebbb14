"""Activation memory budgets of a training step: saved bytes, recomputation and peak of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.memory.timeline import is_on_cpu
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.memory_rows import RecomputedNode
from workbench.report.presenter import Presented, presenter
from workbench.specs import Gpu

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


PREVIEW_ERROR = (-0.24, 0.11)
"""The error of previews for six budgets of ten steps: tests/training_steps.py.

Previews are not smoothed to fall with the budget, since measured peaks do not: each of three steps
holds more at some smaller budget.
"""


@dataclass(frozen=True)
class BudgetPoint:
    """One activation memory budget of a training step.

    `saved_bytes` are counted by partitioning the joint graph, `flops` of the recomputation by
    torch's formulas. `least_us` and `most_us` are modelled: matmuls, convolutions and attention at
    the full rates of the GPU, and the operators one by one with their traffic. They are None on the
    host; `most_us` is None where data decide a size. `unsized` counts tensors and operators with
    such a size: they are in no sum.

    `peak_bytes` is that of the compiled program, None until the budget was compiled.
    `preview_bytes` is modelled: the peak of the step's own budget, plus the difference of both
    budgets in a walk over the operators; None in older reports. The peak is between `least_bytes`
    and `most_bytes`, by the model's error on ten steps. `why_not` has the reason why a budget must
    not be used. `checked` names the reference for the gradients of the compiled program. Both are
    empty if there is nothing to say.
    """

    budget: float
    saved_bytes: int
    saved_tensors: int
    recomputed: int
    flops: int
    least_us: float | None
    most_us: float | None
    unsized: int = 0
    peak_bytes: int | None = None
    preview_bytes: int | None = None
    why_not: str = ""
    checked: str = ""

    @property
    def least_bytes(self) -> int | None:
        """The lowest possible peak by the preview; once compiled, the peak of the program."""
        return self._bound(1 + PREVIEW_ERROR[1])

    @property
    def most_bytes(self) -> int | None:
        """The highest possible peak by the preview; once compiled, the peak of the program."""
        return self._bound(1 + PREVIEW_ERROR[0])

    def _bound(self, share: float) -> int | None:
        if self.peak_bytes is not None or self.preview_bytes is None:
            return self.peak_bytes
        return round(self.preview_bytes / share)


@dataclass(frozen=True, repr=False)
class Budgets(Presented):
    """Hold the analysed budgets of a training step, the largest first; `own` is its own.

    `roofline_of` is the GPU whose roofline selected the saved activations; None: torch's own
    choice.
    """

    name: str
    own: float
    points: tuple[BudgetPoint, ...]
    recomputed: tuple[RecomputedNode, ...]
    roofline_of: str | None = None

    @checked
    def at(self, budget: float) -> BudgetPoint:
        """Return one of them; raises `UsageError` for a budget that was not analysed."""
        for point in self.points:
            if point.budget == budget:
                return point
        budgets = ", ".join(f"{point.budget:g}" for point in self.points)
        raise UsageError(f"Budget {budget!r} was not analysed; choose one of {budgets}.")

    @property
    def best(self) -> BudgetPoint:
        """The lowest peak of the compiled budgets; for equal peaks the largest budget.

        Budgets that must not be used are left out. If nothing else is known, it is the own budget.
        """
        compiled = [p for p in self.points if p.peak_bytes is not None and not p.why_not]
        own = self.at(self.own)
        return min(compiled, key=lambda point: (point.peak_bytes or 0, -point.budget), default=own)

    @property
    def promising(self) -> tuple[BudgetPoint, ...]:
        """Budgets that are not compiled and certainly have a lower peak than `best`.

        It is empty if the error of the preview leaves open which peak is lower.
        """
        most = self.best.peak_bytes or 0
        open_ = (p for p in self.points if p.peak_bytes is None and not p.why_not)
        return tuple(point for point in open_ if 0 < (point.most_bytes or 0) < most)

    @property
    def _next(self) -> str:
        """What to compile next, as the end of a sentence."""
        low, high = (f"{abs(error):.0%}" for error in PREVIEW_ERROR)
        if self.promising:
            first = self.promising[0]
            sizes = (number_text(size, "bytes") for size in (first.least_bytes, first.most_bytes))
            return (
                f". Try .at({first.budget:g}): its previewed peak is {' to '.join(sizes)} (preview "
                f"error on ten steps: −{low} to +{high})."
            )
        others = [p for p in self.points if p.peak_bytes is None and not p.why_not]
        if not others:
            return "."
        middle = min(others, key=lambda point: abs(point.budget - 0.5))
        return f". Compile others with .at({middle.budget:g})."

    @property
    def sentence(self) -> str:
        """The lowest known peak and its cost, compared with the peak of the step's own budget."""
        best, own = self.best, self.at(self.own)
        if own.why_not and best.budget == own.budget:
            return f"{self.name} has a budget of {own.budget:g}. {own.why_not}"
        left_out = _left_out(max(point.unsized for point in self.points))
        if self.roofline_of is not None:
            left_out += (
                f" Saved activations were chosen with roofline times of the {self.roofline_of}."
            )
        count = sum(point.peak_bytes is not None for point in self.points)
        compiled = f"of {plural(count, 'compiled budget')}"
        if best.budget == own.budget:
            return (
                f"The lowest peak {compiled} is {_bytes(own)}, at the current budget of "
                f"{own.budget:g}{self._next}{left_out}"
            )
        less = number_text(own.saved_bytes - best.saved_bytes, "bytes")
        return (
            f"The lowest peak {compiled} is {_bytes(best)} instead of {_bytes(own)}, at a budget "
            f"of {best.budget:g}. It saves {less} of activations, and the backward pass recomputes "
            f"{plural(best.recomputed, 'operator')} ({cost_text(best)})."
            f"{_sentence(best.checked)}{left_out}"
        )

    @checked
    def frame(self, name: str = "budgets") -> pandas.DataFrame:
        """Return `"budgets"`, or `"recomputed"`: a row for each operator and budget."""
        if name == "budgets":
            return presenter().rows_frame(self.points, BudgetPoint)
        if name != "recomputed":
            raise UsageError(f"Table {name!r} does not exist; choose 'budgets' or 'recomputed'.")
        return presenter().rows_frame(self.recomputed, RecomputedNode)

    def plot(self) -> Figure:
        """Plot known peaks and saved bytes over the budgets."""
        return presenter().plot(self)


def _sentence(words: str) -> str:
    return f" {words}" if words else ""


def _left_out(unsized: int) -> str:
    if not unsized:
        return ""
    what = plural(unsized, "tensor or operator", "tensors and operators")
    return f" Not counted: data-dependent sizes of up to {what}."


def _bytes(point: BudgetPoint) -> str:
    return number_text(point.peak_bytes or 0, "bytes")


def cost_text(point: BudgetPoint) -> str:
    """The cost of recomputation: operations, and the modelled time if there is one."""
    if point.why_not:
        return "do not use: wrong gradients"
    flops = f"{point.flops / 1e9:.3g} GFLOP"
    if point.least_us is None:
        return flops
    if point.most_us is None:
        return f"{flops}, modelled at least {point.least_us:.3g} µs"
    return f"{flops}, modelled {point.least_us:.3g} to {point.most_us:.3g} µs"


def list_points(
    report: Report,
    gpu: Gpu | None,
    peaks: Mapping[float, int] | None = None,
    checks: Mapping[float, Check] | None = None,
) -> tuple[BudgetPoint, ...]:
    """The budgets of a report, the largest first, with the peaks and checks that are known."""
    by_budget = dict(peaks or {})
    previews = _previews(report, by_budget)
    on_cpu = is_on_cpu(report)
    points = []
    for budget in sorted({row.budget for row in report.memory_budgets}, reverse=True):
        rows = [row for row in report.memory_budgets if row.budget == budget]
        again = [row for row in report.recomputed if row.budget == budget]
        least, most = (None, None) if gpu is None else _times(again, gpu)
        check = (checks or {}).get(budget, Check("", ""))
        points.append(
            BudgetPoint(
                budget=budget,
                saved_bytes=sum(row.saved_bytes for row in rows),
                saved_tensors=sum(row.saved_tensors for row in rows),
                recomputed=sum(row.recomputed_nodes for row in rows),
                flops=sum(row.recomputed_flops for row in rows),
                least_us=least,
                most_us=most,
                unsized=sum(row.unsized for row in rows),
                peak_bytes=by_budget.get(budget),
                preview_bytes=previews.get(budget),
                why_not=check.why_not or explain_random(again, on_cpu=on_cpu),
                checked=check.checked,
            )
        )
    return tuple(points)


def read_recorded_budgets(report: Report, gpu: Gpu | None) -> Budgets | None:
    """The budgets of a report, with the peaks that were known when it was saved."""
    rows = report.memory_budgets
    own = next((row.budget for row in rows if row.is_own), None)
    if own is None:  # recorded for the preview alone
        return None
    peaks = {row.budget: row.peak_bytes for row in rows if row.peak_bytes is not None}
    checks = {row.budget: Check(row.why_not, row.checked) for row in rows}
    points = list_points(report, gpu, peaks, checks)
    is_roofline = any(row.estimator == "roofline" for row in rows)
    by = report.request.target if is_roofline else None
    return Budgets(report.request.name, own, points, tuple(report.recomputed), by)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of checking a compiled budget; see `BudgetPoint`."""

    why_not: str
    checked: str


def explain_random(again: Iterable[RecomputedNode], *, on_cpu: bool) -> str:
    """Why a budget whose backward pass draws random numbers again must not be used; else empty.

    Other seeds give other numbers. The same seeds give the same ones on the CPU, whose code counts
    elements; Triton's `rand4x` and `rand` number them in two ways, and torch chooses by kernel.
    """
    drawn = [row for row in again if _is_random(row)]
    anew = [row for row in drawn if not (on_cpu and row.operator.startswith(_FROM_A_SEED))]
    if not anew:
        return ""
    names = ", ".join(dict.fromkeys(strip_overload(row.operator) for row in anew))
    lines = sorted({row.line for row in drawn if row.line is not None})
    word = "line" if len(lines) == 1 else "lines"
    place = f" of {word} {', '.join(map(str, lines))}" if lines else ""
    return (
        f"Gradients would be wrong: the backward pass would redraw the random numbers{place} "
        f"({names}), and the new numbers would differ."
    )


_FROM_A_SEED = ("prims.inductor_random", "prims.inductor_randint")
_DRAWING = re.compile(
    r"prims\.inductor_(?:seed|rand)|aten\.(?:native_dropout|bernoulli|rand|normal|multinomial|"
    r"uniform|exponential|cauchy|geometric|log_normal|poisson|binomial)"
)


def _is_random(row: RecomputedNode) -> bool:
    """Whether it draws; older records tell it by the operator's name alone."""
    return _DRAWING.match(row.operator) is not None if row.is_random is None else row.is_random


def strip_overload(operator: str) -> str:
    """`addmm` of `aten.addmm.default`."""
    parts = operator.split(".")
    return parts[1] if len(parts) > 1 else operator


def _previews(report: Report, peaks: Mapping[float, int]) -> dict[float, int]:
    """The model of each peak, moved so that it is right for a budget whose peak is known."""
    sums: dict[float, int] = {}
    for row in report.memory_budgets:
        if row.preview_bytes is not None:
            sums[row.budget] = sums.get(row.budget, 0) + row.preview_bytes
    own = next((row.budget for row in report.memory_budgets if row.is_own), None)
    at = own if own in peaks else next((budget for budget in sums if budget in peaks), None)
    if at is None or at not in sums:
        return {}
    return {budget: max(0, peaks[at] + size - sums[at]) for budget, size in sums.items()}


def _times(rows: Iterable[RecomputedNode], gpu: Gpu) -> tuple[float, float | None]:
    """Microseconds of the operations alone, and of each operator by its roofline, unfused."""
    least = most = 0.0
    is_known = True
    for row in rows:
        compute = _compute_us(row, gpu)
        least += compute
        most += max(compute, (row.bytes or 0) / (gpu.bandwidth_gbs * 1e3))
        is_known = is_known and row.bytes is not None
    return least, most if is_known else None


def _compute_us(row: RecomputedNode, gpu: Gpu) -> float:
    """Only what matrix units do has a formula; other operators are bounded by their traffic."""
    if not row.flops or row.dtype is None:
        return 0.0
    try:
        _, tflops = find_peak_rate(gpu, row.dtype, matrix=True)
    except UsageError:  # no rate for this dtype: memory alone bounds it
        return 0.0
    return row.flops / (tflops * 1e6) if tflops else 0.0
