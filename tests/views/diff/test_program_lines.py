"""Two programs line by line, with what each line costs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.analysis.diff.difference import Diff
from workbench.report import Report
from workbench.views.diff.diff_page import build_blocks
from workbench.views.diff.program_lines import compare_programs
from workbench.views.kit.blocks import Section

RECORDS = Path(__file__).parents[2] / "records"


def before(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x @ w)
    return y / y.sum(-1, keepdim=True)


def after(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x @ w)
    y = y + 1
    return y / y.sum(-1, keepdim=True)


@pytest.fixture(scope="module")
def changed() -> Diff:
    inputs = (torch.randn(16, 32), torch.randn(32, 64))
    one, other = (wb.aot_compile(f, inputs, grad=False) for f in (before, after))
    shown = wb.show(one, other)
    assert isinstance(shown, Diff)
    return shown


def test_lines_are_aligned_and_what_changed_is_marked(changed: Diff) -> None:
    program = compare_programs(changed)
    kinds = [line["kind"] for line in program["lines"]]
    assert kinds == ["changed", "same", "added", "same"]  # the name of the function is another
    added = program["lines"][2]
    assert (added["left"], added["before"], added["after"]) == (None, None, "    y = y + 1")
    first = before.__code__.co_firstlineno
    assert [line["left"] for line in program["lines"]] == [first, first + 1, None, first + 2]


def test_costs_of_one_kind_are_beside_the_lines_of_both(changed: Diff) -> None:
    program = compare_programs(changed)
    assert program["cost"] == "DRAM traffic (estimate)"
    assert program["costs"][0] == ["", ""]
    assert all(program["costs"][1])
    assert program["costs"][2][0] == ""


def test_a_page_has_the_lines_that_differ(changed: Diff) -> None:
    sections = [block for block in build_blocks(changed).blocks if isinstance(block, Section)]
    assert sections[0].title == "Program, line by line"


def test_numbers_in_names_of_the_user_count() -> None:
    """They do not in generated code, where `tmp1` and `tmp2` are one."""

    def one(x: torch.Tensor) -> torch.Tensor:
        tmp1 = x + 1
        tmp2 = x * 2
        return tmp1 - tmp2

    def two(x: torch.Tensor) -> torch.Tensor:
        tmp1 = x + 1
        tmp2 = x * 2
        return tmp2 - tmp1

    reports = [wb.explain(f, (torch.ones(4),)).report for f in (one, two)]
    program = compare_programs(wb.diff(*reports))
    assert program["lines"][-1]["kind"] == "changed"


def test_a_report_without_lines_says_so() -> None:
    report = Report.load(RECORDS / "block.wbr")
    bare = wb.aot_compile(torch.nn.Linear(4, 4), (torch.ones(2, 4),), grad=False).report
    found = compare_programs(wb.diff(report, bare))
    assert found["missing"] == "The programs are not compared: no source lines in Linear."
    assert found["lines"] == []
    same = compare_programs(wb.diff(report, report))
    assert {line["kind"] for line in same["lines"]} == {"same"}
