"""What kernels became for a GPU, where no script runs."""

from __future__ import annotations

from pathlib import Path

from workbench.report import Report
from workbench.views.presenters import VIEWS

RECORD = Report.load(Path(__file__).parents[2] / "records" / "norm_h100.wbr")


def test_a_page_lists_configurations_and_the_assembly_of_the_first() -> None:
    text = VIEWS.page(RECORD)
    assert "Configurations, counted in compiled code" in text
    for fact in ("registers 18", "spills none", "shared memory 8 B", "instructions 96"):
        assert fact in text
    assert "occupancy 100 %, limited by warps (estimate)" in text
    assert "PTX of k1" in text
    assert ".target sm_90a" in text.replace('<i class="k">', "").replace("</i>", "")


def test_a_short_summary_leaves_the_assembly_out() -> None:
    text = VIEWS.fragment(RECORD)
    assert "registers 18" in text
    assert ".target sm_90a" not in text


def test_a_compilation_for_the_cpu_has_none(sample_report: Report) -> None:
    assert "Configurations" not in VIEWS.page(sample_report).partition('class="wb-record"')[0]
