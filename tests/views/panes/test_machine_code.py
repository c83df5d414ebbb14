from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.report import Report
from workbench.views import blocks as b
from workbench.views.limits import Limits
from workbench.views.panes import machine_code

RECORD = Path(__file__).parents[2] / "records" / "norm_h100.wbr"


def test_a_page_lists_configurations_and_the_assembly_of_the_first() -> None:
    grid, note, code = machine_code.blocks(Report.load(RECORD), Limits())
    assert isinstance(grid, b.Grid)
    (row,) = grid.rows
    assert row == ("k1", "XBLOCK=1, 2 warps", "18", "0", "8 B", "100 %", "warps", "96")
    assert isinstance(note, b.Note)
    assert "estimate" in note.title
    assert isinstance(code, b.Code)
    assert (code.title, code.language) == ("PTX of k1", "ptx")
    assert ".target sm_90a" in code.text


def test_a_short_summary_leaves_the_assembly_out() -> None:
    report = Report.load(RECORD)
    short = replace(Limits(), text=Limits.for_notebook().text)
    assert [type(block) for block in machine_code.blocks(report, short)] == [b.Grid, b.Note]


def test_a_compilation_for_the_cpu_has_none(sample_report: Report) -> None:
    assert list(machine_code.blocks(replace(sample_report, tables={}), Limits())) == []
