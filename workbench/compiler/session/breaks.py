"""Graph breaks of all compiles of a session, each place once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.recording.breaks import BreakRecorder
from workbench.compiler.session.compiles import Compiles
from workbench.compiler.session.steps import HOOK, Steps
from workbench.report.session.rows import SessionBreak

PANE = "breaks"
_Key = tuple[str, int, str]


@dataclass
class _Met:
    first_step: int
    compile_ids: list[str] = field(default_factory=list)


class SessionBreaks:
    """Collects breaks with the compiles that met them and what their resume functions cost."""

    def __init__(self, patches: Patches, steps: Steps, compiles: Compiles):
        self._patches, self._steps, self._compiles = patches, steps, compiles
        self._breaks = BreakRecorder(patches, compiles.places)
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
        before = self._breaks.counts()
        self._breaks.take(error, translator)
        row = self._compiles.current
        for key, count in self._breaks.counts().items():
            if count == before.get(key, 0):
                continue
            met = self._met.setdefault(key, _Met(self._steps.number))
            if row is not None:
                row.breaks += 1
                met.compile_ids.append(row.id)
            file, line, kind = key
            place = f"{file.rpartition('/')[2]}:{line}"
            id, function = (row.id, row.function) if row else ("", "")
            self._steps.event("break", id, function, f"{place}: {kind}")

    def rows(self) -> Iterator[SessionBreak]:
        """A row for each place, in the order in which they were met."""
        # another thread may just meet one: those that both have met
        met_until_now = list(self._met.items())
        for key, own in zip(met_until_now, self._breaks.rows(), strict=False):
            (file, line, _), met = key
            yield SessionBreak(
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
                self._cost_s(file, line),
            )

    def _function(self, met: _Met, name: str) -> str:
        """The function as its compile is called; an inlined one keeps its own name."""
        of = self._compiles.of(met.compile_ids[0]) if met.compile_ids else None
        return of.function if of and of.function.rpartition(".")[2] == name else name

    def _cost_s(self, file: str, line: int) -> float:
        """Seconds of compiling what resumes after a line, its backwards included."""
        ids = {
            row.id for row in self._compiles.found if row.file == file and row.resumed_at == line
        }
        return sum(row.total_s for row in self._compiles.found if row.id in ids)

    def close(self) -> None:
        """Let go of torch's objects."""
        self._breaks.close()
