"""Numbers of two records beside one another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diffs import diff, recorded, rows
from workbench.analysis.diff import report_comparison
from workbench.analysis.diff.report_comparison import compare
from workbench.report import AutotuneChoice, Kernel, Report, Table
from workbench.report.machine_rows import Resources
from workbench.report.measures import measure_compile_seconds


def test_traffic_is_that_of_all_kernels_and_of_each_match() -> None:
    found = diff("h100", "apart")
    total, *parts = rows(found, "traffic")
    assert total.item == "all kernels"
    moved = [
        sum((k.bytes_read or 0) + (k.bytes_written or 0) for k in report.kernels)
        for report in (found.a, found.b)
    ]
    assert [total.a, total.b] == moved
    assert [(c.id_a, c.id_b) for c in parts] == [("k0", "k0,k1,k2"), ("k4", "k6,k7,k8")]
    assert sum(float(c.b) - float(c.a) for c in parts) == moved[1] - moved[0]  # type: ignore[arg-type]


def test_sizes_that_are_not_known_are_not_compared() -> None:
    items = {c.item for c in rows(diff("static", "dynamic"), "traffic")}
    assert not {report_comparison.UNFUSED, report_comparison.EAGER} & items


def with_registers(report: Report, registers: int) -> Report:
    first, *rest = report.resources
    own = [replace(first, registers=registers, spill_stores=3, choice="XBLOCK=8"), *rest]
    return replace(report, tables={**report.tables, "resources": Table.of(Resources, own)})


def test_resources_of_a_gpu_are_compared_figure_by_figure() -> None:
    a = recorded("h100")
    before = next(iter(a.resources))
    found = compare(a, with_registers(a, 255))
    changes = {c.item.rpartition(": ")[2]: (c.a, c.b) for c in rows(found, "resources")}
    assert changes == {
        "registers": (before.registers, 255),
        "spills": (0, 3),
        "configuration": (before.choice, "XBLOCK=8"),
    }


def test_measured_times_are_no_difference_by_themselves() -> None:
    a = recorded("static")

    def timed(factor: float) -> Report:
        kernels = [replace(k, time_us=10.0 * factor) for k in a.kernels]
        return replace(a, tables={**a.tables, "kernels": Table.of(Kernel, kernels)})

    found = compare(timed(1), timed(2))
    total, *each = rows(found, "times")
    assert (total.a, total.b, total.change) == (pytest.approx(50), pytest.approx(100), "more")
    assert len(each) == 5
    assert found.is_same
    assert rows(compare(a, timed(1)), "times") == []  # only one of them was measured


def test_phases_begin_with_the_whole_and_then_the_longest_difference() -> None:
    whole, *phases = rows(diff("static", "dynamic"), "phases")
    assert whole.item == "the whole compilation"
    records = diff("static", "dynamic")
    took = [
        measure_compile_seconds((p.start_s, p.duration_s) for p in each.phases)
        for each in (records.a, records.b)
    ]
    assert [whole.a, whole.b] == took  # as every other view says it: threads are not added
    apart = [abs(float(c.b or 0) - float(c.a or 0)) for c in phases]
    assert apart == sorted(apart, reverse=True)


def choice(op: str, name: str, *, chosen: bool = True) -> AutotuneChoice:
    return AutotuneChoice("a0", op, name, "template", 0.1, chosen)


def test_another_winner_of_the_autotuner_is_a_difference_another_number_is_not() -> None:
    def tuned(*choices: AutotuneChoice) -> Report:
        return Report(tables={"autotune": Table.of(AutotuneChoice, choices)})

    a = tuned(choice("mm", "cpp_gemm_0"), choice("mm", "extern", chosen=False))
    assert compare(a, tuned(choice("mm", "cpp_gemm_7"))).is_same
    (change,) = rows(compare(a, tuned(choice("mm", "extern_mm"))), "autotune")
    assert (change.item, change.a, change.b) == ("mm", "cpp_gemm_0", "extern_mm")
