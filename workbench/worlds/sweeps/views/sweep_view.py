"""A sweep in a notebook: a widget that follows it, and a static output that stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import traitlets

from workbench.analysis.diff.report_comparison import compare
from workbench.errors import UsageError
from workbench.report.trials import Trial, apart
from workbench.views.diff.diff_page import document as diff_document
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.widgets.display import show_row
from workbench.views.wire.codec import pack
from workbench.worlds.sweeps.sweep import Sweep
from workbench.worlds.sweeps.views.sweep_document import Live, document

_OPEN = 4  # records that are kept in memory


def read_live(running: Any, variable: str) -> Live:
    """How far a sweep is that runs, and what the notebook calls its result."""
    return Live(
        planned=running.planned, tried=running.tried, known=running.from_store, variable=variable
    )


class SweepView(RequestWidget):
    """The view of a sweep, also of one that runs; rows are opened and compared on request.

    Reports and comparisons are asked for by row, so that several places on a page may show several
    rows of one model.
    """

    sweep = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        sweep: Sweep,
        live: Live | None = None,
        *,
        cancel: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(sweep=pack(document(sweep, live)))
        self.cell = ""
        self._shown = sweep
        self._cancel = cancel
        self._report = lru_cache(_OPEN)(lambda row: self._shown.report(self._trial(row)))

    def follow(self, sweep: Sweep, live: Live | None = None) -> None:
        """Show how far the sweep is; without `live` it has ended. Any thread may call this."""
        self._shown = sweep
        self.sweep = pack(document(sweep, live))

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return f"Workbench view of the sweep of {self._shown.name}"

    def _trial(self, row: str) -> Trial:
        ended = next((trial for trial in self._shown.trials if trial.title == row), None)
        if ended is None:
            raise UsageError(f"{row} has not ended yet.")
        return ended

    def _answer(self, ask: Any, question: Any) -> Any:
        if ask == "row":
            number = self._shown.trials.index(self._trial(question["row"]))
            report = self._report(question["row"])
            return show_row(report, question["part"], f"found.report({number})")
        if ask == "compare-rows":
            if len(question["rows"]) != 2:
                raise UsageError(f"Select two rows to compare, not {len(question['rows'])}.")
            a, b = question["rows"]
            names = apart(self._trial(a), self._trial(b))
            return diff_document(compare(self._report(a), self._report(b), names))
        if ask != "cancel":
            raise UsageError(f"A sweep has no part {ask!r}: it has row, compare-rows and cancel.")
        if self._cancel is None:
            raise UsageError("Nothing is running here, so nothing can be cancelled.")
        self._cancel()
        return None
