"""What a record says in single numbers, each with its unit and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.memory.memory import memory
from workbench.errors import UsageError, suggest
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.measures import measure_compile_seconds
from workbench.report.program.program_record import ProgramRecord, require_program_records

Record = Report | ProgramRecord
Source = Literal["counted", "measured", "model"]


@dataclass(frozen=True)
class Quantity:
    """One number of a record.

    `value` is None where the record cannot tell, and `why` says why. `evidence` are sentences that
    say where it comes from, such as the place of each graph break.
    """

    name: str
    value: float | None
    unit: Literal["1", "bytes", "s"]
    source: Source
    evidence: tuple[str, ...] = ()
    why: str = ""


def read_quantity(record: Record, name: str) -> Quantity:
    """One number of a record by its name; raises `UsageError` for another name."""
    check_name(name)
    if isinstance(record, Report):
        return _OF_REPORT[name](record)
    what = f"{name} of a {type(record).__name__}"
    quantity: Quantity = require_program_records(what).read_quantity(record, name)
    return quantity


def check_name(name: str) -> None:
    """Raise `UsageError` for what is no number of a record."""
    if name not in QUANTITIES:
        raise UsageError(
            f"Unknown quantity {name!r}: expected {', '.join(QUANTITIES)}."
            f"{suggest(name, QUANTITIES)}"
        )


def read_quantities(record: Record) -> tuple[Quantity, ...]:
    """Every number of a record."""
    return tuple(read_quantity(record, name) for name in QUANTITIES)


def count_evidence(name: str, evidence: Iterable[str], why: str | None = None) -> Quantity:
    """As many as there are pieces of evidence; not known where `why` says so."""
    pieces = tuple(evidence)
    if why:
        return Quantity(name, None, "1", "counted", why=why)
    return Quantity(name, len(pieces), "1", "counted", pieces)


def _report_breaks(report: Report) -> Quantity:
    rows = (f"{b.function} (line {b.line}): {b.text} ({b.reason})" for b in report.breaks)
    return count_evidence("breaks", rows, report.why_missing("breaks"))


def _report_recompiles(report: Report) -> Quantity:
    """Captured graphs of a frame that had one: `0/1` follows `0/0`."""
    ids = {g.compile_id for g in report.graphs if g.stage == "dynamo" and g.compile_id}
    again = sorted(id for id in ids if id.rpartition("/")[2].partition("_")[0] != "0")
    return count_evidence(
        "recompiles", (f"compile {id}" for id in again), _no_captured_graph(report)
    )


def _report_fallbacks(report: Report) -> Quantity:
    return Quantity(
        "fallbacks",
        None,
        "1",
        "counted",
        why="only a session records frames that fall back to eager",
    )


def _report_graphs(report: Report) -> Quantity:
    rows = (g for g in report.graphs if g.stage == "dynamo")
    rows_text = (f"{g.id}: {plural(g.node_count, 'node')}" for g in rows)
    return count_evidence("graphs", rows_text, _no_captured_graph(report))


def _no_captured_graph(report: Report) -> str | None:
    """Why captured graphs cannot be counted; a cache's hit hides only what comes after them."""
    if any(graph.stage == "dynamo" for graph in report.graphs):
        return None
    return report.why_missing("graphs")


def _report_kernels(report: Report) -> Quantity:
    why = report.why_missing("kernels")
    if not report.kernels and not report.wrappers:
        why = why or "there is no generated program: a captured graph alone has no kernels"
    return count_evidence("kernels", (f"{k.id} ({k.name})" for k in report.kernels), why)


def _report_peak(report: Report) -> Quantity:
    try:
        usage = memory(report)
    except UsageError as error:
        return Quantity("peak_bytes", None, "bytes", "counted", why=str(error).rstrip("."))
    if not usage.timeline.is_whole:  # more than what was counted may live at the peak
        why = f"the peak may include memory that is not counted: {usage.missing}"
        return Quantity("peak_bytes", None, "bytes", "counted", why=why)
    left = (f"Not counted: {usage.missing}.",) if usage.missing else ()
    return Quantity("peak_bytes", usage.peak, "bytes", "counted", (usage.sentence, *left))


def _report_seconds(report: Report) -> Quantity:
    took = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    if took is None:
        why = "the report has no times"
        return Quantity("compile_s", None, "s", "measured", why=why)
    return Quantity("compile_s", took, "s", "measured")


_OF_REPORT: Mapping[str, Callable[[Report], Quantity]] = {
    "breaks": _report_breaks,
    "recompiles": _report_recompiles,
    "fallbacks": _report_fallbacks,
    "graphs": _report_graphs,
    "kernels": _report_kernels,
    "peak_bytes": _report_peak,
    "compile_s": _report_seconds,
}
QUANTITIES = tuple(_OF_REPORT)
"""The names of what can be expected."""
UNITS: Mapping[str, Literal["1", "bytes", "s"]] = {
    **dict.fromkeys(QUANTITIES, "1"),
    "peak_bytes": "bytes",
    "compile_s": "s",
}
"""The unit of each."""
