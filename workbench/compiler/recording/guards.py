"""Guards of a compilation: kept, or dropped with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.sources.dynamo_messages import GuardTexts
from workbench.compiler.sources.sources import Places
from workbench.report import Guard

PANE = "guards"


class GuardRecorder:
    """Takes the guards from the filter of a compilation, or from Dynamo where there is none."""

    def __init__(self, places: Places, texts: GuardTexts):
        self._places = places
        self._texts = texts
        self._noted: list[tuple[Any, bool, str | None, str | None]] = []
        self._found: list[Any] = []

    def list_hooks(self) -> Iterator[Hook]:
        """Watch Dynamo put guards together."""
        yield Hook(tp.CHECK_FUNCTION_MANAGER_INIT, PANE, after=self._on_built)

    def _on_built(self, _: Any, manager: Any, code: Any, graph: Any, *__: Any, **___: Any) -> None:
        self._found += list(graph.guards or ())

    def note(
        self,
        entries: Sequence[Any],
        keep: Sequence[bool],
        reasons: Sequence[str | None],
        frozen: Sequence[str | None] | None = None,
    ) -> None:
        """Take what a guard filter decided: one answer and one reason for each entry.

        `frozen` are the values of those that nothing replaces in a file.
        """
        values = [None] * len(entries) if frozen is None else frozen
        self._noted = list(zip(entries, keep, reasons, values, strict=True))

    def rows(self) -> list[Guard]:
        """The guards, in the order in which Dynamo built them."""
        if self._noted:
            return [self._row(f"q{n}", *noted) for n, noted in enumerate(self._noted)]
        return [self._unfiltered(f"q{n}", guard) for n, guard in enumerate(self._found)]

    def _row(self, id: str, entry: Any, keep: bool, why: str | None, frozen: str | None) -> Guard:
        guard = entry.orig_guard
        code = getattr(entry, "code_parts", None) or guard.code_list
        file, line = self._place(guard)
        reason = None if keep else why or "dropped by the guard filter"
        name, kind = str(guard.name), entry.guard_type
        checks = self._texts.of(code)
        return Guard(id, keep, kind, name, checks, reason, entry.is_global, file, line, frozen)

    def _unfiltered(self, id: str, guard: Any) -> Guard:
        file, line = self._place(guard)
        name = str(guard.name)
        source = getattr(guard, "originating_source", None)
        is_global = bool(getattr(source, "is_global", lambda: False)())
        kind = str(guard.create_fn_name())
        checks = self._texts.of(guard.code_list)
        return Guard(id, True, kind, name, checks, None, is_global, file, line)

    def _place(self, guard: Any) -> tuple[str | None, int | None]:
        for frame in reversed(guard.user_stack or ()):
            if self._places.is_user(frame.filename):
                return self._places.shown(frame.filename), frame.lineno
        return None, None
