"""Something with a report that grows: what shows the report hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a package starts without the record of its compilation
    from workbench.report import Report

Listener = Callable[["Report", "Report"], bool]


class Noted:
    """Base of what has a report and is saved, loaded and sent on round trips."""

    _listeners: tuple[Listener, ...] = ()

    def listen(self, listener: Listener) -> None:
        """Call `listener` with the old and the new report when there is a new one.

        It is forgotten once it returns False.
        """
        self._listeners = (*self._listeners, listener)

    def _tell(self, before: Report, after: Report) -> None:
        self._listeners = tuple(hears for hears in self._listeners if hears(before, after))
