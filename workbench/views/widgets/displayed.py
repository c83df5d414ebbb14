"""A compilation as the value of a cell: its summary, unless the cell has shown it already."""

from __future__ import annotations

import builtins
import weakref
from functools import cache
from typing import Any

from workbench.report.report_holder import ReportHolder
from workbench.views.pages.report_page import fragment
from workbench.views.text import text


class Displayed:
    """What the running cell of this process has shown."""

    def __init__(self) -> None:
        self._cell: int | None = None
        self._holder: weakref.ref[ReportHolder] | None = None

    def note(self, holder: ReportHolder) -> None:
        """The running cell shows it, or was told not to."""
        self._cell, self._holder = _running_cell(), weakref.ref(holder)

    def has(self, holder: ReportHolder) -> bool:
        """Whether the cell that runs now is the one that showed it."""
        is_same = self._holder is not None and self._holder() is holder
        return is_same and self._cell is not None and self._cell == _running_cell()


@cache
def displayed() -> Displayed:
    """The one of this process: a kernel runs one notebook."""
    return Displayed()


def make_summary_bundle(holder: Any) -> dict[str, str]:
    """Text and HTML of what has a report, as the value of a cell."""
    if displayed().has(holder):
        return {"text/plain": repr(holder)}
    return {"text/plain": text(holder.report), "text/html": fragment(holder.report)}


def _running_cell() -> int | None:
    get = getattr(builtins, "get_ipython", None)
    shell = None if get is None else get()
    return None if shell is None else shell.execution_count
