"""What one view was asked to do: one job at a time, so that none disturbs what another times."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.live_only import LivePart
from workbench.views.wire.report_messages import Job, JobQuestion, Progress, Task
from workbench.views.words.progress_words import describe_progress

if TYPE_CHECKING:
    from workbench.tasks.background_task import BackgroundTask

IDLE: Progress = {
    "status": "idle",
    "title": "",
    "elapsed_s": 0.0,
    "steps": [],
    "kernels": [],
    "can_cancel": False,
    "error": None,
}
"""What a view shows that was asked for nothing."""
_SHORTEST = 0.2  # seconds between two updates of the view
_DOING: dict[Task | None, str] = {
    "measurement": "Measuring",
    "trial": "Trying",
    "saving": "Saving",
    "comparison": "Comparing",
    "watch": "Running",
    **dict.fromkeys((None, "budget", "target"), "Compiling"),
}


@dataclass(frozen=True, eq=False)
class AskedJob:
    """One thing that a view was asked to do; any thread may call its functions.

    `title` names what it is done with, such as "f for h100". `takes_place` is true of what shows
    another record in the view. `start` raises `UsageError` for what cannot be started.
    """

    ask: str
    question: JobQuestion | None
    title: str
    task: Task | None
    takes_place: bool
    start: Callable[[], BackgroundTask[Any]]
    show: Callable[[Any], None]
    follow: Callable[[Progress], None]
    id: int = field(default_factory=count(1).__next__)

    @property
    def doing(self) -> str:
        """What is done, in words: "Compiling f for h100"."""
        return f"{_DOING[self.task]} {self.title}"

    def begun(self) -> BackgroundTask[Any]:
        """The running work; what cannot be started any more fails, as work does."""
        # a page that is only read starts nothing, and does without asyncio
        from workbench.tasks.background_task import BackgroundTask

        try:
            return self.start()
        except Exception as error:
            why = error

            def refuse(_: Any) -> None:
                raise why

            return BackgroundTask(self.title, refuse, lambda thread: None)

    def listed(self, state: str = "", *, is_made: bool = False) -> Job:
        """A line of a list of jobs."""
        return {
            "id": self.id,
            "ask": self.ask,
            "question": self.question,
            "words": f"{self.doing}: {state}" if state else self.doing,
            "is_made": is_made,
        }

    def told(self, task: BackgroundTask[Any]) -> Progress:
        """How far it is, in the words of the view."""
        progress: Progress = task.progress  # type: ignore[assignment]
        is_running = progress["status"] == "running"
        message: Progress = {**progress, "title": f"{self.doing}…" if is_running else self.title}
        if progress["steps"]:
            message["words"] = describe_progress(progress)
        if self.task is not None:
            message["task"] = self.task
        return message


class JobQueue(LivePart):
    """Runs jobs in the order of asking; what takes the place of the record is shown last of all.

    So the others are done with the record that they were asked for, where the reader sees it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now: tuple[AskedJob, BackgroundTask[Any]] | None = None
        self._waiting: list[AskedJob] = []
        self._held: list[tuple[AskedJob, Any]] = []  # what was made to take the place
        self._failed: list[Job] = []
        self._thread: threading.Thread | None = None

    def add(self, job: AskedJob) -> None:
        """Start it, or let it wait for its turn.

        Raises `UsageError` for what cannot be started, for what runs or waits already, and for a
        second one that would take the place of the record.
        """
        with self._lock:
            if self._now is not None:
                self._refuse_second(job)
                self._waiting.append(job)
                self._waiting.sort(key=lambda waiting: waiting.takes_place)
                self._tell()
                return
            self._now, self._failed = (job, job.start()), []
            self._tell()
            self._thread = threading.Thread(target=self._work_off, daemon=True)
            self._thread.start()

    def cancel(self, id: int | None = None) -> bool:
        """End what runs, or the job with this id; False where there is none."""
        with self._lock:
            if self._now is None:
                return False
            job, task = self._now
            if id not in (None, job.id):
                left = [waiting for waiting in self._waiting if waiting.id != id]
                is_there = len(left) < len(self._waiting)
                self._waiting = left
                self._tell()
                return is_there
        return task.cancel()  # it may wait for the end, of which the other thread tells

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end of all."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _refuse_second(self, job: AskedJob) -> None:
        assert self._now is not None
        here = [self._now[0], *self._waiting, *(done for done, _ in self._held)]
        for other in here:
            if (other.ask, other.question) == (job.ask, job.question):
                raise UsageError(f"{other.doing} is already in progress.")
            if other.takes_place and job.takes_place:
                raise UsageError(
                    f"{other.doing} is in progress and will replace this view. Cancel it first."
                )

    def _work_off(self) -> None:
        while self._now is not None:
            job, task = self._now
            while not task.wait(_SHORTEST):
                self._tell()
            with self._lock:
                self._show_due(job, task)
                if not self._waiting:
                    self._now = None
                    self._follow(job, job.told(task))
                    return
                if task.status == "failed":
                    self._failed.append(job.listed(str(task.progress["error"]).partition("\n")[0]))
                following = self._waiting.pop(0)
                self._now = (following, following.begun())
                self._tell()

    def _show_due(self, job: AskedJob, task: BackgroundTask[Any]) -> None:
        """Show what was made, unless it would hide what the others are asked for."""
        if task.status == "done":
            self._held.insert(0, (job, task.result()))
        stay = [pair for pair in self._held if pair[0].takes_place and self._waiting]
        due, self._held = [pair for pair in self._held if pair not in stay], stay
        for done, result in due:
            try:
                done.show(result)
            except Exception as error:  # the others are to have their turn
                warnings.warn(f"{done.title} could not be shown: {error!r}", stacklevel=2)

    def _tell(self) -> None:
        """Tell the view how far it is; under the lock, so that no older word comes last."""
        with self._lock:
            if self._now is not None:
                job, task = self._now
                held = "done, shown after the others"
                jobs = [
                    job.listed(),
                    *(waiting.listed() for waiting in self._waiting),
                    *(done.listed(held, is_made=True) for done, _ in self._held),
                ]
                self._follow(job, {**job.told(task), "jobs": jobs})

    def _follow(self, job: AskedJob, progress: Progress) -> None:
        """Tell the view; one that cannot be told any more keeps no job from its turn."""
        try:
            job.follow({**progress, "failed": list(self._failed)} if self._failed else progress)
        except Exception as error:
            warnings.warn(f"{job.title}: its view was not notified ({error!r})", stacklevel=2)
