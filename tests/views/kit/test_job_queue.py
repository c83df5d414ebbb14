"""Several things asked of one view: one runs, the others wait, each can be taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from view_mail import Mailbox

from workbench.errors import UsageError
from workbench.report import Report
from workbench.tasks.background_task import BackgroundTask
from workbench.tasks.live_action import LiveAction
from workbench.views.document import ViewContext
from workbench.views.kit.job_queue import AskedJob, JobQueue
from workbench.views.kit.live_actions import list_actions
from workbench.views.widgets.display import show


class Bench:
    """What aot_compile returns, whose work ends when it is let go, one piece after the other."""

    def __init__(self, report: Report):
        self.report = report
        self.begun: list[str] = []
        self.go: dict[str, threading.Event] = {}

    def work(self, name: str, make: Callable[[], Any] = lambda: None) -> BackgroundTask[Any]:
        """One piece, called so."""
        self.begun.append(name)
        event = self.go.setdefault(name, threading.Event())

        def wait(_: Any) -> Any:
            event.wait(10)
            return make()

        return BackgroundTask(name, wait, lambda thread: event.set())

    def let(self, *names: str) -> None:
        """These pieces end, also those that have not begun."""
        for name in names:
            self.go.setdefault(name, threading.Event()).set()

    def retarget(self, target: str) -> BackgroundTask[Any]:
        request = replace(self.report.request, target=target)
        return self.work(target, lambda: Bench(replace(self.report, request=request)))

    def save(self, path: str) -> BackgroundTask[Any]:
        if path == "there.aot":
            raise UsageError("there.aot already exists. Choose another name.")
        return self.work(path)

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        return (
            LiveAction("retarget", self.retarget, choices=("a100", "t4")),
            LiveAction("save", self.save),
            LiveAction("profile", lambda: self.work("profile")),
        )


@pytest.fixture
def bench(sample_report: Report) -> Bench:
    return Bench(sample_report)


@pytest.fixture
def mail(bench: Bench) -> Mailbox:
    return Mailbox(show(bench, ViewContext("fast")).live())


def ask(mail: Mailbox, name: str, **question: Any) -> str | None:
    """Ask for something; why not, or None."""
    answer, _ = mail.ask(name, question=question or None)
    return answer["error"]


def words(mail: Mailbox) -> list[str]:
    return [job["words"] for job in mail.view.progress.get("jobs", ())]


def join(mail: Mailbox) -> None:
    mail.view._live_actions.join(10)


def test_one_runs_and_the_others_wait_for_their_turn(mail: Mailbox, bench: Bench) -> None:
    asked = [ask(mail, "profile"), ask(mail, "save", path="a.aot"), ask(mail, "save", path="b.aot")]
    assert asked == [None, None, None]
    assert bench.begun == ["profile"]
    assert words(mail) == ["Measuring block", "Saving a.aot", "Saving b.aot"]
    bench.let("profile", "a.aot", "b.aot")
    join(mail)
    assert bench.begun == ["profile", "a.aot", "b.aot"]
    assert (mail.view.progress["status"], words(mail)) == ("done", [])


def test_each_can_be_taken_back(mail: Mailbox, bench: Bench) -> None:
    ask(mail, "profile")
    ask(mail, "save", path="a.aot")
    ask(mail, "save", path="b.aot")
    _, second, _ = mail.view.progress["jobs"]
    assert ask(mail, "cancel", job=second["id"]) is None
    assert words(mail) == ["Measuring block", "Saving b.aot"]
    assert ask(mail, "cancel", job=second["id"]) is None  # it is gone already
    assert words(mail) == ["Measuring block", "Saving b.aot"]
    bench.let("b.aot")
    assert ask(mail, "cancel") is None  # what runs; the other one has its turn
    join(mail)
    assert bench.begun == ["profile", "b.aot"]
    assert mail.view.progress["status"] == "done"


def test_what_is_asked_for_is_not_asked_for_twice(mail: Mailbox, bench: Bench) -> None:
    ask(mail, "profile")
    ask(mail, "save", path="a.aot")
    twice = "Saving a.aot is already in progress."
    assert ask(mail, "save", path="a.aot") == twice
    assert ask(mail, "retarget", targets=["a100"]) is None
    why = ask(mail, "retarget", targets=["t4"]) or ""
    assert why.startswith("Compiling block for a100 is in progress and will replace this view")
    bench.let("profile", "a.aot", "a100")
    join(mail)


@pytest.mark.parametrize("first", ["profile", "retarget"])
def test_what_takes_the_place_of_the_record_is_shown_after_the_others(
    mail: Mailbox, bench: Bench, first: str
) -> None:
    queue = mail.view._live_actions
    asks: dict[str, dict[str, Any]] = {"profile": {}, "retarget": {"targets": ["a100"]}}
    for name in sorted(asks, key=lambda name: name != first):
        assert ask(mail, name, **asks[name]) is None
    assert ask(mail, "save", path="a.aot") is None  # asked for last, of what is shown
    bench.let("a100")
    if first == "retarget":
        while len(bench.begun) < 2:
            queue.join(0.01)
        assert words(mail)[-1] == "Compiling block for a100: done, shown after the others"
    assert mail.view.report.request.target == "host"
    bench.let("profile", "a.aot")
    queue.join(10)
    assert sorted(bench.begun[:2], key=len) == ["a100", "profile"] or bench.begun[-1] == "a100"
    assert mail.view.report.request.target == "a100"
    assert mail.view.progress["status"] == "done"


def test_one_that_fails_leaves_the_others_their_turn_and_is_told(
    mail: Mailbox, bench: Bench
) -> None:
    ask(mail, "profile")
    ask(mail, "save", path="there.aot")
    ask(mail, "save", path="a.aot")
    bench.let("profile", "a.aot")
    join(mail)
    assert bench.begun == ["profile", "a.aot"]
    assert mail.view.progress["status"] == "done"
    (failed,) = mail.view.progress["failed"]
    assert failed["words"] == ("Saving there.aot: there.aot already exists. Choose another name.")
    ask(mail, "save", path="c.aot")
    assert "failed" not in mail.view.progress  # it was told; this is another time
    bench.let("c.aot")
    join(mail)


def test_the_last_one_that_cannot_be_started_ends_as_failed(mail: Mailbox, bench: Bench) -> None:
    ask(mail, "profile")
    ask(mail, "save", path="there.aot")
    bench.let("profile")
    join(mail)
    progress = mail.view.progress
    assert (progress["status"], progress["title"]) == ("failed", "there.aot")
    assert "already exists" in progress["error"]


def test_a_view_that_cannot_be_told_keeps_no_job_from_its_turn() -> None:
    done: list[str] = []
    queue, first = JobQueue(), threading.Event()

    def ask_for(name: str, wait: Callable[[], object], follow: Callable[[Any], None]) -> None:
        def start() -> BackgroundTask[Any]:
            return BackgroundTask(name, lambda _: wait(), lambda thread: None)

        def show_it(result: Any) -> None:
            done.append(name)

        queue.add(
            AskedJob(
                name, None, name, None, takes_place=False, start=start, show=show_it, follow=follow
            )
        )

    def fail(progress: Any) -> None:
        raise OSError("the comm is closed")

    def ask_for_both() -> None:
        ask_for("one", lambda: first.wait(10), fail)
        ask_for("two", lambda: None, lambda progress: None)
        first.set()
        queue.join(10)

    with pytest.warns(UserWarning, match="its view was not notified"):
        ask_for_both()
    assert done == ["one", "two"]


def test_whatever_a_view_can_be_asked_for_has_a_word_for_what_it_does() -> None:
    for id, action in list_actions().items():
        job = AskedJob(id, None, "f", action.task, False, Mock(), Mock(), Mock())
        assert job.doing.endswith("ing f")
