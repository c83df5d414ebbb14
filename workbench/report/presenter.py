"""What a record shows itself by, asked of the `Presenter` in `workbench.views.presenters`.

A record is plain data and knows no view: the package hands them down when something is shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas

    from workbench.report.table import Table


Difference_co = TypeVar("Difference_co", covariant=True)


class Compared(Protocol[Difference_co]):
    """A record that `diff` compares with another of its kind."""

    def _compare(self, other: Any, names: tuple[str, str] | None) -> Difference_co: ...


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

    def why_apart(self, record: Any, a: str, b: str) -> Any:
        """Why two things of a report are apart; raises `UsageError` for one it does not have."""

    def explain(self, record: Any, row: Any) -> str:
        """Why a row of its tables came about, in a sentence; raises `UsageError` without one."""

    def terminal(self, record: Any) -> str:
        """What the commands print of it."""

    def numbers(self, record: Any) -> Iterable[Any]:
        """Each of its single numbers as a `Quantity`."""

    def tables(self, record: Any) -> Mapping[str, Table[Any]] | None:
        """The tables that the commands give as JSON; None where it has no such tables."""

    def compare(self, a: Any, b: Any, names: tuple[str, str] | None) -> Any:
        """The difference of two records of a kind that is compared with its own only.

        None where neither is of such a kind; raises `UsageError` where one of them alone is.
        """

    def add_times(self, report: Any, measured: Any) -> Any:
        """A report with the times that another record measured; raises `UsageError` without any."""

    def join(self, record: Any, report: Any) -> Any:
        """A record with what a report says of its kernels; raises `UsageError` without any."""

    def plot(self, record: Any, *choice: Any, **more: Any) -> matplotlib.figure.Figure:
        """One of its charts; raises `UsageError` for one that it does not have."""

    def page(self, record: Any, path: str | PathLike[str] | None, **more: Any) -> str:
        """A self-contained page, written to `path` unless it is None."""

    def fragment(self, record: Any) -> str | None:
        """HTML that a notebook keeps; None for a record that is shown as text."""

    def export(self, record: Any, path: str) -> None:
        """Write its rows as a table for other programs."""

    def view(self, record: Any) -> anywidget.AnyWidget:
        """A live view of its own: for records that have one, such as a difference."""

    def display(self, record: Any) -> None:
        """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""


def presenter() -> Presenter:
    """What shows records."""
    from workbench import find_presenter

    return find_presenter()


class Presented:
    """Base of a record that a presenter describes: in a terminal, and in a notebook."""

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        return presenter().text(self)

    def _repr_html_(self) -> str | None:
        return presenter().fragment(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self), **({} if html is None else {"text/html": html})}


class Viewed:
    """Base of a record that has an interactive view: the value of a cell opens it."""

    def _ipython_display_(self) -> None:
        presenter().display(self)

    def _display_(self) -> anywidget.AnyWidget:
        """What marimo shows: it has no kernel of IPython and takes a widget as it is."""
        return presenter().view(self)


def by_former_name(former: str, instead: str, value: Any, given: Any) -> Any:
    """What was given for an argument by its name or by its former one, which warns.

    The former names go with the next version.
    """
    if value is None:
        return given
    words = f"{former}= is now {instead}=."
    warnings.warn(words, DeprecationWarning, stacklevel=3)
    return value


class FormerTable:
    """An attribute by its name before `.frame()`: answers with a warning, for one more version."""

    def __init__(self, *choice: str) -> None:
        self._instead = f"frame({', '.join(map(repr, choice))})"
        self._choice = choice
        self.__doc__ = f"Deprecated: use `{self._instead}`. Will be removed in the next version."

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, record: None, owner: type) -> FormerTable: ...

    @overload
    def __get__(self, record: object, owner: type) -> pandas.DataFrame: ...

    def __get__(self, record: Any, owner: type) -> Any:
        if record is None:
            return self
        warnings.warn(
            f"{owner.__name__}.{self._name} is now .{self._instead}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return record.frame(*self._choice)
