from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.cost.costs import (
    choose_cost,
    find_peak_by_kernel,
    find_peak_by_line,
    list_all_costs,
    list_costs,
)
from workbench.analysis.cost.line_shares import LineShares
from workbench.analysis.gpu_model.launches import LaunchCosts, launches
from workbench.analysis.memory import memory as memory_of_calls
from workbench.analysis.memory.memory import count_quick_memory, memory
from workbench.analysis.opportunities.opportunity import read_cost
from workbench.glossary import read_glossary
from workbench.number_text import format_us
from workbench.report import Kernel, Report, Table, Wrapper
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.views.panes.kernels_pane import verdicts

NORM = Report.load(Path(__file__).parents[2] / "records" / "norm_h100.wbr")
BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")


def timed(report: Report, **times: float) -> Report:
    """The report as if these kernels had been measured."""
    rows = [replace(kernel, time_us=times.get(kernel.id)) for kernel in report.kernels]
    return replace(report, tables={**report.tables, "kernels": Table.of(Kernel, rows)})


def test_without_a_measurement_the_model_of_the_target_ranks_the_kernels() -> None:
    assert [cost.kind for cost in list_costs(NORM)] == ["bound", "bytes"]
    cost = choose_cost(NORM)
    assert cost is not None
    assert cost.unit == "µs"
    assert cost.source.startswith("model: bytes and operations over the peak rates of the H100")
    assert "excludes launch overhead, caches and latency" in cost.source


def test_without_a_target_that_has_a_model_there_are_only_bytes() -> None:
    (cost,) = list_costs(BLOCK)
    assert (cost.kind, cost.unit) == ("bytes", "B")
    assert cost.source.startswith("Inductor's traffic estimate")


def test_measured_times_come_before_any_model_and_say_how_they_were_measured() -> None:
    measured = timed(NORM, k0=12.0)
    measured = add_measured_call(
        measured, MeasuredCall(20.0, 1.0, None, 50, ("zeros in place of x",))
    )
    cost = choose_cost(measured)
    assert cost is not None
    assert (cost.kind, cost.source) == ("time", "measured, median of 50 calls; zeros in place of x")
    assert cost.brief == "measured"
    noise = ("noisy: the whole call varied too much to compare times",)
    noisy = choose_cost(add_measured_call(measured, MeasuredCall(20.0, 9.0, None, 50, noise)))
    assert noisy is not None
    assert noisy.brief == "measured, noisy"
    assert cost.share("k0") == 1.0


def test_a_cost_is_that_of_all_calls_of_a_kernel() -> None:
    once, thrice = (
        Kernel(id, id, "extern", "g0", bytes_read=100, bytes_written=20, calls=calls)
        for id, calls in (("k0", 1), ("k1", 3))
    )
    (cost,) = list_costs(Report(tables={"kernels": Table.of(Kernel, [once, thrice])}))
    assert dict(cost.by_kernel) == {"k0": 120, "k1": 360}
    assert cost.share("k1") == 0.75


def test_the_frame_has_every_kernel_the_most_expensive_first() -> None:
    frame = BLOCK.frame("costs")
    assert len(frame) == len(BLOCK.kernels)
    assert frame.cost.is_monotonic_decreasing
    assert frame.share.sum() == pytest.approx(1.0)
    assert set(frame.unit) == {"B"}
    assert str(frame.bytes_read.dtype) == "Int64"


def test_a_kernel_that_the_measured_call_did_not_run_says_so(sample_report: Report) -> None:
    frame = sample_report.frame("costs").set_index("kernel")
    assert (frame.cost["k0"], frame.unit["k0"], frame.source["k0"]) == (182.4, "µs", "measured")
    assert frame.source["k1"] == "not measured"
    assert frame.bound["k2"] == "compute"
    assert list(frame.index) == ["k0", "k1", "k2"]  # those of unknown cost are last


def test_a_record_that_knows_nothing_of_its_kernels_says_that_too() -> None:
    report = Report(tables={"kernels": Table.of(Kernel, [Kernel("k0", "mm", "extern", "g0")])})
    (source,) = report.frame("costs").source
    assert (list_costs(report), source) == ((), "its cost is not known")


def test_the_shares_of_the_lines_add_up_to_the_kernels(sample_report: Report) -> None:
    shares = LineShares.of(sample_report)
    for cost in list_costs(sample_report):
        lines = shares.spread(cost.by_kernel)
        assert sum(lines.values()) == pytest.approx(cost.total)
    assert shares.kernels["L:s0:16"] == ("k1",)
    assert shares.spread({"k0": 10.0}) == {"L:s0:13": 10.0}  # nothing is said of other lines


STEP = Report.load(Path(__file__).parents[2] / "records" / "training.wbr")


def test_kernels_have_what_lives_at_the_peak_and_was_not_there_before() -> None:
    found = memory(STEP)
    made = find_peak_by_kernel(found)
    tangents = found.at_peak("kind").get("tangent", 0)
    assert sum(made.values()) == found.peak - found.base - tangents
    assert set(made) == {kernel.id for kernel in STEP.kernels}
    (cost,) = (cost for cost in list_all_costs(STEP) if cost.kind == "memory")
    assert cost.by_kernel == made
    assert cost.source.startswith("counted")


def test_lines_have_what_they_make_and_what_is_traced_in_what_they_call() -> None:
    found = memory(STEP)
    lines = {line: size for line, size in find_peak_by_line(found).items() if size}
    assert lines
    known = {f"L:{source.id}" for source in STEP.sources}
    assert {line.rpartition(":")[0] for line in lines} <= known
    assert max(lines.values()) <= found.peak - found.base


def test_a_long_program_is_left_to_who_asks_for_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert count_quick_memory(STEP) is not None
    monkeypatch.setattr(memory_of_calls, "QUICK", 10)
    assert count_quick_memory(replace(STEP)) is None
    assert "memory" not in {cost.kind for cost in list_all_costs(replace(STEP))}


def test_a_record_without_a_program_has_no_such_cost() -> None:
    bare = replace(STEP, tables={**STEP.tables, "wrappers": Table.of(Wrapper, [])})
    assert count_quick_memory(bare) is None


def test_what_is_compared_for_other_gpus_is_no_cost_of_the_record() -> None:
    report = Report.load(Path(__file__).parents[3] / "assets" / "scores_h100.wbr")
    assert {row.target for row in report.roofline} > {"h100"}
    bound = next(cost for cost in list_costs(report) if cost.kind == "bound")
    assert read_cost(report).bound_us == pytest.approx(bound.total)
    (start,) = [row for row in launches(report, LaunchCosts()).rows if row.kernel == "k3"]
    assert start.device_us == bound.by_kernel["k3"]
    assert f"at least {format_us(bound.by_kernel['k3'])}" in verdicts(report)["k3"].text


def test_what_makes_a_measurement_noisy_is_said_after_one_word() -> None:
    notes = ("noisy: it varied", "by hand", "noisy: they add up to more")
    call = MeasuredCall(10.0, 1.0, None, 3, notes)
    cost = choose_cost(add_measured_call(timed(NORM, k0=12.0), call))
    assert cost is not None
    assert cost.source == (
        "measured, median of 3 calls; by hand; noisy: it varied, and they add up to more"
    )


def test_heads_of_times_say_whether_they_are_of_one_call_or_of_all() -> None:
    terms = read_glossary()
    assert "all its calls" in terms["costs", "Cost"].what
    assert "of one call" in terms["points", "Least (est.)"].what
    assert "of one call" in terms["points", "Measured"].what
