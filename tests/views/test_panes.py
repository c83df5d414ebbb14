from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.fusion.fusion import rejected, savings
from workbench.report import Capability, FusionPair, Kernel, Outcome, Report, Table
from workbench.views import blocks as b
from workbench.views.limits import Limits
from workbench.views.panes import panes
from workbench.views.panes.overview import annotate, figures, heats
from workbench.views.panes.timeline import flames


def pane(report: Report, name: str) -> b.Pane:
    return next(p for p in panes(report, Limits()) if p.id == name)


def test_figures_name_what_they_count(sample_report: Report) -> None:
    shown = {figure.label: (figure.value, figure.note) for figure in figures(sample_report)}
    assert shown["Captured ops"][0] == "5"
    assert shown["Kernels"] == ("3", "1 C++, 2 library")
    assert shown["DRAM traffic"] == ("10.5 MB → 6.31 MB", "−40 % through fusion (estimate)")
    assert shown["Compile time"] == ("4.42 s", "C++ build 3.00 s")
    assert shown["Artifact"] == ("none", "needs one graph without a break")
    (*_, artifact) = figures(replace(sample_report, tables={}), ("block.aot", 133_000))
    assert (artifact.value, artifact.pane) == ("133 kB", "artifact")


def test_traffic_of_what_tells_nothing_of_the_time_before_fusion(sample_report: Report) -> None:
    first, *others = sample_report.kernels
    unknown = replace(first, bytes_read=None, bytes_written=None)
    for rows, shown in (
        ((first, *others), ("12.6 MB", "all kernels, after fusion")),
        ((unknown, *others), ("8.40 MB", "2 of 3 kernels, after fusion")),
        ((), ("–", "not recorded")),
    ):
        own = replace(sample_report, tables={"kernels": Table.of(Kernel, rows)})
        traffic = next(f for f in figures(own) if f.label == "DRAM traffic")
        assert (traffic.value, traffic.note) == shown


def test_every_source_line_has_its_state_and_its_share(sample_report: Report) -> None:
    heat = heats(sample_report, Limits())[0]
    assert isinstance(heat, b.Heat)
    lines = {line.number: line for line in heat.lines}
    assert [lines[n].state for n in (12, 13, 14, 16, 18)] == [
        "folded",
        "captured",
        "break",
        "fallback",
        "captured",
    ]
    assert lines[13].kernels == ("k0",)
    assert lines[13].bytes == 2 * 2097152
    assert "Graph break" in lines[14].notes[0].title


def test_a_cell_is_annotated_whole(sample_report: Report) -> None:
    text = "\n" * 12 + "h = torch.relu(x + 1) * 2\n"
    heat = annotate(sample_report, "~/models/block.py", text)
    assert [(line.number, line.kernels) for line in heat.lines] == [(13, ("k0",))]


def test_savings_compare_a_group_with_its_parts(sample_report: Report) -> None:
    best = savings(sample_report)[0]
    assert (best.name, best.kernel, best.parts) == ("op0_op1", "k0", 2)
    assert (best.before, best.after) == (4 * 2097152, 2 * 2097152)


def test_a_rejected_pair_is_listed_once_with_its_rounds(sample_report: Report) -> None:
    pairs = {(pair.a, pair.b): pair for pair in rejected(sample_report)}
    assert set(pairs) == {("op0_op1", "op2"), ("op2", "op3")}
    assert pairs["op0_op1", "op2"].rounds == 2
    assert pairs["op2", "op3"].shared == 16384


def test_bars_of_the_timeline_lie_inside_their_parents(sample_report: Report) -> None:
    (chart,) = flames(list(sample_report.phases))
    whole = next(bar for bar in chart.bars if bar.depth == 0)
    assert all(bar.start + bar.width <= whole.start + whole.width + 1e-9 for bar in chart.bars)


@pytest.mark.parametrize("name", ["graphs", "fusion", "kernels", "timeline", "autotune"])
def test_a_pane_without_data_says_why(name: str) -> None:
    part = {"timeline": "phases"}.get(name, name)
    capability = Table.of(Capability, [Capability(part, False, "torch lacks the hook")])
    (note,) = pane(Report(tables={"capabilities": capability}), name).blocks
    assert isinstance(note, b.Note)
    assert note.text == "Torch lacks the hook."
    (note,) = pane(Report(), name).blocks
    assert isinstance(note, b.Note)
    assert note.text
    (note,) = pane(Report(outcome=Outcome(False, "capture")), name).blocks
    assert "failed in capture" in note.text


def test_an_unchanged_graph_is_named_not_repeated(sample_report: Report) -> None:
    titles = {c.title: c for c in pane(sample_report, "graphs").blocks if isinstance(c, b.Code)}
    assert titles["Before post-grad passes"].text == ""
    assert "Captured graph" in titles["Before post-grad passes"].facts[0]


def test_limits_leave_a_sentence_about_the_rest(sample_report: Report) -> None:
    small = replace(Limits.for_notebook(), rows=1)
    grids = [x for p in panes(sample_report, small) for x in p.blocks if isinstance(x, b.Grid)]
    kernels = next(grid for grid in grids if grid.title == "Kernels")
    assert len(kernels.rows) == 1
    assert kernels.more == "2 more in report.frame('kernels')"


def test_pairs_that_end_in_one_group_are_not_called_rejected(sample_report: Report) -> None:
    pairs = [
        FusionPair("i0", 1, "op0", "op1", "rejected", "other pairs come first", 8),
        FusionPair("i0", 2, "op0", "op1", "fused", "", 8, "vertical", "op0_op1"),
        FusionPair("i0", 2, "op1", "op0_op1", "rejected", "made meanwhile", 8),
        FusionPair("i0", 2, "op0_op1", "op2", "rejected", "no shared data", 0),
    ]
    tables = {**sample_report.tables, "fusion": Table.of(FusionPair, pairs)}
    assert [pair.b for pair in rejected(replace(sample_report, tables=tables))] == ["op2"]


def test_the_matrix_has_a_table_for_each_figure(sample_report: Report) -> None:
    made = pane(sample_report, "matrix")
    grids = {block.title: block for block in made.blocks if isinstance(block, b.Grid)}
    assert made.count == 3
    registers = grids["Registers of a thread"]
    assert [column.title for column in registers.columns] == ["Kernel", "t4", "a100", "h100"]
    assert registers.rows[0] == ("k1", "255", "128", "96")
    assert grids["Occupancy (estimate)"].rows[0] == ("k1", "25 %", "50 %", "63 %")
    assert grids["Remarks"].rows[0][:2] == ("k2", "t4")


def test_the_roofline_says_that_it_is_a_model(sample_report: Report) -> None:
    note, grid, *_ = pane(sample_report, "roofline").blocks
    assert isinstance(note, b.Note)
    assert "is a model" in note.text
    assert isinstance(grid, b.Grid)
    kernels = {str(row[0]): row for row in grid.rows}
    assert kernels["k2"][5:8] == ("compute", "2.17 µs", "not measured")
    assert kernels["k1"][7] == "1.10 µs"


def test_what_a_model_ranked_is_not_among_what_was_timed(sample_report: Report) -> None:
    choices, note, ranked = pane(sample_report, "autotune").blocks
    assert isinstance(choices, b.Grid)
    assert isinstance(note, b.Note)
    assert isinstance(ranked, b.Grid)
    assert note.title == "Ranked by a model, not timed."
    assert ranked.rows[0][:4] == ("k0", "h100", 1, "XBLOCK=128")
    assert ranked.rows[3][-1] == "spills 12 registers"


def test_a_notebook_keeps_few_tables_of_the_matrix(sample_report: Report) -> None:
    small = next(p for p in panes(sample_report, Limits.for_notebook()) if p.id == "matrix")
    titles = [block.title for block in small.blocks if isinstance(block, b.Grid)]
    assert titles == ["Least time by the roofline (estimate)", "Registers of a thread", "Remarks"]
