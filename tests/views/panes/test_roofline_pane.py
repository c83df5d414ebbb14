"""The roofline: of a record with kernels for a GPU, and of one without."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.views.document import document
from workbench.views.pages.report_page import page


def test_kernels_stand_under_the_roof_of_their_gpu(sample_report: Report) -> None:
    made = document(sample_report)
    (roof,) = made["roofs"]
    assert (roof["target"], roof["bandwidth_gbs"]) == ("h100", 3352.0)
    assert roof["rates"] == [("matrix.tf32", 494.7), ("vector.fp32", 66.9)]
    shares = {point["kernel"]: point["share"] for point in made["points"]}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
    assert shares["k2"] == pytest.approx(2.17 / (1.25 + 0.63 + 2.17), abs=1e-3)  # not all measured
    assert [point["measured_us"] for point in made["points"]] == [None, 1.1, None]


def test_shares_are_measured_where_all_kernels_are(sample_report: Report) -> None:
    rows = [replace(row, measured_us=2.0) for row in sample_report.roofline]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    points = document(replace(sample_report, tables=tables))["points"]
    assert {point["share"] for point in points} == {0.3333}


def test_without_scripts_it_is_a_table_that_says_that_it_is_a_model(sample_report: Report) -> None:
    assert "Least time of each kernel by the roofline model (estimate)" in page(sample_report)


@pytest.mark.parametrize(
    ("kernels", "words"),
    [(1, 'wb.aot_compile(fn, args, target="h100")'), (0, "There is no kernel to place under it.")],
)
def test_without_a_gpu_it_says_what_to_type(
    sample_report: Report, kernels: int, words: str
) -> None:
    rows = list(sample_report.kernels)[:kernels]
    made = document(replace(sample_report, tables={"kernels": Table.of(Kernel, rows)}))
    (head,) = (pane for pane in made["panes"] if pane["id"] == "roofline")
    assert made["points"] == []
    assert words in (head["empty"] or {})["text"]
