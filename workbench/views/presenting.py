"""How records of every kind are shown: the presenter that `workbench.report.presenting` asks for.

The views of a kind are imported when a record of it is first shown, live ones when one is asked
for: a summary as text needs no notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import singledispatch
from os import PathLike
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.analysis.diff.difference import Diff
from workbench.analysis.gpu_model.launch_costs import Launches
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.analysis.gpu_model.ranked_configs import RankedConfigs
from workbench.analysis.sweep.recommending import Recommendation
from workbench.analysis.sweep.sweep import Sweep
from workbench.artifacts.inspect.report import ArtifactReport
from workbench.artifacts.preflight.check import Check
from workbench.errors import UsageError
from workbench.report.budget import MissedBudget
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.presenting import Presented
from workbench.report.record import Report
from workbench.report.rivals import Rivals
from workbench.report.roundtrip import RoundTrip
from workbench.report.trials import Trial

if TYPE_CHECKING:
    import anywidget
    import pandas
    from matplotlib.figure import Figure


def text(record: Any) -> str:
    """The stable summary that `repr` gives."""
    return views_of(record).text(record)


def sentences(record: Any) -> tuple[str, ...]:
    """What matters of it in plain words, the most important first."""
    return views_of(record).sentences(record)


def rows_frame(rows: Iterable[Any], row_type: Any) -> pandas.DataFrame:
    """Rows of one data class as a DataFrame with a column for each field."""
    import pandas

    kept, columns = list(rows), [column.name for column in fields(row_type)]
    return pandas.DataFrame({name: [getattr(row, name) for row in kept] for name in columns})


def frame(record: Any, *choice: Any) -> pandas.DataFrame:
    """One of its tables; raises `UsageError` for one that it does not have."""
    return views_of(record).frame(record, *choice)


def plot(record: Any, *choice: Any, **more: Any) -> Figure:
    """One of its charts; raises `UsageError` for one that it does not have."""
    return views_of(record).plot(record, *choice, **more)


def page(record: Any, path: str | PathLike[str] | None, **more: Any) -> str:
    """A self-contained page, written to `path` unless it is None."""
    return views_of(record).page(record, path, **more)


def fragment(record: Any) -> str | None:
    """HTML that a notebook keeps; None for a record that is shown as text."""
    return views_of(record).fragment(record)


@singledispatch
def view(record: object) -> anywidget.AnyWidget:
    """A live view of its own; raises `UsageError` for a record that has none."""
    raise UsageError(f"A {type(record).__name__} has no view of its own.")


@view.register(Diff)
def _(record: Diff) -> anywidget.AnyWidget:
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
    from workbench.views.static_html import render

    body = Markup("<pre>{}</pre>").format(repr(record))
    return render.page(type(record).__name__, body, path)


def _no_frame(record: Any, *_: Any) -> pandas.DataFrame:
    raise UsageError(f"A {type(record).__name__} has no tables.")


def _no_plot(record: Any, *_: Any) -> Figure:
    raise UsageError(f"A {type(record).__name__} has no charts.")


@dataclass(frozen=True)
class Views:
    """The functions that show one kind of record; the defaults show it as text."""

    text: Callable[[Any], str] = _as_text
    sentences: Callable[[Any], tuple[str, ...]] = lambda record: (repr(record),)
    frame: Callable[..., pandas.DataFrame] = _no_frame
    plot: Callable[..., Figure] = _no_plot
    page: Callable[..., str] = _as_page
    fragment: Callable[[Any], str | None] = lambda record: None


@singledispatch
def views_of(record: object) -> Views:
    """The functions that show a record, by its kind."""
    return Views()


@views_of.register(Report)
def _(record: Report) -> Views:
    from workbench.views import figures, frames, html

    return Views(frame=frames.frame, plot=figures.plot, page=html.page, fragment=html.fragment)


@views_of.register(Diff)
def _(record: Diff) -> Views:
    from workbench.views.diff import page, sentences, text

    def words(diff: Diff) -> tuple[str, ...]:
        return tuple(sentence.text for sentence in sentences.sentences(diff))

    return Views(
        text.text, frame=text.frame, sentences=words, page=page.page, fragment=page.fragment
    )


@views_of.register(Sweep)
def _(record: Sweep) -> Views:
    from workbench.views.sweep import choices, figures, frame, page

    def table(
        sweep: Sweep, name: str = "trials", rows: Iterable[int | Trial] | None = None
    ) -> pandas.DataFrame:
        return choices.choices(sweep, rows) if name == "choices" else frame.frame(sweep)

    return Views(frame=table, plot=figures.plot, page=page.page, fragment=page.fragment)


@views_of.register(Matrix)
def _(record: Matrix) -> Views:
    from workbench.views import matrix, matrix_page

    return Views(
        matrix.text,
        frame=matrix.frame,
        plot=matrix.plot,
        page=matrix_page.page,
        fragment=matrix_page.fragment,
    )


@views_of.register(RankedConfigs)
def _(record: RankedConfigs) -> Views:
    from workbench.views import ranked

    return Views(
        ranked.text,
        frame=ranked.frame,
        plot=ranked.plot,
        page=ranked.page,
        fragment=ranked.fragment,
    )


@views_of.register(Launches)
def _(record: Launches) -> Views:
    from workbench.views import launches

    return Views(launches.text, frame=launches.frame, plot=launches.plot)


@views_of.register(Rivals)
def _(record: Rivals) -> Views:
    from workbench.views import rivals

    return Views(rivals.text, fragment=rivals.fragment)


@views_of.register(RoundTrip)
def _(record: RoundTrip) -> Views:
    from workbench.views import roundtrip, roundtrip_html

    return Views(roundtrip.text, fragment=roundtrip_html.fragment)


@views_of.register(MissedBudget)
def _(record: MissedBudget) -> Views:
    from workbench.views.roundtrip import missed_budget

    return Views(missed_budget)


@views_of.register(ArtifactReport)
def _(record: ArtifactReport) -> Views:
    from workbench.views.inspect_page import fragment

    return Views(fragment=fragment)


@views_of.register(Check)
def _(record: Check) -> Views:
    from workbench.views.answers import check_fragment

    return Views(fragment=check_fragment)


@views_of.register(WhyRecompiled)
def _(record: WhyRecompiled) -> Views:
    from workbench.views.answers import why_recompiled_fragment

    return Views(fragment=why_recompiled_fragment)


@views_of.register(Recommendation)
def _(record: Recommendation) -> Views:
    from workbench.views.answers import recommendation_fragment

    return Views(fragment=recommendation_fragment)
