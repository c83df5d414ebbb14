"""A session that records, from `with` or `start` until it is stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any, Self, TypeVar

import torch

from workbench.analysis.changes.tried_change import TriedChange
from workbench.arguments import checked
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import UsageError
from workbench.live_only import LiveOnly
from workbench.report.presenter import presenter
from workbench.report.program.program_record import Capture, Steps
from workbench.report.program.record_rows import ProgramHeader
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.tasks.background_task import BackgroundTask
from workbench.temporary import make_temporary_folder
from workbench.worlds.sessions.handles.recompile_trials import start_trial, try_candidates
from workbench.worlds.sessions.recording.session_recorder import SessionRecorder
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables
from workbench.worlds.world import list_worlds

Item = TypeVar("Item")


class LiveSession(LiveOnly, Session):
    """Record a session of this process; its tables and reports are current when read."""

    def __init__(
        self,
        capture: Capture = "light",
        steps: Steps = None,
        *,
        profile: bool = False,
    ):
        if capture not in ("light", "full"):
            raise UsageError(f"capture={capture!r}: pass 'light' or 'full'.")
        if steps not in (None, "optimizer"):
            raise UsageError(
                f"steps={steps!r}: pass None and call step() or iterate over steps(loader), or "
                "pass 'optimizer' to end a step with each optimizer step."
            )
        super().__init__(ProgramHeader(capture=capture), make_empty_tables(), {})
        self._capture, self._ends_at_optimizer = capture, steps == "optimizer"
        self._recorder: SessionRecorder | None = None
        self._profiler = SessionProfile() if profile else None
        self._profile: Any = None
        self._matched: Any = None

    def start(self) -> Self:
        """Start recording; raises `UsageError` if it has started, or another session records."""
        if self._recorder is not None:
            raise UsageError("This session has already started: create another with wb.session().")
        recorder = SessionRecorder(self._capture, ends_at_optimizer=self._ends_at_optimizer)
        recorder.start()
        try:
            if self._profiler is not None:
                self._profiler.start()
        except BaseException:
            recorder.stop()
            raise
        self._recorder = recorder
        return self

    def stop(self) -> Self:
        """Remove every hook; the records stay. A second call does nothing.

        Possible advice on recompiles is tried on copies of the calls, for 20 s at most.
        """
        return self._stopped(is_tried=True)

    def _stopped(self, *, is_tried: bool) -> Self:
        if self._recorder is None:
            raise UsageError("This session has not started: call start(), or use it with `with`.")
        is_first = self._recorder.is_running
        try:
            if self._profiler is not None and is_first:
                self._profile = self._profiler.stop()
        finally:
            self._recorder.stop()
        if is_first and is_tried:
            try_candidates(self._recorder)
        return self

    @property
    def profile(self) -> Any:
        """The torch.profiler trace from start to stop; see `wb.read_profile`.

        On a GPU, its kernels have the lines and nodes of the reports that the session kept. Raises
        `UsageError` while it records, and if it takes no profile.
        """
        if self._profile is None:
            raise UsageError(
                "The profile is available after the session stops: leave `with`, or call stop()."
                if self._profiler is not None
                else "This session has no profile: start it with wb.session(profile=True)."
            )
        if self._matched is None:
            ids = [row.id for row in self.tables["compiles"]]
            named = {f"{at}: {ids[at]}": report for at, report in self.reports.items()}
            self._matched = presenter().join(self._profile, named)
        return self._matched

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, /, *error: object) -> None:
        self._stopped(is_tried=error[:1] == (None,))

    def step(self) -> None:
        """End a step of the program; it owns all compiles and calls since the last step."""
        if self._recorder is None or not self._recorder.is_running:
            raise UsageError("This session is not recording: call step() after start().")
        self._recorder.steps.end()
        if self._profiler is not None:
            self._profiler.mark_step()

    @checked
    def steps(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, such as the batches of a loader; each request ends a step.

        Raises `UsageError` for an object that is not iterable.
        """
        if self._recorder is not None:
            self._recorder.had_no_item = True
        for item in items:
            if self._recorder is not None:
                self._recorder.had_no_item = False
            yield item
            if self.is_running:  # it may be stopped while the loop goes on
                self.step()

    @property
    def why_no_trial(self) -> str | None:
        """The reason why no patch can be tried, in a sentence; None if one can."""
        is_done = self._recorder is not None and not self.is_running
        return None if is_done else "A patch can be tried after the session stops."

    @checked
    def start_patch(self, id: str) -> BackgroundTask[TriedChange]:
        """Start to try a patch of the advice, by its id, as soon as no cell runs.

        The program stays unchanged. Raises `UsageError` while it records and for an unknown patch.
        """
        recorder = self._recorder
        if recorder is None or self.why_no_trial is not None:
            raise UsageError(str(self.why_no_trial))
        return start_trial(id, recorder)

    @property
    def is_running(self) -> bool:
        """Whether it is recording."""
        return self._recorder is not None and self._recorder.is_running

    @property
    def header(self) -> ProgramHeader:
        """The place and the duration of the recording."""
        return super().header if self._recorder is None else self._recorder.header()

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name, with its current rows."""
        return super().tables if self._recorder is None else self._recorder.tables()

    def so_far(self) -> Session:
        """Return the current state, including the step and the compiles in progress.

        Any thread may call this.
        """
        recorder = self._recorder
        if recorder is None or not recorder.is_running:
            return Session(self.header, self.tables, self.reports)
        return Session(recorder.header(), recorder.so_far(), recorder.reports())

    @checked
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """Return a page of the current state, read once: each table access rebuilds the tables."""
        return Session(self.header, self.tables, self.reports).to_html(path, redact=redact)

    @property
    def reports(self) -> Mapping[int, Report]:
        """The kept reports, by the row of their compile; each is made on first access."""
        return super().reports if self._recorder is None else self._recorder.reports()


_SILENT = ("KINETO_LOG_LEVEL", "99")  # Kineto prints two lines for each profile


_NO_STACKS = (
    "No source lines or modules",
    "for compiled kernels, see the session's reports; for others, trace steps that compile "
    "nothing, with torch.profiler and with_stack=True",
)
_ON_CPU = "No GPU work"


READER = "read_profile"
"""The public function that reads a trace; a world adds it."""


class SessionProfile:
    """Torch's profiler with shapes and memory; without stacks.

    With them torch records each Python call of its own compiler: 22 GB for a small U-Net (2.13).
    On a machine without a GPU it has the operators of the CPU.
    """

    def __init__(self) -> None:
        module = next((world.names[READER] for world in list_worlds() if READER in world.names), "")
        if not module:
            raise UsageError(f"profile=True needs wb.{READER}, which is not installed here.")
        self._read = getattr(import_module(module), READER)
        self._profiler = torch.profiler.profile(record_shapes=True, profile_memory=True)
        self._steps = 0

    def start(self) -> None:
        """Begin; raises `UsageError` where the profiler does not start.

        A second profile would empty the one that is running (torch 2.13), so it is not tried.
        """
        if tp.PROFILER_IS_RUNNING.get():
            raise UsageError(
                "Another torch.profiler is running: stop it, or pass profile=False and read its "
                "trace with wb.read_profile."
            )
        with ExitStack() as undo:
            patches = undo.enter_context(ProcessPatches())
            patches.entry(os.environ, *_SILENT)
            patches.name(tp.PROFILER_IS_RUNNING, False)  # torch leaves True where a start fails
            try:
                self._profiler.start()
            except RuntimeError as error:
                reason = str(error).partition("\n")[0]
                raise UsageError(f"torch.profiler did not start: {reason}.") from error
            self._undo = undo.pop_all()
        self._open_step()

    def mark_step(self) -> None:
        """End a step, which the trace then has as `ProfilerStep`, and begin the next."""
        self._step.__exit__(None, None, None)
        self._steps += 1
        self._open_step()

    def _open_step(self) -> None:
        # `step()` of a profile without a schedule leaves no mark (torch 2.13)
        self._step = torch.profiler.record_function(f"ProfilerStep#{self._steps}")
        self._step.__enter__()  # type: ignore[no-untyped-call]

    def stop(self) -> Any:
        """End it, and read what it wrote."""
        with self._undo:
            self._step.__exit__(None, None, None)
            self._profiler.stop()
            with make_temporary_folder("aot-workbench-trace-") as folder:
                path = folder / "session.json"
                self._profiler.export_chrome_trace(str(path))
                return _explain(self._read(path))


def _explain(profile: Any) -> Any:
    """The profile with advice that a session can follow: its options are not the user's."""
    header = profile.header
    lacks = (
        _NO_STACKS if what.startswith(_NO_STACKS[0]) else (what, how)
        for what, how in header.missing
        if what != _ON_CPU
    )
    return type(profile)(replace(header, missing=tuple(lacks)), profile.tables)
