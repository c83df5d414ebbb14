"""A check of a handle, and the record that keeps it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs.faulty_kernels import without_mask
from tests.worlds.own_kernels.programs.kernels import add
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
    assert (shown["verdict"], shown["tone"]) == ("not compiled, 3 findings", "break")
    for name in ("kernels", "roofline", "autotune", "matrix", "accesses"):
        (pane,) = (pane for pane in shown["panes"] if pane["id"] == name)
        assert "It was not compiled: k.report compiles it" in pane["empty"]["text"], name
    (memory,) = (pane for pane in shown["panes"] if pane["id"] == "memory")
    assert "single kernel has no generated program" in memory["empty"]["text"]
    assert "not compiled" in shown["no_assembly"]


@pytest.mark.parametrize(
    ("function", "like", "state", "says"),
    [
        (without_mask, torch.ones(1000), "not compiled, 3 findings", "Out of bounds: line "),
        (add, torch.ones(1000), "not compiled, checked: nothing found", "Nothing found in add"),
        (
            add,
            torch.ones(1000).to("meta"),
            "not compiled, not checked",
            "Checked in part: nothing ",
        ),
    ],
    ids=["findings", "nothing found", "sizes alone"],
)
def test_a_record_never_says_ok_of_what_was_not_checked(
    function: Any, like: torch.Tensor, state: str, says: str
) -> None:
    k = wb.kernel(function, like, like, torch.empty_like(like), 1000, grid=(4,), BLOCK=256)
    checked = k.check(cases=None).report
    assert repr(checked) == (
        f"Report({function.__name__}, h100, {state}, 0 kernels, 0 configurations)"
    )
    assert document(checked)["verdict"] == state
    words = " ".join(str(checked).split())
    assert f"{function.__name__}, not compiled for h100. {says}" in words
    assert "under watch" not in words
    if state.endswith("findings"):
        assert "report.frame('kernel_findings')" in words


def test_a_record_that_was_compiled_says_beside_it_what_a_check_found() -> None:
    k = wb.kernel(without_mask, *(torch.ones(1000),) * 3, 1000, grid=(4,), BLOCK=256)
    k.check(cases=None)
    assert repr(k.report).startswith("Report(without_mask, h100, ok, 3 findings, 1 kernel,")
    assert "\nchecked       Out of bounds: line " in str(k.report)
