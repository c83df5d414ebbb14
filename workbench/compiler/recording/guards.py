"""Guards of a compilation: kept, or dropped with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.rows.dynamo_rows import SeenGuard, list_guards
from workbench.compiler.sources.dynamo_messages import GuardTexts
from workbench.compiler.sources.sources import Places
from workbench.report import Guard

PANE = "guards"


class GuardRecorder:
    """Takes the guards from the filter of a compilation, or from Dynamo where there is none."""

    def __init__(self, places: Places, texts: GuardTexts):
        self._places = places
        self._texts = texts
        self._noted: list[tuple[Any, str | None, str | None]] = []
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
        self._noted = [
            (entry.orig_guard, None if kept else why or "dropped by the guard filter", value)
            for entry, kept, why, value in zip(entries, keep, reasons, values, strict=True)
        ]

    def rows(self) -> list[Guard]:
        """The guards, in the order in which Dynamo built them."""
        if self._noted:
            return list_guards((self._see(*noted) for noted in self._noted), self._texts)
        return list_guards(map(self._see, self._found), self._texts)

    def _see(self, guard: Any, why: str | None = None, frozen: str | None = None) -> SeenGuard:
        kind, checks = str(guard.create_fn_name()), tuple(guard.code_list or ())
        return SeenGuard(kind, str(guard.name), checks, *self._place(guard), why, frozen)

    def _place(self, guard: Any) -> tuple[str | None, int | None]:
        for frame in reversed(guard.user_stack or ()):
            if self._places.is_user(frame.filename):
                return self._places.shown(frame.filename), frame.lineno
        return None, None
