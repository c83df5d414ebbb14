from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.report import Kernel
from workbench.report.table import Table

TRACES = Path(__file__).parents[2] / "gpu" / "traces"


@pytest.fixture(scope="module")
def report() -> wb.Report:
    """A training step of four transformer blocks, as it was compiled on an H100."""
    return replace_target(wb.Report.load(TRACES / "workbench.wbr"))


def replace_target(report: wb.Report) -> wb.Report:
    return replace(report, request=replace(report.request, target="h100"))


def test_a_forecast_is_near_what_the_gpu_took(report: wb.Report) -> None:
    """The fit had traces of this model's eager step, of other programs, not of this one."""
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    took = {kernel.id: kernel.time_us for kernel in measured.kernels if kernel.time_us}
    told = {row.kernel: row.us for row in wb.forecast(report).rows if row.kernel in took}
    assert sum(told.values()) == pytest.approx(sum(took.values()), rel=0.15)
    assert statistics.median(abs(told[id] / us - 1) for id, us in took.items()) < 0.25


def test_the_interval_holds_the_call_and_no_kernel_is_below_its_bound(report: wb.Report) -> None:
    told = wb.forecast(report)
    assert told.least_us <= told.call_us <= told.most_us
    assert told.graph_us <= told.call_us
    bounds = {row.kernel: row.bound_us for row in report.own_roofline}
    assert all(row.us >= (bounds[row.kernel] or 0.0) * row.calls - 1e-9 for row in told.rows)


def test_measured_kernels_keep_their_times(report: wb.Report) -> None:
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    rows = {row.kernel: row for row in wb.forecast(measured).rows}
    timed = [kernel for kernel in measured.kernels if kernel.time_us is not None]
    assert timed
    assert all(rows[kernel.id].us == kernel.time_us for kernel in timed)
    assert {rows[kernel.id].source for kernel in timed} == {"measured"}


def test_what_the_model_does_not_know_is_said_and_counted_at_its_bound(report: wb.Report) -> None:
    unknown = [replace(each, ops=("mine.op.default",)) for each in report.kernels]
    other = replace(report, tables={**report.tables, "kernels": Table.of(Kernel, unknown)})
    told = wb.forecast(other)
    assert {row.source for row in told.rows if row.name.startswith("extern")} == {"bound"}
    assert "at their bound, which is too low" in told.notes[0]


def test_a_program_for_the_cpu_has_none() -> None:
    with pytest.raises(wb.errors.UsageError, match="no kernels on a GPU"):
        wb.forecast(wb.Report())
