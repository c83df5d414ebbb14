"""How records of every kind are shown: the presenter that `workbench.report.presenting` asks for.

The views of a kind are imported when a record of it is first shown: text needs no notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import singledispatch
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.analysis.diff.difference import Diff
from workbench.analysis.gpu_model.launches import Launches
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.analysis.gpu_model.ranked_configs import RankedConfigs
from workbench.analysis.sweep.recommending import Recommendation
from workbench.analysis.sweep.sweep import Sweep
from workbench.artifacts.inspect.report import ArtifactReport
from workbench.artifacts.preflight.check import Check
from workbench.errors import UsageError
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.presenting import Presented
from workbench.report.record import Report
from workbench.report.rivals import Rivals
from workbench.report.roundtrip import MissedBudget, RoundTrip
from workbench.report.table import Table

if TYPE_CHECKING:
    import anywidget
    import pandas
    from matplotlib.figure import Figure


def text(record: Any) -> str:
    """The stable summary that `repr` gives."""
    return views_of(record).text(record)


@singledispatch
def sentences(record: object) -> tuple[str, ...]:
    """What matters of it in plain words, the most important first."""
    return (repr(record),)


@sentences.register(Diff)
def _(record: Diff) -> tuple[str, ...]:
    from workbench.views.diff.sentences import sentences

    return tuple(sentence.text for sentence in sentences(record))


def rows_frame(rows: Iterable[Any], row_type: Any) -> pandas.DataFrame:
    """Rows of one data class as a DataFrame with a column for each field."""
    import pandas

    table = Table.of(row_type, rows)
    return pandas.DataFrame({name: list(column) for name, column in table.columns.items()})


def frame(record: Any, *choice: Any) -> pandas.DataFrame:
    """One of its tables; raises `UsageError` for one that it does not have."""
    return views_of(record).frame(record, *choice)


def plot(record: Any, *choice: Any, **more: Any) -> Figure:
    """One of its charts; raises `UsageError` for one that it does not have."""
    return views_of(record).plot(record, *choice, **more)


def page(record: Any, path: str | PathLike[str] | None, **more: Any) -> str:
    """A self-contained page, written to `path` unless it is None."""
    return pages_of(record).page(record, path, **more)


def fragment(record: Any) -> str | None:
    """HTML that a notebook keeps; None for a record that is shown as text."""
    return pages_of(record).fragment(record)


def view(record: Diff) -> anywidget.AnyWidget:
    """A live view of its own: only a difference has one."""
    from workbench.views.diff.view import DiffView

    return DiffView(record)


@singledispatch
def display(record: object) -> None:
    """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""
    raise NotImplementedError  # IPython then takes its HTML or its text


@display.register(Diff)
def _(record: Diff) -> None:
    from workbench.views.diff.view import display

    display(record)


@display.register(Sweep)
def _(record: Sweep) -> None:
    from workbench.views.sweep.view import display

    display(record)


def _as_text(record: Any) -> str:
    own: object = type(record).__repr__
    if own is not Presented.__repr__:
        return repr(record)
    if not is_dataclass(record):
        return object.__repr__(record)
    shown = ", ".join(f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    return f"{type(record).__name__}({shown})"


def _as_page(record: Any, path: str | PathLike[str] | None) -> str:
    from workbench.views.answers.short import plain_page

    return plain_page(record, path)


def _refuse(record: Any, *_: Any) -> Any:
    raise UsageError(f"{type(record).__name__} has neither this table nor this chart.")


@dataclass(frozen=True)
class Views:
    """The functions that describe one kind of record; the defaults show it as text."""

    text: Callable[[Any], str] = _as_text
    frame: Callable[..., pandas.DataFrame] = _refuse
    plot: Callable[..., Figure] = _refuse


@singledispatch
def views_of(record: object) -> Views:
    """What describes a record, by its kind."""
    return Views()


@views_of.register(Report)
def _(record: Report) -> Views:
    from workbench.views.tables import frames

    def plot(report: Report, name: str) -> Figure:
        from workbench.views.charts import figures  # a table is made sooner than this is imported

        return figures.plot(report, name)

    return Views(frame=frames.frame, plot=plot)


@views_of.register(Diff)
def _(record: Diff) -> Views:
    from workbench.views.diff import text

    return Views(text.text, frame=text.frame)


@views_of.register(Sweep)
def _(record: Sweep) -> Views:
    from workbench.views.sweep import choices, figures, frame

    def table(sweep: Sweep, name: str = "trials", rows: Any = None) -> pandas.DataFrame:
        return choices.choices(sweep, rows) if name == "choices" else frame.frame(sweep)

    return Views(frame=table, plot=figures.plot)


@views_of.register(Matrix)
def _(record: Matrix) -> Views:
    from workbench.views.gpu_model import matrix

    return Views(matrix.text, frame=matrix.frame, plot=matrix.plot)


@views_of.register(RankedConfigs)
def _(record: RankedConfigs) -> Views:
    from workbench.views.gpu_model import ranked

    return Views(ranked.text, frame=ranked.frame, plot=ranked.plot)


@views_of.register(Launches)
def _(record: Launches) -> Views:
    from workbench.views.gpu_model import launches

    return Views(launches.text, frame=launches.frame, plot=launches.plot)


@views_of.register(Rivals)
def _(record: Rivals) -> Views:
    from workbench.views.answers import rivals

    return Views(rivals.text)


@views_of.register(RoundTrip)
def _(record: RoundTrip) -> Views:
    from workbench.views.answers.roundtrip import text

    return Views(text)


@views_of.register(MissedBudget)
def _(record: MissedBudget) -> Views:
    from workbench.views.answers.roundtrip import missed_budget

    return Views(missed_budget)


@dataclass(frozen=True)
class Pages:
    """The functions that make HTML of one kind of record; the defaults show it as text."""

    page: Callable[..., str] = _as_page
    fragment: Callable[[Any], str | None] = lambda record: None


@singledispatch
def pages_of(record: object) -> Pages:
    """What makes HTML of a record, by its kind."""
    return Pages()


@pages_of.register(Report)
def _(record: Report) -> Pages:
    from workbench.views.pages import report as html

    return Pages(html.page, html.fragment)


@pages_of.register(Diff)
def _(record: Diff) -> Pages:
    from workbench.views.diff import page

    return Pages(page.page, page.fragment)


@pages_of.register(Sweep)
def _(record: Sweep) -> Pages:
    from workbench.views.sweep import page

    return Pages(page.page, page.fragment)


@pages_of.register(Matrix)
def _(record: Matrix) -> Pages:
    from workbench.views.gpu_model import matrix_page

    return Pages(matrix_page.page, matrix_page.fragment)


@pages_of.register(RankedConfigs)
def _(record: RankedConfigs) -> Pages:
    from workbench.views.gpu_model import ranked

    return Pages(ranked.page, ranked.fragment)


@pages_of.register(Rivals)
def _(record: Rivals) -> Pages:
    from workbench.views.answers.rivals import fragment

    return Pages(fragment=fragment)


@pages_of.register(RoundTrip)
def _(record: RoundTrip) -> Pages:
    from workbench.views.answers.roundtrip_html import fragment

    return Pages(fragment=fragment)


@pages_of.register(ArtifactReport)
def _(record: ArtifactReport) -> Pages:
    from workbench.views.answers.inspected import fragment

    return Pages(fragment=fragment)


@pages_of.register(Check)
@pages_of.register(WhyRecompiled)
@pages_of.register(Recommendation)
def _(record: Check | WhyRecompiled | Recommendation) -> Pages:
    from workbench.views.answers.short import fragment

    return Pages(fragment=fragment)
