"""A report as a stable plain text: no addresses, times of the compilation only when asked for."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.cost.costs import Cost, CostKind, choose_cost
from workbench.analysis.cost.identical_kernels import IdenticalKernels, list_identical_kernels
from workbench.analysis.fusion.fusion import list_before_fusion
from workbench.analysis.fusion.traffic import measure_fusion_traffic
from workbench.analysis.fusion.why_not import rejected
from workbench.analysis.gpu_model.launches import tell_kernels_of
from workbench.analysis.kernel_checks.kernel_check import read_check
from workbench.analysis.opportunities.rules import opportunities
from workbench.number_text import format_bytes, format_percent, format_seconds, plural
from workbench.report import Kernel, Report
from workbench.report.measures import count_guards
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.views.answers.alternatives_text import format_shortest_saving
from workbench.views.kit.blocks import Document
from workbench.views.kit.shown import Shown
from workbench.views.overview.answer import answer_text
from workbench.views.words.record_words import (
    cost_text,
    count_captured,
    describe_absent_parts,
    format_line_numbers,
    list_cuda_graph_reasons,
    list_kernel_ops,
    short,
    summarize_cuda_graphs,
    title_of,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from workbench.analysis.quantities.quantities import Quantity

_WIDTH = 80
_HEIGHT = 25
_MOST = 6  # kernels where nothing else is wrong
_FEW = 3  # of anything else
_WORDS = 48  # columns for the operators of a kernel with its lines
_PLACE = 26  # of them, at most, for the lines
_ADVICE = 48
_BY: Mapping[CostKind, str] = {
    "time": "by measured time",
    "bound": "by roofline bound (estimate)",
    "bytes": "by bytes moved (estimate)",
    "memory": "by live bytes at the memory peak",
}


def text(report: Report, *, times: bool = False) -> str:
    """The report in at most 25 lines of at most 80 columns: one screen of a terminal."""
    sections = (
        _head,
        _breaks,
        _checks,
        _opportunities,
        _kernels,
        _fusion,
        _cuda_graphs,
        _guards,
        _absent,
    )
    lines = [line for section in sections for line in section(report)]
    if len(lines) >= _HEIGHT:
        left_out = len(lines) - _HEIGHT + 2
        lines[_HEIGHT - 2 :] = [f"…             {plural(left_out, 'line')} more on the page"]
    lines.append(_next(report))
    if times:
        lines += _times(report)
    return "\n".join(short(line, _WIDTH) for line in lines)


def _head(report: Report) -> Iterator[str]:
    request = report.request
    how = ", ".join(part for part in (request.backend, request.mode, request.target) if part)
    yield f"{title_of(report)} ({how})"
    if request.inputs:
        yield f"inputs        {'; '.join(request.inputs)}"
    if request.conditions:
        yield f"only where    {request.together}"
    yield from textwrap.wrap(answer_text(report), _WIDTH, subsequent_indent="  ")
    if not report.outcome.ok:
        yield "error"
        yield from (f"  {line}" for line in (report.outcome.error or "").splitlines()[:_MOST])
    graphs, ops = count_captured(report)
    if report.request.kind not in (KERNEL_LOG, OWN_KERNEL):
        yield f"captured      graphs: {graphs}, ops: {ops}"
    yield from (f"note          {note}" for note in request.notes[:_FEW])


def _breaks(report: Report) -> Iterator[str]:
    if not len(report.breaks):
        return
    yield f"graph breaks  {len(report.breaks)}"
    for item in list(report.breaks)[:_FEW]:
        yield f"  {item.file}:{item.line}  {item.text.strip()}"
        yield f"    {item.kind}: {item.hints[0] if item.hints else item.explanation}"
    yield from _more(len(report.breaks) - _FEW, "breaks")


def _kernels(report: Report) -> Iterator[str]:
    """The most expensive first, by the best cost that is known; identical ones once."""
    kernels = {kernel.id: kernel for kernel in report.kernels}
    best, groups = choose_cost(report), list_identical_kernels(report)
    by = "" if best is None else f", {_BY[best.kind]}"
    is_each = len(groups) == len(kernels)
    count = "".join(re.split(" kernels?", tell_kernels_of(report)))
    yield f"kernels       {count}{'' if is_each else f', {len(groups)} different'}{by}"
    rows = _FEW if len(report.breaks) else _MOST
    for group in groups[:rows]:
        yield _row(report, kernels[group.kernels[0]], group, best)
    yield from _more(len(groups) - rows, "kernels" if is_each else "identical_kernels")


def _row(report: Report, kernel: Kernel, group: IdenticalKernels, best: Cost | None) -> str:
    lines = format_line_numbers(report, kernel)
    where = short(f"  {lines if ':' in lines else f'line {lines}'}" if lines else "", _PLACE)
    times = f" × {group.launches}" if group.launches > 1 else ""
    what = short(list_kernel_ops(kernel), _WORDS - len(where) - len(times)) + times + where
    amount = share = ""
    if best is not None and group.cost is not None:
        amount = cost_text({best.kind: group.cost}, best.kind)
        share = format_percent(group.cost, best.total)
    return f"  {kernel.id:<4} {kernel.language:<7} {what:<{_WORDS}} {amount:>9} {share:>5}".rstrip()


def _checks(report: Report) -> Iterator[str]:
    """What a check of kernels found, where the first sentence does not say it."""
    check = read_check(report)
    if check is not None and len(report.kernels):
        line = f"checked       {check.sentence}"
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent="  ")[:_FEW]


def _opportunities(report: Report) -> Iterator[str]:
    rows = opportunities(report)
    for row in rows[:_FEW]:
        yield f"do            {short(row.text, _ADVICE)}  {format_shortest_saving(row)}"
    yield from _more(len(rows) - _FEW, "opportunities", "change")


def _fusion(report: Report) -> Iterator[str]:
    traffic = measure_fusion_traffic(report)
    if traffic is not None:
        yield (
            f"fusion        {traffic.groups_before} → {plural(traffic.groups_after, 'group')}, "
            f"{format_bytes(traffic.after)} (estimate)"
        )
        for before in list_before_fusion(report):
            change = format_percent(traffic.after - before.bytes, before.bytes)
            yield f"  {change} vs. {before.words} ({format_bytes(before.bytes)})"
    reasons = Counter(pair.reason for pair in rejected(report))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:_FEW]:
        yield f"  not fused, {plural(count, 'pair')}: {reason}"
    yield from _more(len(reasons) - _FEW, "fusion", "reason")


def _cuda_graphs(report: Report) -> Iterator[str]:
    summary = summarize_cuda_graphs(report)
    if summary is not None:
        yield f"cuda graphs   {summary}"
        yield from (f"  {reason}" for reason in list_cuda_graph_reasons(report)[:_FEW])


def _guards(report: Report) -> Iterator[str]:
    if report.request.kind != OWN_KERNEL:
        yield f"guards        {count_guards(report.guards.columns.get('kept', ())).words}"


def _absent(report: Report) -> Iterator[str]:
    absent = [] if report.request.kind == OWN_KERNEL else list(describe_absent_parts(report))
    yield from (f"not captured  {name}: {why}" for name, why in absent[:_FEW])
    if len(absent) > _FEW:
        yield f"  {len(absent) - _FEW} more in report.capabilities"


def _next(report: Report) -> str:
    """Where to look next."""
    wrong = "breaks" if len(report.breaks) else "fusion" if rejected(report) else "kernels"
    if len(report.kernel_findings):
        wrong = "kernel_findings"
    frame = "" if not report.outcome.ok else f"report.frame({wrong!r}), "
    return f"next          {frame}report.to_html('report.html')"


def _times(report: Report) -> Iterator[str]:
    phases = sorted(report.phases, key=lambda phase: -phase.self_s)
    if phases:
        yield "slowest phases"
    for phase in phases[:_MOST]:
        yield f"  {format_seconds(phase.self_s):>8}  {phase.name}"


def _more(count: int, frame: str, what: str = "") -> Iterator[str]:
    if count > 0:
        nouns = "" if not what else f"{what} " if count == 1 else f"{what}s "
        yield f"  {count} more {nouns}in report.frame({frame!r})"


def _build_document(report: Report, **more: Any) -> Document:
    from workbench.views.pages.report_page import build_document

    return build_document(report, **more)


def _frame(*choice: Any) -> pandas.DataFrame:
    from workbench.views.tables.data_frames import frame

    return frame(*choice)


def _plot(*choice: Any, **more: Any) -> Figure:
    from workbench.views.charts.report_charts import plot

    return plot(*choice, **more)


def _export(report: Report, path: str) -> None:
    from workbench.views.perfetto import write

    write(report, path)


def _list_numbers(report: Report) -> tuple[Quantity, ...]:
    from workbench.analysis.quantities.quantities import read_quantities

    return read_quantities(report)


SHOWN = {
    "Report": Shown(
        document=_build_document,
        text=text,
        frame=_frame,
        plot=_plot,
        export=_export,
        numbers=_list_numbers,
        pane="overview",
    )
}
"""Text needs neither templates nor charts: what else shows a report is imported when it does."""
