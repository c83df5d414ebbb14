"""Graph breaks of all compiles of a session, each place once."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.recording.graph_breaks import BreakRecorder
from workbench.compiler.session.compiles import Compiles
from workbench.compiler.session.frame_names import Frame, find_calling_frame, is_users
from workbench.compiler.session.open_compile import OpenCompile
from workbench.compiler.session.steps import HOOK, Steps
from workbench.report.session.session_rows import SessionBreak

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

    def rows(self) -> Iterator[SessionBreak]:
        """A row for each place, in the order in which they were met."""
        # another thread may just meet one: those that both have met
        met_until_now = list(self._met.items())
        for key, own in zip(met_until_now, self._breaks.table.rows(), strict=False):
            (file, line, _), met = key
            rest = self._resumed(file, line)
            before = [self._compiles.of(id) for id in dict.fromkeys(met.compile_ids)]
            made = SessionBreak(
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

    def _moved(self, row: SessionBreak, at: Frame) -> SessionBreak:
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
