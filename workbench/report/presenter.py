"""The port by which a record shows itself, as types.

A record is plain data and knows no view. What it shows is asked of a `Presenter`, which a higher
floor implements (`workbench.views.presenters`); how sweeps become files is asked of `SweepFiles`
(`workbench.api.sweep_files`). `workbench.ports` says where both are found, and neither is imported
before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas


class Presenter(Protocol):
    """What shows records of every kind; one that it does not know is shown as text."""

    def text(self, record: Any) -> str:
        """The stable summary that `repr` gives."""

    def sentences(self, record: Any) -> tuple[str, ...]:
        """What matters of it in plain words, the most important first."""

    def rows_frame(self, rows: Iterable[Any], row_type: type) -> pandas.DataFrame:
        """Rows of one data class as a DataFrame with a column for each field."""

    def frame(self, record: Any, *choice: Any) -> pandas.DataFrame:
        """One of its tables; raises `UsageError` for one that it does not have."""

    def script(self, record: Any, kernel: str) -> str:
        """A kernel of a report as a script; raises `UsageError` where there can be none."""

    def plot(self, record: Any, *choice: Any, **more: Any) -> matplotlib.figure.Figure:
        """One of its charts; raises `UsageError` for one that it does not have."""

    def page(self, record: Any, path: str | PathLike[str] | None, **more: Any) -> str:
        """A self-contained page, written to `path` unless it is None."""

    def fragment(self, record: Any) -> str | None:
        """HTML that a notebook keeps; None for a record that is shown as text."""

    def view(self, record: Any) -> anywidget.AnyWidget:
        """A live view of its own: a difference, a session and a sweep have one."""

    def display(self, record: Any) -> None:
        """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""


class SweepFiles(Protocol):
    """What reads and writes sweeps: stores, tables for other programs."""

    def load(self, path: str | PathLike[str] | None, which: str | int | None) -> Any:
        """See `Sweep.load`."""

    def stored(self, path: str | PathLike[str] | None) -> pandas.DataFrame:
        """See `Sweep.stored`."""

    def export(self, sweep: Any, path: str | PathLike[str]) -> None:
        """See `Sweep.export`."""
