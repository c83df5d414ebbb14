"""A live view compiles for other targets in place: the function behind it is a stand-in here."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from view_mail import Mailbox

from workbench.errors import UsageError
from workbench.report import Kernel, Report, Table
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction
from workbench.views.document import ViewContext
from workbench.views.widgets.display import show


class Engine:
    """Compiles when it is let go."""

    names = ("host", "a100", "t4")
    why_not: str | None = None

    def __init__(self, report: Report):
        self.report = report
        self.go = threading.Event()

    def start(self, target: str) -> BackgroundTask[Any]:
        if target not in self.names:
            raise UsageError(f"There is no target {target!r}.")
        request = replace(self.report.request, target=target)
        return self._job("block", Made(replace(self.report, request=request)))

    def compare(self, targets: Sequence[str]) -> BackgroundTask[Any]:
        return self._job("block", Compared(self.report))

    def _job(self, name: str, result: Any) -> BackgroundTask[Any]:
        def work(steps: Steps) -> Any:
            steps("compiling every kernel", 0.0)
            steps.count(4, 11, "kernel")
            self.go.wait(10)
            return result

        return BackgroundTask(name, work, lambda thread: self.go.set())


class Made:
    """What aot_compile returns, as far as a view looks at it."""

    def __init__(self, report: Report):
        self.report = report
        self.engine = Engine(report)

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        choices = self.engine.names
        return (
            LiveAction("retarget", self.engine.start, choices=choices),
            LiveAction("compare-targets", self.engine.compare, choices=choices),
        )


class Compared:
    """What matrix returns."""

    def __init__(self, report: Report):
        self.report = report


@pytest.fixture
def made(sample_report: Report) -> Made:
    return Made(sample_report)


@pytest.fixture
def mail(made: Made) -> Mailbox:
    return Mailbox(show(made, ViewContext("fast")).live())


def test_the_targets_are_offered_where_the_function_is_alive(mail: Mailbox) -> None:
    _, shown = mail.ask("document")
    assert shown["targets"]["why_not"] is None
    choices = {choice["name"]: choice["words"] for choice in shown["targets"]["choices"]}
    assert choices["host"] == "this machine"
    assert choices["t4"] == "T4 16 GB, sm_75"


def test_another_target_takes_the_place_of_the_first(mail: Mailbox, made: Made) -> None:
    answer, _ = mail.ask("retarget", question={"targets": ["a100"]})
    assert answer["error"] is None
    assert mail.view.progress["status"] == "running"
    assert mail.view.progress["title"] == "Compiling block for a100…"
    assert mail.view.progress["can_cancel"]
    switch = mail.view._live_actions
    made.engine.go.set()
    switch.join(10)
    assert mail.view.progress["status"] == "done"
    _, shown = mail.ask("document")
    assert (shown["target"], shown["variable"]) == ("a100", 'fast.on("a100").report')
    assert shown["targets"]["present"] == "a100"
    assert mail.view.revision == 1


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("triton", 'wb.matrix(fast, targets=["a100", "t4"])'),
        ("cpp", 'wb.matrix(fast.on("a100"), targets=["a100", "t4"])'),  # for the first GPU before
    ],
)
def test_a_comparison_keeps_what_is_compared(
    sample_report: Report, language: Literal["triton", "cpp"], line: str
) -> None:
    kernels = [replace(kernel, language=language) for kernel in sample_report.kernels]
    tables = {**sample_report.tables, "kernels": Table.of(Kernel, kernels)}
    made = Made(replace(sample_report, tables=tables))
    mail = Mailbox(show(made, ViewContext("fast")).live())
    switch = mail.view._live_actions
    counted = threading.Event()
    mail.view.observe(lambda change: "words" in change["new"] and counted.set(), "progress")
    mail.ask("compare-targets", question={"targets": ["a100", "t4"]})
    assert mail.view.progress["title"] == "Compiling block for a100, t4…"
    assert counted.wait(10)
    assert mail.view.progress["words"] == "4 of 11 kernels, compiling every kernel"
    made.engine.go.set()
    switch.join(10)
    _, shown = mail.ask("document")
    assert shown["variable"] == f"{line}.report"
    assert shown["targets"]["why_not"] is None


def test_a_running_one_can_be_cancelled_and_what_was_shown_stays(mail: Mailbox) -> None:
    switch = mail.view._live_actions
    mail.ask("retarget", question={"targets": ["a100"]})
    mail.ask("cancel")
    switch.join(10)
    assert mail.view.progress["status"] == "cancelled"
    _, shown = mail.ask("document")
    assert shown["target"] == "host"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"targets": ["a101"]}, "There is no target 'a101'."),
        ({"targets": ["a100", "t4"]}, "2 were given"),
        ({"targets": []}, "Choose a target first."),
    ],
)
def test_what_cannot_be_compiled_is_a_sentence(
    mail: Mailbox, question: dict[str, Any], words: str
) -> None:
    answer, _ = mail.ask("retarget", question=question)
    assert words in (answer["error"] or "")
    assert mail.view.progress["status"] == "idle"


def test_a_record_alone_says_what_to_type(sample_report: Report) -> None:
    mail = Mailbox(show(sample_report).live())
    _, shown = mail.ask("document")
    assert "wb.aot_compile(fn, args, target=NAME)" in shown["targets"]["why_not"]
    answer, _ = mail.ask("retarget", question={"targets": ["a100"]})
    assert "This view has no live function" in (answer["error"] or "")
