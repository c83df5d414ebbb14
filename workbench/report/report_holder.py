"""What holds a report that grows, and calls what shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.arguments import checked

if TYPE_CHECKING:  # a package starts without the record of its compilation
    from workbench.report import Report

Listener = Callable[["Report", "Report"], bool]


class ReportHolder:
    """Base of what has a report and is saved, loaded and sent on round trips."""

    _listeners: tuple[Listener, ...] = ()

    @checked
    def update(self, report: Report) -> None:
        """From now on this is the report."""
        raise NotImplementedError

    @checked
    def listen(self, listener: Listener) -> None:
        """Call `listener` with the old and the new report when there is a new one.

        It is forgotten once it returns False.
        """
        self._listeners = (*self._listeners, listener)

    def _notify(self, before: Report, after: Report) -> None:
        self._listeners = tuple(call for call in self._listeners if call(before, after))
