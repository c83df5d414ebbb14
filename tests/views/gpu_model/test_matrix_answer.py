"""A matrix answers as tables, heat maps, differences and a page; nothing is compiled here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from sample_report import make

from workbench.analysis.gpu_model.matrix import METRICS, Matrix
from workbench.errors import UsageError
from workbench.report import Report, Table, TextWriter
from workbench.report.machine_rows import Assembly, MatrixCell
from workbench.views.gpu_model.matrix_answer import heat_map
from workbench.views.kit.sheet import compute_shades
from workbench.views.widgets.display import show

TARGETS = ("t4", "a100", "h100")
A = "MOV R1, c[0x0][0x28] ;\nS2R R0, SR_TID.X ;\nEXIT ;"
B = "LDC R1, c[0x0][0x28] ;\nS2R R0, SR_TID.X ;\nEXIT ;"
WHY = "This kernel takes bf16, which a T4 cannot compute with."


def cell(kernel: str, target: str, **figures: Any) -> MatrixCell:
    return MatrixCell(kernel, target, f"{kernel}:{target}", **figures)


def matrix() -> Matrix:
    report = make()
    writer = TextWriter()
    for text in report.texts.values():
        writer.add(text)
    cells = [
        cell("k0", "t4", registers=24, occupancy=1.0, instructions=96, bound_us=13.1),
        cell("k0", "a100", registers=22, occupancy=1.0, instructions=88, bound_us=2.7),
        cell("k0", "h100", registers=22, occupancy=1.0, instructions=84, bound_us=1.25),
        cell("k1", "t4", note=WHY),
        cell("k1", "a100", registers=128, occupancy=0.5, instructions=930, bound_us=1.36),
        cell("k1", "h100", registers=96, occupancy=0.625, instructions=930, bound_us=0.63),
    ]
    code = [("k0:a100", "sass", A), ("k0:h100", "sass", B), ("k0:a100", "ptx", A)]
    rows = [Assembly(id.partition(":")[0], id, stage, writer.add(text)) for id, stage, text in code]
    tables = {
        **report.tables,
        "matrix": Table.of(MatrixCell, cells),
        "assembly": Table.of(Assembly, rows),
    }
    return Matrix(replace(report, tables=tables, texts=writer.finish()), TARGETS)


def test_every_cell_is_a_row_and_says_what_is_an_estimate() -> None:
    frame = matrix().frame()
    assert list(frame.columns[:2]) == ["kernel", "target"]
    assert frame.groupby("kernel", sort=False)["target"].agg(list).to_dict() == {
        "k1": list(TARGETS),
        "k0": list(TARGETS),
    }
    assert frame["estimate"].all()


def test_one_figure_is_kernels_by_gpus_those_that_differ_most_first() -> None:
    registers = matrix().frame("registers")
    assert list(registers.columns) == list(TARGETS)
    assert list(registers.index) == ["k1", "k0"]
    assert registers.loc["k1"].isna().tolist() == [True, False, False]
    assert registers.loc["k0"].tolist() == [24, 22, 22]
    assert list(matrix().frame("instructions").index) == ["k0", "k1"]


@pytest.mark.parametrize("figure", METRICS)
def test_estimates_are_named_in_tables_and_titles(figure: str) -> None:
    frame = matrix().frame(figure)
    is_estimate = figure in ("occupancy", "bound_us", "modelled_us")
    assert frame.attrs["estimate"] == is_estimate
    assert ("estimate" in str(frame.columns.name)) == is_estimate


def test_shades_say_how_far_from_the_best_of_a_row() -> None:
    assert compute_shades((10, 20, None), more_is_better=False) == [0.0, 0.5, None]
    assert compute_shades((0.25, 1.0), more_is_better=True) == [0.75, 0.0]
    assert compute_shades((0, 0), more_is_better=False) == [0.0, 0.0]


@pytest.mark.parametrize("figure", ["registers", "occupancy", "instructions", "bound_us"])
def test_no_label_of_a_heat_map_is_cut_off(figure: str) -> None:
    drawn = matrix().plot(figure)
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    for text in drawn.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent(canvas.get_renderer())
            assert box.x0 >= 0
            assert box.x1 <= drawn.bbox.x1, text.get_text()
            assert box.y0 >= 0
            assert box.y1 <= drawn.bbox.y1


def test_two_listings_are_compared_by_the_last_stage_that_both_have() -> None:
    found = matrix().diff("k0", "a100", "h100")
    assert (found.stage, found.changed) == ("sass", 1)
    assert "-MOV R1, c[0x0][0x28] ;\n+LDC R1, c[0x0][0x28] ;" in found.unified()
    assert repr(found).startswith("k0, sass: a100 and h100, 1 row differs\n~ MOV R1")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: m.frame("warps"), "Unknown metric 'warps'. Choose one of: registers"),
        (lambda m: m.plot("spills"), "Nothing to draw for 'spills'"),
        (lambda m: m.diff("k9", "a100", "h100"), "no kernel 'k9'. It has k0, k1."),
        (lambda m: m.diff("k0", "a100", "b200"), "no GPU 'b200'. It has t4, a100, h100."),
        (
            lambda m: m.diff("k0", "a100", "h100", "ptx"),
            "The ptx of k0 is not available for both a100 and h100; choose one of: sass",
        ),
        (
            lambda m: m.diff("k1", "t4", "a100"),
            "The code of k1 is not available for both .*takes bf16",
        ),
    ],
)
def test_what_is_not_there_is_said(ask: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ask(matrix())


def test_the_summary_is_short_and_stable() -> None:
    lines = repr(matrix()).split("\n")
    assert lines[0] == "Matrix(block, 2 kernels × t4, a100, h100)"
    assert lines[2].split()[-4:] == ["registers", "–", "128", "96"]
    assert lines[-2:] == [
        f"  k1:t4: {WHY}",
        "  occupancy and bounds are modelled; nothing was run",
    ]


def test_the_page_stands_alone(tmp_path: Path) -> None:
    text = matrix().to_html(tmp_path / "matrix.html")
    assert (tmp_path / "matrix.html").read_text(encoding="utf-8") == text
    assert "<script" not in text
    assert "http" not in text
    assert "Occupancy (estimate)" in text
    assert WHY in text


def test_a_notebook_keeps_a_table_and_text() -> None:
    shown = matrix()._repr_mimebundle_()
    assert shown["text/plain"] == repr(matrix())
    assert shown["text/html"].count("<details") == 4


def test_a_saved_record_keeps_the_matrix(tmp_path: Path) -> None:
    matrix().report.save(tmp_path / "m.wbr")
    assert list(Report.load(tmp_path / "m.wbr").matrix) == list(matrix().report.matrix)


def test_a_record_draws_the_figure_that_differs_most() -> None:
    assert matrix().report.plot("matrix").get_suptitle() == "Registers per thread"
    assert "k0 on h100" in make().plot("ranked_configs").get_suptitle()


def test_the_view_of_a_record_shows_its_matrix() -> None:
    made = matrix()
    shown = show(made)
    assert shown.report is made.report
    assert WHY in shown._repr_mimebundle_()["text/html"]


def test_registers_of_two_vendors_are_not_shaded_against_each_other() -> None:
    cells = [
        cell("k0", "a100", registers=32, bound_us=2.0, vendor="nvidia"),
        cell("k0", "mi300x", registers=8, bound_us=1.0, vendor="amd"),
    ]
    report = make()
    tables = {**report.tables, "matrix": Table.of(MatrixCell, cells)}
    made = Matrix(replace(report, tables=tables), ("a100", "mi300x"))
    registers, bounds = heat_map(made, "registers"), heat_map(made, "bound_us")
    assert [shown.shade for shown in registers.rows[0].cells] == [0.0, 0.0]
    assert "per vendor" in registers.caption
    assert [shown.shade for shown in bounds.rows[0].cells] == [0.5, 0.0]
