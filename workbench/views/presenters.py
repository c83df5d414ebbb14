"""How records of every kind are shown: the presenter that `workbench.report.presenting` asks for.

The views of a kind are imported when a record of it is first shown: text needs no notebook.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.analysis.diff.difference import Diff
from workbench.analysis.gpu_model.launches import Launches
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.analysis.gpu_model.ranked_configs import RankedConfigs
from workbench.analysis.memory.budgets import Budgets
from workbench.analysis.memory.fit import Fit
from workbench.analysis.memory.memory import Memory
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rehearsed_cures import Rehearsal
from workbench.analysis.opportunities.tried import Tried
from workbench.analysis.sweep.recommending import Recommendation
from workbench.analysis.sweep.sweep import Sweep
from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.artifacts.preflight.check import Check
from workbench.errors import UsageError
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.presenting import Presented
from workbench.report.record import Report
from workbench.report.rivals import Rivals
from workbench.report.roundtrip import MissedBudget, RoundTrip
from workbench.report.session.session_record import Session
from workbench.report.table import Table

if TYPE_CHECKING:
    import anywidget
    import pandas
    from matplotlib.figure import Figure


def text(record: Any) -> str:
    """The stable summary that `repr` gives."""
    return choose_views(record).text(record)


def sentences(record: Any) -> tuple[str, ...]:
    """What matters of it in plain words, the most important first."""
    if isinstance(record, Session):
        from workbench.views.session import session_text as of_session

        return of_session.sentences(record)
    if not isinstance(record, Diff):
        return (repr(record),)
    from workbench.views.diff.sentences import sentences

    return tuple(sentence.text for sentence in sentences(record))


def rows_frame(rows: Iterable[Any], row_type: Any) -> pandas.DataFrame:
    """Rows of one data class as a DataFrame with a column for each field."""
    import pandas

    table = Table.of(row_type, rows)
    made = pandas.DataFrame({name: list(column) for name, column in table.columns.items()})
    hints = typing.get_type_hints(row_type)
    whole = [n for n in table.columns if set(typing.get_args(hints[n])) == {int, type(None)}]
    return made.astype(dict.fromkeys(whole, "Int64"))  # a missing one does not make them fractions


def frame(record: Any, *choice: Any) -> pandas.DataFrame:
    """One of its tables; raises `UsageError` for one that it does not have."""
    return choose_views(record).frame(record, *choice)


def script(record: Report, kernel: str) -> str:
    """A kernel of a report as a script; raises `UsageError` where there can be none."""
    from workbench.analysis.kernel_script.script import kernel_script

    return kernel_script(record, kernel)


def plot(record: Any, *choice: Any, **more: Any) -> Figure:
    """One of its charts; raises `UsageError` for one that it does not have."""
    return choose_views(record).plot(record, *choice, **more)


def page(record: Any, path: str | PathLike[str] | None, **more: Any) -> str:
    """A self-contained page, written to `path` unless it is None."""
    return choose_pages(record).page(record, path, **more)


def fragment(record: Any) -> str | None:
    """HTML that a notebook keeps; None for a record that is shown as text."""
    return choose_pages(record).fragment(record)


def view(record: Diff | Session | Sweep) -> anywidget.AnyWidget:
    """A live view of its own: a difference, a session and a sweep have one."""
    if isinstance(record, Session):
        from workbench.views.session.session_view import SessionView

        return SessionView(record)
    if isinstance(record, Diff):
        from workbench.views.diff.diff_view import DiffView

        return DiffView(record)
    from workbench.views.sweep.sweep_view import SweepView

    return SweepView(record)


def display(record: Any) -> None:
    """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""
    match record:
        case Diff():
            from workbench.views.diff import diff_view as of_diff

            of_diff.display(record)
        case Sweep():
            from workbench.views.sweep import sweep_view as of_sweep

            of_sweep.display(record)
        case Session():
            from workbench.views.session import session_view as of_session

            of_session.display(record)
        case _:
            raise NotImplementedError  # IPython then takes its HTML or its text


def _as_text(record: Any) -> str:
    own: object = type(record).__repr__
    if own is not Presented.__repr__:
        return repr(record)
    if not is_dataclass(record):
        return object.__repr__(record)
    shown = ", ".join(f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    return f"{type(record).__name__}({shown})"


def _as_page(record: Any, path: str | PathLike[str] | None) -> str:
    from workbench.views.answers.short import render_plain_page

    return render_plain_page(record, path)


def _refuse(record: Any, *_: Any) -> Any:
    raise UsageError(f"{type(record).__name__} has neither this table nor this chart.")


@dataclass(frozen=True)
class Views:
    """The functions that describe one kind of record; the defaults show it as text."""

    text: Callable[[Any], str] = _as_text
    frame: Callable[..., pandas.DataFrame] = _refuse
    plot: Callable[..., Figure] = _refuse


def choose_views(record: Any) -> Views:
    """What describes a record, by its kind."""
    match record:
        case Report():
            from workbench.views import text as of_report
            from workbench.views.tables import data_frames

            return Views(of_report.text, data_frames.frame, _plot)
        case Diff():
            from workbench.views.diff import diff_text as of_diff

            return Views(of_diff.text, of_diff.frame)
        case Sweep():
            from workbench.views.sweep import frame, sweep_charts

            return Views(frame=frame.frame, plot=sweep_charts.plot)
        case Matrix():
            from workbench.views.gpu_model import matrix_answer

            return Views(matrix_answer.text, matrix_answer.frame, matrix_answer.plot)
        case RankedConfigs():
            from workbench.views.gpu_model import ranked_answer

            return Views(ranked_answer.text, ranked_answer.frame, ranked_answer.plot)
        case Launches():
            from workbench.views.gpu_model import launches_answer

            return Views(launches_answer.text, plot=launches_answer.plot)
        case Opportunity() | Tried():
            from workbench.views.answers import opportunities_text

            return Views(
                opportunities_text.text
                if isinstance(record, Opportunity)
                else opportunities_text.format_trial
            )
        case Rivals():
            from workbench.views.answers import rivals_answer

            return Views(rivals_answer.text)
        case RoundTrip() | MissedBudget():
            from workbench.views.answers import roundtrip_text

            return Views(roundtrip_text.text)
    return _views_of_a_run(record)


def _views_of_a_run(record: Any) -> Views:
    """What describes a record of a program that runs."""
    match record:
        case Memory():
            from workbench.views.memory import memory_answer

            return Views(memory_answer.text, plot=memory_answer.plot)
        case Fit():
            from workbench.views.memory import fit_answer

            return Views(fit_answer.text, plot=fit_answer.plot)
        case Session():
            from workbench.views.session import session_text as of_session

            return Views(of_session.text, of_session.frame, _session_plot)
        case Budgets():
            from workbench.views.memory import budgets_answer

            return Views(budgets_answer.text, plot=budgets_answer.plot)
        case Rehearsal():
            from workbench.views.answers import rehearsal_text

            return Views(rehearsal_text.text)
    return Views()


def _plot(report: Report, name: str) -> Figure:
    from workbench.views.charts import report_charts  # a table is made sooner than this is imported

    return report_charts.plot(report, name)


def _session_plot(session: Session) -> Figure:
    from workbench.views.session import session_chart

    return session_chart.plot(session)


@dataclass(frozen=True)
class Pages:
    """The functions that make HTML of one kind of record; the defaults show it as text."""

    page: Callable[..., str] = _as_page
    fragment: Callable[[Any], str | None] = lambda record: None


def choose_pages(record: Any) -> Pages:
    """What makes HTML of a record, by its kind."""
    match record:
        case Report():
            from workbench.views.pages import report_page

            return Pages(report_page.page, report_page.fragment)
        case Diff():
            from workbench.views.diff import diff_page as of_diff

            return Pages(of_diff.page, of_diff.fragment)
        case Sweep():
            from workbench.views.sweep import sweep_page as of_sweep

            return Pages(of_sweep.page, of_sweep.fragment)
        case Matrix():
            from workbench.views.gpu_model import matrix_answer

            return Pages(matrix_answer.page, matrix_answer.fragment)
        case RankedConfigs():
            from workbench.views.gpu_model import ranked_answer

            return Pages(ranked_answer.page, ranked_answer.fragment)
        case ArtifactReport():
            from workbench.views.answers import inspected

            return Pages(fragment=inspected.fragment)
        case Session():
            from workbench.views.session import session_page as of_session

            return Pages(of_session.page, of_session.fragment)
        case Fit():
            from workbench.views.memory import fit_answer

            return Pages(fit_answer.page, fit_answer.fragment)
        case Check() | Recommendation() | Rehearsal() | Rivals() | RoundTrip() | WhyRecompiled():
            from workbench.views.answers import short

            return Pages(fragment=short.fragment)
    return Pages()
