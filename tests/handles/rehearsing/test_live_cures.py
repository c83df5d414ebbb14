"""A cure is tried in the background, of a call whose inputs somebody still holds."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.handles.rehearsing.live_cures import BrokenCompilation
from workbench.tasks.background_task import BackgroundTask


class Printing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * 2

    def inner(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("in between")
        return y.sin()


def start_cure(alive: Any, *given: Any) -> BackgroundTask[Any]:
    (cure,) = (action for action in alive.live_actions if action.id == "cure")
    return cure.start(*given)


def test_each_cure_of_an_explanation_can_be_tried(capsys: pytest.CaptureFixture[str]) -> None:
    found = wb.explain(Printing(), (torch.ones(3),))  # a small input is kept
    capsys.readouterr()
    first, *_, explicit = (
        start_cure(found, found.report, "b0", number).result(60) for number in range(3)
    )
    assert (first.verdict, first.graphs_before, first.graphs_after) == ("cures", 3, 1)
    assert "+        if not torch.compiler.is_compiling():" in first.patch
    assert (explicit.verdict, explicit.breaks_after) == ("explicit", 1)
    assert capsys.readouterr().out == ""


def test_a_compilation_that_ended_at_a_break_has_the_same_cures() -> None:
    x = torch.ones(3)
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(Printing(), (x,), backend="eager")
    report = caught.value.report
    assert report is not None
    broken = BrokenCompilation.of(report, Printing(), (x,), {})
    assert start_cure(broken, report, "b0", 0).result(60).verdict == "cures"


def test_what_cannot_be_tried_says_why() -> None:
    x = torch.ones(5 << 20)
    found = wb.explain(Printing(), (x,))
    with pytest.raises(wb.UsageError, match="Break 'b0' in this report has no fix 9"):
        start_cure(found, found.report, "b0", 9)
    with pytest.raises(wb.UsageError, match="'b7'"):
        start_cure(found, found.report, "b7", 0)
    del x
    gc.collect()
    with pytest.raises(wb.UsageError, match=r"is gone\. Keep it in a variable"):
        start_cure(found, found.report, "b0", 0)
