from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.fusion.fusion import list_savings
from workbench.analysis.fusion.why_not import rejected
from workbench.analysis.memory import memory as memory_of_calls
from workbench.analysis.memory.memory import memory
from workbench.number_text import format_bytes
from workbench.report import Capability, FusionPair, Kernel, Outcome, Report, Table
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.views.charts.report_charts import group_by_thread
from workbench.views.document import document
from workbench.views.panes.overview_pane import figures
from workbench.views.source_marks import annotated
from workbench.views.wire import report_messages as wire

RECORDS = Path(__file__).parents[1] / "records"
BLOCK, NORM = (Report.load(RECORDS / f"{name}.wbr") for name in ("block", "norm_h100"))


def head(report: Report, name: str) -> wire.PaneHead:
    return next(pane for pane in document(report)["panes"] if pane["id"] == name)


def test_figures_name_what_they_count(sample_report: Report) -> None:
    shown = {f["label"]: (f["value"], f["note"]) for f in figures(sample_report)}
    assert shown["Run time"] == ("182 µs", "kernels alone, measured")
    assert shown["Captured"] == ("1 graph, 5 ops", "1 graph break")
    assert shown["Kernels"] == ("3", "1 C++, 2 library")
    assert shown["DRAM traffic"] == (
        "10.5 MB → 6.31 MB",
        "−40 % vs. unfused scheduler nodes (estimate)",
    )
    assert shown["Compile time"] == ("4.42 s", "3.00 s of it C++ build")
    assert shown["Artifact"] == ("none", "needs one graph without breaks")
    (*_, artifact) = figures(replace(sample_report, tables={}), ("block.aot", 133_000))
    assert (artifact["value"], artifact["pane"]) == ("133 kB", "artifact")


def test_the_peak_of_memory_is_a_figure_where_it_is_counted_at_once(
    sample_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    peak = memory(BLOCK)
    shown = {f["label"]: (f["value"], f["note"], f["pane"]) for f in figures(BLOCK)}
    above = f"{format_bytes(peak.peak - peak.base)} above inputs"
    assert shown["Peak memory"] == (format_bytes(peak.peak), above, "memory")
    unknown = {f["label"]: f["note"] for f in figures(replace(sample_report, tables={}))}
    assert unknown["Peak memory"] == "not recorded"
    monkeypatch.setattr(memory_of_calls, "QUICK", 10)
    long = {f["label"]: (f["value"], f["note"]) for f in figures(replace(BLOCK))}
    assert long["Peak memory"] == ("–", "counted when opened")


def test_a_tile_and_a_tab_count_the_same_graphs() -> None:
    shown = {f["label"]: f["value"] for f in figures(BLOCK)}
    assert shown["Captured"].startswith(f"{head(BLOCK, 'graphs')['count']} graph")


def test_the_first_figure_is_the_measured_call_else_the_bound_of_the_target() -> None:
    first = figures(NORM)[0]
    assert (first["label"], first["value"], first["pane"]) == ("Bound", "≥ 407 ns", "roofline")
    assert first["note"] == "model, all kernels"
    rows = [replace(kernel, time_us=30.0) for kernel in NORM.kernels]
    timed = replace(NORM, tables={**NORM.tables, "kernels": Table.of(Kernel, rows)})
    measured = add_measured_call(timed, MeasuredCall(80.0, 1.0, None, repeats=50))
    first = figures(measured)[0]
    assert (first["label"], first["value"]) == ("Run time", "80.0 µs")
    assert first["note"] == "measured, 75 % in kernels"
    noise = ("noisy: the kernels' medians add up to more than the whole call",)
    noisy = add_measured_call(timed, MeasuredCall(10.0, 1.0, None, 50, noise))
    assert figures(noisy)[0]["note"] == "noisy, measure again"
    assert figures(BLOCK)[0]["note"] == "not measured"


def test_traffic_of_what_tells_nothing_of_the_time_before_fusion(sample_report: Report) -> None:
    first, *others = sample_report.kernels
    unknown = replace(first, bytes_read=None, bytes_written=None)
    for rows, shown in (
        ((first, *others), ("12.6 MB", "all kernels, after fusion")),
        ((unknown, *others), ("8.40 MB", "2 of 3 kernels, after fusion")),
        ((), ("–", "not recorded")),
    ):
        own = replace(sample_report, tables={"kernels": Table.of(Kernel, rows)})
        traffic = next(f for f in figures(own) if f["label"] == "DRAM traffic")
        assert (traffic["value"], traffic["note"]) == shown


def test_what_eager_moves_is_counted_at_once_where_that_is_quick(
    sample_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.views.panes.overview_pane._QUICK", 2)
    traffic = next(f for f in figures(sample_report) if f["label"] == "DRAM traffic")
    assert traffic["value"] == "6.31 MB"
    assert traffic["note"] == "after fusion (estimate); the Fusion tab shows it before"


def test_every_source_line_has_its_state_and_its_share(sample_report: Report) -> None:
    marks = {mark["id"]: mark for mark in document(sample_report)["sources"][0]["marks"]}
    assert [marks[f"L:s0:{n}"]["state"] for n in (12, 13, 14, 16, 18)] == [
        "traced",
        "captured",
        "break",
        "fallback",
        "captured",
    ]
    assert marks["L:s0:13"]["kernels"] == ["k0"]
    assert marks["L:s0:13"]["cost"] == {"time": 182.4, "bound": 1.25, "bytes": 2 * 2097152}
    assert "Graph break" in marks["L:s0:14"]["notes"][0]["title"]


def test_a_cell_is_annotated_whole(sample_report: Report) -> None:
    text = "\n" * 12 + "h = torch.relu(x + 1) * 2\n"
    source = annotated(sample_report, "~/models/block.py", text)
    assert (source["first"], len(source["lines"])) == (13, 1)
    assert [(mark["id"], mark["kernels"]) for mark in source["marks"]] == [("L:s0:13", ["k0"])]


def test_savings_compare_a_group_with_its_parts(sample_report: Report) -> None:
    best = list_savings(sample_report)[0]
    assert (best.name, best.kernel, best.parts) == ("op0_op1", "k0", 2)
    assert (best.before, best.after) == (4 * 2097152, 2 * 2097152)


def test_a_rejected_pair_is_listed_once_with_its_rounds(sample_report: Report) -> None:
    pairs = {(pair.a, pair.b): pair for pair in rejected(sample_report)}
    assert set(pairs) == {("op0_op1", "op2"), ("op2", "op3")}
    assert pairs["op0_op1", "op2"].rounds == 2
    assert pairs["op2", "op3"].shared == 16384


def test_the_timeline_leaves_out_phases_that_are_too_short_to_be_seen(
    sample_report: Report,
) -> None:
    phases = list(sample_report.phases)
    (own,) = group_by_thread(phases, 1.0).values()
    assert own == [phase for phase in phases if phase.duration_s >= 1.0]
    assert 0 < len(own) < len(phases)


@pytest.mark.parametrize("name", ["graphs", "fusion", "kernels", "timeline", "autotune"])
def test_a_pane_without_data_says_why(name: str) -> None:
    part = {"timeline": "phases"}.get(name, name)
    capability = Table.of(Capability, [Capability(part, False, "torch lacks the hook")])
    note = head(Report(tables={"capabilities": capability}), name)["empty"]
    assert note is not None
    assert note["text"] == "Torch lacks the hook."
    note = head(Report(), name)["empty"]
    assert note is not None
    assert note["text"]
    note = head(Report(outcome=Outcome(False, "capture")), name)["empty"]
    assert note is not None
    assert "failed in capture" in note["text"]


def test_pairs_that_end_in_one_group_are_not_called_rejected(sample_report: Report) -> None:
    pairs = [
        FusionPair("i0", 1, "op0", "op1", "rejected", "other pairs come first", 8),
        FusionPair("i0", 2, "op0", "op1", "fused", "", 8, "vertical", "op0_op1"),
        FusionPair("i0", 2, "op1", "op0_op1", "rejected", "made meanwhile", 8),
        FusionPair("i0", 2, "op0_op1", "op2", "rejected", "no shared data", 0),
    ]
    tables = {**sample_report.tables, "fusion": Table.of(FusionPair, pairs)}
    assert [pair.b for pair in rejected(replace(sample_report, tables=tables))] == ["op2"]
