"""Starts what a live view asks for while its call is alive, and shows what comes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.wire.document import CureQuestion, Progress
from workbench.views.wire.machine import TargetQuestion

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

_SHORTEST = 0.2  # seconds between two updates of the view


class Switch:
    """Starts what the front end asks for and follows it; one at a time.

    `engine` compiles: it has `start(target)` and `compare(targets)`, which return a job, and
    `first_for(targets)`, what has to be compiled before kernels can be compared. `present`
    shows a result in the view; its text is the line of Python that gives the same. `measuring`
    has a `start()` of its own, after whose job the report that is shown has the times. `trying`
    starts to try an opportunity, `budgets` to look at memory budgets: the report has them then.
    `cures` starts to try a cure of a graph break. What is None cannot be asked for.
    """

    def __init__(
        self,
        engine: Any,
        variable: str,
        present: Callable[[Any, str, View], None],
        measuring: Any = None,
        trying: Callable[[Opportunity], Any] | None = None,
        budgets: Any = None,
        cures: Any = None,
    ):
        self._engine = engine
        self._variable = variable
        self._present = present
        self._measuring = measuring
        self._trying = trying
        self._budgets = budgets
        self._cures = cures
        self._job: Any = None
        self._title, self._doing = "", "compiled"
        self._thread: threading.Thread | None = None

    def __call__(self, view: View, ask: str, question: TargetQuestion) -> None:
        """Start; raises `UsageError` for what cannot be compiled and while something is."""
        self._refuse_while_running()
        if self._engine is None:
            raise UsageError("What is shown here was not compiled: compile it with aot_compile.")
        names = question["targets"]
        if ask == "retarget":
            if len(names) != 1:
                raise UsageError(f"One target takes the place of another: {len(names)} were given.")
            job = self._engine.start(names[0])
            self._follow(
                view, job, f"{job.name} for {names[0]}", f'{self._variable}.on("{names[0]}")'
            )
        else:
            listed = ", ".join(f'"{name}"' for name in names)
            job = self._engine.compare(names)
            first = self._engine.first_for(names)
            compared = self._variable if first is None else f'{self._variable}.on("{first}")'
            line = f"wb.matrix({compared}, targets=[{listed}])"
            self._follow(view, job, job.name, line)

    def measure(self, view: View) -> None:
        """Start to measure; raises `UsageError` where that cannot be and while something runs."""
        self._refuse_while_running()
        if self._measuring is None:
            raise UsageError("What is shown here cannot be measured: call `.profile(*args)` on it.")
        job = self._measuring.start()
        self._job, self._title, self._doing = job, job.name, "measured"
        self._run(view, lambda: _state(job, job.name, task="measurement"))

    def budget(self, view: View, budget: float | None) -> None:
        """Start to look at memory budgets, or to compile one; raises `UsageError` as `measure`."""
        self._refuse_while_running()
        if self._budgets is None:
            raise UsageError("What is shown here has no budgets: compile it with aot_compile.")
        job = self._budgets.start(budget)
        self._job, self._title, self._doing = job, job.name, "compiled"
        self._run(view, lambda: _state(job, job.name, task="budget"))

    def attempt(self, view: View, change: Opportunity) -> None:
        """Start to try an opportunity; raises `UsageError` as `measure` does."""
        self._refuse_while_running()
        if self._trying is None:
            raise UsageError("What is shown here cannot be tried: compile it with aot_compile.")
        job = self._trying(change)
        self._job, self._title, self._doing = job, job.name, "tried"

        def show() -> None:
            view.learn_trial(change.key, job.result())

        self._run(view, lambda: _state(job, job.name, task="trial"), show)

    def cure(self, view: View, report: Report, question: CureQuestion) -> None:
        """Start to try a cure of a graph break; raises `UsageError` as `measure` does."""
        self._refuse_while_running()
        if self._cures is None:
            raise UsageError("The function is not alive here: show what wb.explain returned.")
        key = question["id"], question["cure"]
        job = self._cures.start(report, *key)
        self._job, self._title, self._doing = job, job.name, "tried"

        def show() -> None:
            view.learn_cure(key, job.result())

        self._run(view, lambda: _state(job, job.name, task="trial"), show)

    def _refuse_while_running(self) -> None:
        if self._job is not None and not self._job.done():
            raise UsageError(f"{self._title} is still being {self._doing}: cancel it first.")

    def cancel(self) -> bool:
        """End what runs; False when nothing does."""
        return self._job is not None and bool(self._job.cancel())

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _follow(self, view: View, job: Any, title: str, line: str) -> None:
        self._job, self._title, self._doing = job, title, "compiled"

        def show() -> None:
            self._present(job.result(), line, view)

        self._run(view, lambda: _state(job, title), show)

    def _run(
        self,
        view: View,
        state: Callable[[], Progress],
        show: Callable[[], object] = lambda: None,
    ) -> None:
        job = self._job
        view.follow(state())

        def until_end() -> None:
            while not job.wait(_SHORTEST):
                view.follow(state())
            if job.progress["status"] == "done":
                show()
            view.follow(state())

        self._thread = threading.Thread(target=until_end, daemon=True)
        self._thread.start()


Task = Literal["measurement", "trial", "budget"]
_DOING = {None: "Compiling", "measurement": "Measuring", "trial": "Trying", "budget": "Compiling"}


def _state(job: Any, title: str, task: Task | None = None) -> Progress:
    found: Progress = job.progress
    if found["status"] == "running":
        title = f"{_DOING[task]} {title}…"
    shown: Progress = {**found, "title": title}
    return shown if task is None else {**shown, "task": task}
