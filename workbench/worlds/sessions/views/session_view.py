"""A session in a notebook: a widget, live while it records, and a static output that stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import traitlets

from workbench.errors import UsageError
from workbench.views.answers.alternatives_text import TONES
from workbench.views.kit.job_queue import IDLE, AskedJob, JobQueue
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.widgets.display import show_row
from workbench.views.wire.advice_messages import ChangeOutcome, PatchQuestion
from workbench.views.wire.codec import pack
from workbench.views.wire.report_messages import Progress
from workbench.worlds.sessions.findings.advice import advice
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sessions.views.messages import SessionDocument
from workbench.worlds.sessions.views.session_document import Status, Trials, document

_OPEN = 4  # reports that are kept in memory
_EVERY_S = 0.5
_IDLE = 125  # seconds without work for each of work: 1 % of the time, the first picture included


class SessionView(RequestWidget):
    """The view of a session; the report of a compile is opened on request, by its row."""

    session = traitlets.Bytes().tag(sync=True)
    progress = traitlets.Dict(dict(IDLE)).tag(sync=True)

    def __init__(
        self,
        session: Session,
        status: Status = "done",
        variable: str = "_",
        live: Session | None = None,
    ) -> None:
        """`live` is the session whose program is here, so that patches can be tried on it."""
        self._live, self._tried = live or session, dict[str, ChangeOutcome]()
        super().__init__(session=pack(self._document(session, status, variable)))
        self.cell, self.variable = "", variable
        self._shown = session
        self.jobs = JobQueue()
        self._report = lru_cache(_OPEN)(lambda at: self._shown.report(at))

    def follow(self, session: Session, status: Status = "done") -> None:
        """Show how far the session is. Any thread may call this."""
        self._shown = session
        if status == "done":  # a backward may have been compiled since a report was opened
            self._report.cache_clear()
        self.session = pack(self._document(session, status, self.variable))

    def _document(self, session: Session, status: Status, variable: str) -> SessionDocument:
        trials = Trials(self._live.why_no_trial, self._tried)
        return document(session, status, variable, trials=trials)

    def _try(self, question: PatchQuestion) -> None:
        """Try a patch after what was asked for before; the view shows what came of it."""
        id = question["id"]
        known = {each.id: each.title for one in advice(self._shown) for each in one.patches}
        if id not in known:
            raise UsageError(f"This session has no patch {id!r}.")

        def show(made: Any) -> None:
            self._tried[id] = {
                "words": made.sentence,
                "tone": TONES[made.verdict],
                "patch": made.patch,
            }
            self.session = pack(self._document(self._shown, "done", self.variable))

        def follow(progress: Progress) -> None:
            self.progress = dict(progress)

        job = AskedJob(
            "try-patch",
            question,
            f"the change “{known[id].replace('`', '')}”",
            "trial",
            takes_place=False,
            start=lambda: self._live.start_patch(id),
            show=show,
            follow=follow,
        )
        self.jobs.add(job)

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return "Workbench view of a session"

    def _answer(self, ask: Any, question: Any) -> Any:
        if ask == "try-patch":
            return self._try(question)
        if ask == "cancel":  # what has ended meanwhile is shown so
            return self.jobs.cancel(None if question is None else question["job"])
        if ask != "row":
            raise UsageError(f"A session has no part {ask!r}: it has row, try-patch and cancel.")
        number = question["row"].partition(":")[2]
        if not (number.isascii() and number.isdecimal()):
            raise UsageError(f"A session has no row {question['row']!r:.80}: rows are compile:N.")
        at = int(number)
        return show_row(self._report(at), question["part"], f"{self.variable}.report({at})")


class Following:
    """Feeds a view while a session records, on a thread of its own, until `end`.

    It rests more than a hundred times as long as it works, so that it takes less than a hundredth
    of the program's time. `around` calls what sends messages of widgets.
    """

    def __init__(
        self,
        recording: Session,
        view: SessionView,
        around: Callable[[Callable[[], object]], object] = lambda call: call(),
    ):
        self._recording, self._view, self._around = recording, view, around
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="session view", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Show the end; returns when nothing is under way."""
        self._done.set()
        self._thread.join()
        self._show()

    def _follow(self) -> None:
        rest = _EVERY_S
        while not self._done.wait(rest) and self._recording.is_running:
            began = time.thread_time()
            self._show()
            rest = max(_EVERY_S, _IDLE * (time.thread_time() - began))
        if not self._done.is_set():  # the session ended, and nobody else shows its end
            self._show()

    def _show(self) -> None:
        status: Status = "running" if self._recording.is_running else "done"
        self._around(lambda: self._view.follow(self._recording.so_far(), status))


def follow(session: Session) -> SessionView:
    """A view of a session; one that records is followed until it stops."""
    is_running = session.is_running
    view = SessionView(session.so_far(), "running" if is_running else "done", live=session)
    if is_running:
        Following(session, view)
    return view
