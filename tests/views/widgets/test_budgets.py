"""A live view looks at memory budgets and compiles one; the compiler is a stand-in here."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from view_mail import Mailbox

from workbench.report import Report
from workbench.report.report_holder import ReportHolder
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction
from workbench.views.widgets.display import show

LAYERS = Report.load(Path(__file__).parents[2] / "records" / "layers.wbr")
TABLES = ("memory_budgets", "recomputed")
BEFORE = replace(LAYERS, tables={k: v for k, v in LAYERS.tables.items() if k not in TABLES})


class Made(ReportHolder):
    """What aot_compile returns, as far as a view tries its budgets."""

    def __init__(self) -> None:
        self.report = BEFORE
        self.go = threading.Event()
        self.asked: list[float | None] = []

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        return LiveAction("budgets", lambda: self.start(None)), LiveAction("budget", self.start)

    def update(self, report: Report) -> None:
        before, self.report = self.report, report
        self._notify(before, report)

    def start(self, budget: float | None) -> BackgroundTask[None]:
        self.asked.append(budget)

        def work(steps: Steps) -> None:
            steps("compile", 0.0)
            self.go.wait(10)
            steps("count", 0.0)
            self.update(LAYERS)

        return BackgroundTask("step, budgets", work, lambda thread: self.go.set())


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def mail(made: Made) -> Mailbox:
    return Mailbox(show(made).live())


def test_budgets_come_into_the_view_when_they_are_known(mail: Mailbox, made: Made) -> None:
    _, shown = mail.ask("document")
    assert (shown["actions"]["budgets"], shown["has_budgets"]) == (None, False)
    answer, _ = mail.ask("budgets", question={"budget": 1})
    assert answer["error"] is None
    assert mail.view.progress["title"] == f"Compiling {mail.view.report.request.name}, budgets…"
    assert (mail.view.progress["task"], mail.view.progress["can_cancel"]) == ("budget", True)
    again, _ = mail.ask("budgets", question={"budget": 1})
    assert "already in progress" in (again["error"] or "")
    made.go.set()
    mail.view._live_actions.join(10)
    _, shown = mail.ask("document")
    assert shown["has_budgets"]
    _, part = mail.ask("budgets:")
    assert (
        part["best"]
        == min((r for r in part["rows"] if r["peak"]), key=lambda r: r["peak"])["budget"]
    )
    mail.ask("budget", question={"budget": 0.2})
    mail.view._live_actions.join(10)
    assert made.asked == [None, 0.2]


def test_one_that_is_compiled_can_be_cancelled(mail: Mailbox) -> None:
    mail.ask("budget", question={"budget": 0.5})
    mail.ask("cancel")
    mail.view._live_actions.join(10)
    assert mail.view.progress["status"] == "cancelled"
    _, shown = mail.ask("document")
    assert not shown["has_budgets"]


def test_a_record_alone_says_why_none_can_be_compiled() -> None:
    mail = Mailbox(show(LAYERS).live())
    _, shown = mail.ask("document")
    assert "no live function" in shown["actions"]["budgets"]
    answer, _ = mail.ask("budget", question={"budget": 0.5})
    assert "no live function" in (answer["error"] or "")
    _, part = mail.ask("budgets:")
    assert part["own"] == 1.0
