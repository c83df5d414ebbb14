"""A check of a handle, and the record that keeps it."""

from __future__ import annotations

import torch

import workbench as wb
from tests.own_kernels.faulty_kernels import without_mask
from workbench.views.document import document
from workbench.views.panes.pane import choose_pane


def test_a_check_keeps_the_source_and_its_findings_in_a_record() -> None:
    x, out = torch.ones(1000), torch.empty(1000)
    k = wb.kernel(without_mask, x, x, out, 1000, grid=(4,), target="a100", BLOCK=256)
    found = k.check(lambda x, y, out, n: x + y, fresh="out")
    assert found.ok is False
    assert found.sentence.startswith("Out of bounds: line ")
    report = found.report
    assert (report.request.name, report.request.target) == ("without_mask", "a100")
    (source,) = report.sources
    lines = report.texts[str(source.text)].splitlines()
    (line,) = {row.line for row in report.kernel_findings}
    assert line is not None
    assert "# BUG" in lines[line - source.first_line]
    assert not out.eq(2).any()  # nothing is written to the arguments
    assert choose_pane(report) == "checks"
    shown = document(report)
    assert shown["verdict"] == "checked, not compiled"
    for name in ("kernels", "roofline", "autotune", "matrix", "accesses"):
        (pane,) = (pane for pane in shown["panes"] if pane["id"] == name)
        assert "run on the CPU under watch, and not compiled" in pane["empty"]["text"], name
    (memory,) = (pane for pane in shown["panes"] if pane["id"] == "memory")
    assert "called by itself has no generated program" in memory["empty"]["text"]
    assert "not compiled" in shown["no_assembly"]
