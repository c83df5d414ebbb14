"""A live view tries an opportunity and shows what was measured; the compiler is a stand-in here."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from opportunity_cases import copied
from view_mail import Mailbox

import workbench as wb
from workbench.analysis.diff.report_comparison import compare
from workbench.analysis.opportunities.opportunity import Cost, Opportunity, Tried
from workbench.report import Report
from workbench.report.paired import PairedTimes
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction
from workbench.views.widgets.display import show


class Made:
    """What aot_compile returns, as far as a view tries its opportunities."""

    def __init__(self, report: Report):
        self.report = report
        self.go = threading.Event()

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        return (LiveAction("try", self.try_in_background),)

    def try_in_background(self, change: Opportunity) -> BackgroundTask[Any]:
        def work(steps: Steps) -> Tried:
            steps("compile", 0.0)
            self.go.wait(10)
            steps("compare", 0.0)
            costs = Cost(3, 4_000_000, call_us=80.0), Cost(2, 3_000_000, call_us=60.0)
            diff = compare(self.report, self.report, ("as it is", change.rule))
            times = PairedTimes((80.0,) * 20, (60.0,) * 20)
            return Tried(change, *costs, True, "Outputs agree (rtol 1e-06).", None, diff, times)

        return BackgroundTask(change.rule, work, lambda thread: self.go.set())


@pytest.fixture
def made(sample_report: Report) -> Made:
    return Made(sample_report)


@pytest.fixture
def mail(made: Made) -> Mailbox:
    return Mailbox(show(made).live())


def test_what_was_measured_stands_beside_what_was_predicted(mail: Mailbox, made: Made) -> None:
    _, shown = mail.ask("document")
    first = next(row for row in shown["advice"]["rows"] if row["change"]["why_not"] is None)
    assert first["tried"] is None
    answer, _ = mail.ask("try", question={"opportunity": first["id"]})
    assert answer["error"] is None
    assert mail.view.progress["title"] == f"Trying block with {first['rule']}…"
    assert mail.view.progress["can_cancel"]
    again, _ = mail.ask("try", question={"opportunity": first["id"]})
    assert "already in progress" in (again["error"] or "")
    made.go.set()
    mail.view._live_actions.join(10)
    _, shown = mail.ask("document")
    (tried,) = [row["tried"] for row in shown["advice"]["rows"] if row["id"] == first["id"]]
    assert tried["rows"] == [
        ["Kernels, counted", "3", "2"],
        ["Traffic, counted", "4.00 MB", "3.00 MB"],
        ["Call, minimum", "80.0 µs", "60.0 µs"],
        ["Call, median", "80.0 µs", "60.0 µs"],
    ]
    assert tried["times"]["verdict"] == "faster"
    assert tried["saved"] == "20.0 µs"
    assert tried["agrees"] is True
    _, difference = mail.ask(tried["part"])
    assert difference["a"]["name"] == "as it is"


def test_one_that_runs_can_be_cancelled(mail: Mailbox) -> None:
    _, shown = mail.ask("document")
    first = next(row for row in shown["advice"]["rows"] if row["change"]["why_not"] is None)
    mail.ask("try", question={"opportunity": first["id"]})
    mail.ask("cancel")
    mail.view._live_actions.join(10)
    assert mail.view.progress["status"] == "cancelled"
    _, shown = mail.ask("document")
    assert all(row["tried"] is None for row in shown["advice"]["rows"])


def test_a_record_alone_says_why_nothing_can_be_tried(sample_report: Report) -> None:
    mail = Mailbox(show(sample_report).live())
    _, shown = mail.ask("document")
    assert all(row["change"]["why_not"] is not None for row in shown["advice"]["rows"])
    answer, _ = mail.ask("try", question={"opportunity": "o0"})
    assert "no live function" in (answer["error"] or "")
    answer, _ = mail.ask("tried:o0")
    assert "was not tried here" in (answer["error"] or "")


def test_a_real_one_is_compiled_in_the_background() -> None:
    inputs = torch.randn(96, 64), torch.randn(96, 80)
    mail = Mailbox(show(wb.aot_compile(copied, inputs, grad=False)).live())
    answer, _ = mail.ask("try", question={"opportunity": "o0"})
    assert answer["error"] is None
    mail.view._live_actions.join(60)
    assert mail.view.progress["status"] == "done"
    assert len(mail.view.progress["steps"]) > 3
    _, shown = mail.ask("document")
    tried = shown["advice"]["rows"][0]["tried"]
    assert tried["rows"][0] == ["Kernels, counted", "3", "2"]
    assert tried["agrees"]
