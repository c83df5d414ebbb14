"""A report as a stable plain text: no times and no addresses unless asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.analysis.fusion.fusion import rejected, traffic_before_and_after
from workbench.analysis.fusion.traffic import fusion_traffic
from workbench.report import Report
from workbench.views.panes.overview import captured
from workbench.views.words.cuda_graphs import headline, reasons
from workbench.views.words.places import absent_parts, line_numbers, ops_of, short, title_of
from workbench.views.words.units import bytes_text, percent_text, plural, seconds_text

_ROWS = 8
_WIDTH = 100


def text(report: Report, *, times: bool = False) -> str:
    """The report in at most about forty lines of at most 100 columns."""
    sections = (_head, _breaks, _kernels, _fusion, _cuda_graphs, _guards)
    lines = [line for section in sections for line in section(report)]
    lines += [f"not captured  {name}: {why}" for name, why in absent_parts(report)]
    if times:
        lines += _times(report)
    return "\n".join(short(line, _WIDTH) for line in lines)


def _head(report: Report) -> Iterator[str]:
    request = report.request
    how = ", ".join(part for part in (request.backend, request.mode, request.target) if part)
    yield f"{title_of(report)} ({how})"
    if not report.outcome.ok:
        yield f"failed in {report.outcome.step or 'compilation'}"
        yield from (f"  {line}" for line in (report.outcome.error or "").splitlines()[:_ROWS])
    if request.inputs:
        yield f"inputs    {'; '.join(request.inputs)}"
    graphs, ops = captured(report)
    yield f"graphs        {graphs}"
    yield f"captured ops  {ops}"
    yield from (f"note      {note}" for note in request.notes)


def _breaks(report: Report) -> Iterator[str]:
    if not len(report.breaks):
        return
    yield f"graph breaks  {len(report.breaks)}"
    for item in list(report.breaks)[:_ROWS]:
        yield f"  {item.file}:{item.line}  {item.text.strip()}"
        yield f"    {item.kind}: {item.hints[0] if item.hints else item.explanation}"
    yield from _more(len(report.breaks), "breaks")


def _kernels(report: Report) -> Iterator[str]:
    kernels = list(report.kernels)
    yield f"kernels       {len(kernels)}"
    bounds = {row.kernel: f", bound by {row.bound}" for row in report.roofline if row.bound}
    for kernel in kernels[:_ROWS]:
        lines = line_numbers(report, kernel)
        where = f"  {lines if ':' in lines else f'line {lines}'}" if lines else ""
        yield f"  {kernel.id:<4} {kernel.language:<7} {ops_of(kernel)}{where}"
        if kernel.bytes_read is not None or kernel.bytes_written is not None:
            read, written = bytes_text(kernel.bytes_read), bytes_text(kernel.bytes_written)
            yield f"       reads {read}, writes {written}{bounds.get(kernel.id, '')}"
    yield from _more(len(kernels), "kernels")


def _fusion(report: Report) -> Iterator[str]:
    traffic = fusion_traffic(report)
    if traffic is not None:
        before, after = traffic_before_and_after(report) or (traffic.before, traffic.after)
        change = percent_text(after - before, before)
        yield (
            f"fusion        {traffic.groups_before} → {traffic.groups_after} groups, "
            f"{bytes_text(before)} → {bytes_text(after)} ({change}, estimate)"
        )
    reasons = Counter(pair.reason for pair in rejected(report))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:_ROWS]:
        yield f"  not fused, {plural(count, 'pair')}: {reason}"


def _cuda_graphs(report: Report) -> Iterator[str]:
    said = headline(report)
    if said is not None:
        yield f"cuda graphs   {said}"
        yield from (f"  {reason}" for reason in reasons(report)[:_ROWS])


def _guards(report: Report) -> Iterator[str]:
    kept = sum(report.guards.columns.get("kept", ()))
    yield f"guards        {kept} kept, {len(report.guards) - kept} dropped"
    reasons = Counter(guard.why_dropped for guard in report.guards if not guard.kept)
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], str(item[0])))[:_ROWS]:
        yield f"  dropped, {count}: {reason}"


def _times(report: Report) -> Iterator[str]:
    phases = sorted(report.phases, key=lambda phase: -phase.self_s)
    if phases:
        yield "slowest phases"
    for phase in phases[:_ROWS]:
        yield f"  {seconds_text(phase.self_s):>8}  {phase.name}"


def _more(count: int, frame: str) -> Iterator[str]:
    if count > _ROWS:
        yield f"  {count - _ROWS} more in report.frame({frame!r})"
