"""The recorder of a session: everything that torch.compile does until it is stopped."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.recording.graph_breaks import BreakRecorder
from workbench.compiler.recording.recorder import read_environment
from workbench.errors import UsageError
from workbench.report.program.record_rows import ProgramBreak, ProgramHeader, Trial
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.worlds.sessions.recording.compiles import Compiles
from workbench.worlds.sessions.recording.fallbacks import Fallbacks
from workbench.worlds.sessions.recording.frame_names import Frame, find_calling_frame, is_users
from workbench.worlds.sessions.recording.open_compile import KeptCall as KeptCall
from workbench.worlds.sessions.recording.open_compile import OpenCompile
from workbench.worlds.sessions.recording.steps import HOOK, Regions, Steps
from workbench.worlds.sessions.rows.session_rows import SESSION_TABLES, Reports, Step

_MARK = "_workbench_session"


def is_recording() -> bool:
    """Whether a session records in this process."""
    return hasattr(tp.COMPILE_FRAME.get(), _MARK)


class SessionRecorder:
    """Watches all threads of the process from `start` to `stop`, and leaves nothing behind."""

    def __init__(self, level: str, *, ends_at_optimizer: bool = False):
        self.level = level
        self._ends_at_optimizer = ends_at_optimizer
        self._patches = Patches()
        self.regions = Regions(self._patches)
        self.steps = Steps(self.regions)
        self.compiles = Compiles(self._patches, self.steps, level)
        self.breaks = SessionBreaks(self._patches, self.steps, self.compiles)
        self.fallbacks = Fallbacks(self._patches, self.steps, self.compiles)
        self.had_no_item = False
        self._wall_s: float | None = None

    def start(self) -> None:
        """Begin to watch; raises `UsageError` while another session records."""
        if is_recording():
            raise UsageError(
                "Another session is recording in this process: stop it before you start one."
            )
        try:
            self._install()
        except BaseException:
            self._patches.close()
            raise

    def _install(self) -> None:
        for part in (self.compiles, self.fallbacks, self.breaks, self.regions):
            part.install()
        setattr(tp.COMPILE_FRAME.get(), _MARK, True)
        self.regions.on_skip = lambda id, why: self.steps.event("CUDA graph skip", id, "", why)
        for name in tp.CUDA_GRAPH_SKIPS:
            self._patches.wrap(name, self._skipped, "events", is_everywhere=True)
        if self._ends_at_optimizer:
            from torch.optim.optimizer import register_optimizer_step_post_hook

            def step_ended(*_: Any) -> None:
                self.steps.end()

            step_ended.__qualname__ = HOOK
            # a hook that Dynamo could trace would be compiled into an optimizer's own step
            hook = tp.DISABLE.get()(step_ended)
            self._patches.callback(register_optimizer_step_post_hook(hook).remove)

    def _skipped(self, inner: Any) -> Any:
        def skipped(why: str) -> Any:
            current = tp.CURRENT_COMPILE_ID.find()
            id = None if current is None else current()
            self.steps.event("CUDA graph skip", "" if id is None else str(id), "", why)
            return inner(why)

        return skipped

    def stop(self) -> None:
        """Undo every hook; what was recorded stays."""
        if self._wall_s is not None:
            return
        try:
            self.steps.close()
            self._wall_s = self.steps.now()
            self.compiles.leave()
        finally:
            self._patches.close()
            self.breaks.close()

    @property
    def is_running(self) -> bool:
        """Whether it has not been stopped."""
        return self._wall_s is None

    def header(self) -> ProgramHeader:
        """Where and how long it was recorded, and what it could not see."""
        missing = {**self._patches.missing, **self._patches.failed}
        if not self.is_running and not self.steps.ended and (why := self._no_steps()):
            missing.setdefault("steps", why)
        return ProgramHeader(
            environment=read_environment(),
            capture=self.level,
            began_at=self.steps.began_at,
            wall_s=self.steps.now() if self._wall_s is None else self._wall_s,
            steps=self.steps.number,
            steps_ended=self.steps.ended,
            events=self.steps.events_seen,
            threads=tuple(dict.fromkeys(row.thread for row in self.compiles.found))
            or (threading.current_thread().name,),
            missing=tuple(missing.items()),
            ran_compiled=self.fallbacks.lookups.ran_graph,
            left_alone=tuple(self.fallbacks.left_alone),
        )

    def _no_steps(self) -> str:
        """Why no step ended that was asked for; nothing where none was."""
        if self._ends_at_optimizer:
            return (
                "no torch.optim optimizer took a step during the session: call s.step() at the end "
                "of each step"
            )
        return "the loop over s.steps(…) was empty" if self.had_no_item else ""

    def find_calls(self, compile_ids: Sequence[str]) -> list[KeptCall]:
        """The first call of a function and those that it was compiled again for, by their ids.

        Raises `UsageError` where one was not kept.
        """
        rows = [self.compiles.of(id) for id in compile_ids]
        own = next((row for row in rows if row is not None), None)
        first = next(
            (
                row
                for row in self.compiles.found
                if own is not None and row.kind == "first" and row.is_same(own)
            ),
            None,
        )
        calls = [None if row is None else row.call for row in (first, *rows)]
        kept = [call for call in calls if call is not None]
        if len(kept) < len(calls):
            raise UsageError(
                "The calls cannot be replayed: their inputs exceed 16 MB or cannot be copied, or "
                "the function is wrapped."
            )
        return kept

    def note_trials(self, compile_ids: Sequence[str], tried: tuple[Trial, ...]) -> None:
        """Keep what came of changes that were tried on the calls of these compiles."""
        for id in compile_ids:
            if (row := self.compiles.of(id)) is not None:
                row.tried = tried

    def path_of(self, shown: str) -> str:
        """The path of a file that is shown by its name."""
        return self.compiles.places.path_of(shown)

    def tables(self) -> dict[str, Table[Any]]:
        """Every table as it is now."""
        return self._tables([], {})

    def so_far(self) -> dict[str, Table[Any]]:
        """The same with the step and the compiles that go on, as far as they are."""
        going_on = self.compiles.going_on()
        return self._tables([self.steps.unfinished(max(going_on.values(), default=0.0))], going_on)

    def _tables(self, open_steps: list[Step], going_on: dict[int, float]) -> dict[str, Table[Any]]:
        known = {row.id: (row.function, row.inputs) for row in list(self.compiles.found)}
        ended = list(self.steps.rows.copy())
        first = ended[0].step if ended else 0
        rows: dict[str, list[Any]] = {
            "compiles": [
                replace(row, outcome="compiling", total_s=going_on[at]) if at in going_on else row
                for at, row in enumerate(self.compiles.rows())
            ],
            "recompiles": self.compiles.recompiles(),
            "breaks": list(self.breaks.rows()),
            "fallbacks": self.fallbacks.rows(),
            "regions": self.regions.rows(known),
            "steps": [*ended, *(row for row in open_steps if row.step == first + len(ended))],
            "events": list(self.steps.events.copy()),
        }
        omitted = {
            "steps": self.steps.number - len(self.steps.rows),
            "events": self.steps.events_seen - len(self.steps.events),
        }
        return {
            name: Table.of(SESSION_TABLES[name], part, omitted=omitted.get(name, 0))
            for name, part in rows.items()
        }

    def reports(self) -> Mapping[int, Report]:
        """The reports that were kept, by the row of their compile; each is made when asked for."""
        rows = list(self.compiles.found)
        places = {id(row): at for at, row in enumerate(rows)}
        return Reports(
            {at: partial(self._report, row.first) for at, row in enumerate(rows) if row.has_report},
            {at: places[id(row.first)] for at, row in enumerate(rows) if row.forward is not None},
        )

    def _report(self, row: OpenCompile) -> Report:
        if row.report is None or self.is_running:
            row.report = row.recorded()
        return row.report


PANE = "breaks"
_Key = tuple[str, int, str]


@dataclass
class _Met:
    """A break: since which step, in which compiles; `at` is the user's line where it is not."""

    first_step: int
    at: Frame | None
    compile_ids: list[str] = field(default_factory=list)


class SessionBreaks:
    """Collects breaks with the compiles that met them and what their resume functions cost."""

    def __init__(self, patches: Patches, steps: Steps, compiles: Compiles):
        self._patches, self._steps, self._compiles = patches, steps, compiles
        self._breaks = BreakRecorder(compiles.places, compiles.named)
        self._met: dict[_Key, _Met] = {}

    def install(self) -> None:
        """Watch breaks until the patches are undone."""
        self._patches.wrap(tp.LOG_GRAPH_BREAK, self._logged, PANE, is_everywhere=True)

    def _logged(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def log_graph_break(translator: Any, *args: Any, **kwargs: Any) -> Any:
            errors = [each for each in (*args, *kwargs.values()) if isinstance(each, BaseException)]
            for error in errors:
                self._patches.guarded(PANE, self._take, error, translator)
            return inner(translator, *args, **kwargs)

        return log_graph_break

    def _take(self, error: BaseException, translator: Any) -> None:
        if HOOK in str(getattr(error, "msg", "")):  # the session's own, not of the program
            return
        row = self._compiles.current
        if own := self._compiles.describe_own_error(error):  # eager code raises it too
            if row is not None:
                row.why = row.why or own
            return
        before = dict(self._breaks.table.counts)
        self._breaks.take(error, translator)
        for key, count in self._breaks.table.counts.items():
            if count == before.get(key, 0):
                continue
            file, line, kind = key
            if key not in self._met:
                is_own = is_users(self._compiles.places, file)
                at = None if is_own else find_calling_frame(self._compiles.places)
                self._met[key] = _Met(self._steps.number, at)
            met = self._met[key]
            if row is not None:
                row.breaks += 1
                met.compile_ids.append(row.id)
            if met.at is not None:
                file, line = met.at.file, met.at.line
            place = f"{file.rpartition('/')[2]}:{line}"
            id, function = (row.id, row.function) if row else ("", "")
            self._steps.event("break", id, function, f"{place}: {kind}")

    def rows(self) -> Iterator[ProgramBreak]:
        """A row for each place, in the order in which they were met."""
        # another thread may just meet one: those that both have met
        met_until_now = list(self._met.items())
        for key, own in zip(met_until_now, self._breaks.table.rows(), strict=False):
            (file, line, _), met = key
            rest = self._resumed(file, line)
            before = [self._compiles.of(id) for id in dict.fromkeys(met.compile_ids)]
            made = ProgramBreak(
                own.file,
                own.line,
                self._function(met, own.function),
                own.text,
                own.kind,
                own.reason,
                own.hints,
                own.count,
                tuple(dict.fromkeys(met.compile_ids)),
                met.first_step,
                sum(row.total_s for row in rest),
                ops_before=_most([_ops(row) for row in before if row is not None]),
                ops_after=_most([_ops(row) for row in rest if row.kind != "backward"], 0),
            )
            yield made if met.at is None else self._moved(made, met.at)

    def _moved(self, row: ProgramBreak, at: Frame) -> ProgramBreak:
        """A break in code of torch's or of Python's, at the line of the user's that led there."""
        return replace(
            row,
            file=self._compiles.places.shown(at.file),
            line=at.line,
            text=linecache.getline(at.file, at.line).strip(),
            within=f"{row.file}:{row.line}",
        )

    def _function(self, met: _Met, name: str) -> str:
        """The function as its compile is called; an inlined one keeps its own name."""
        of = self._compiles.of(met.compile_ids[0]) if met.compile_ids else None
        return of.function if of and f".{of.function}".endswith(f".{name}") else name

    def _resumed(self, file: str, line: int) -> list[OpenCompile]:
        """The compiles of what resumes after a line, their backwards included."""
        ids = {
            row.id
            for row in self._compiles.found
            if row.code is not None and (row.code.co_filename, row.resumed_at) == (file, line)
        }
        return [row for row in self._compiles.found if row.id in ids]

    def close(self) -> None:
        """Let go of torch's objects."""
        self._breaks.close()


def _ops(row: OpenCompile) -> int | None:
    return 0 if row.outcome == "no graph" else row.ops


def _most(counts: list[int | None], none: int | None = None) -> int | None:
    """The largest of the counts that torch told; `none` where there is no compile at all."""
    told = [count for count in counts if count is not None]
    return max(told) if told else none if not counts else None
