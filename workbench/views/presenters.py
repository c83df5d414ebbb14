"""What shows records of every kind: found by the name of the class, asked by `workbench.report`.

A file is imported when a record is first shown by it: text needs no notebook, a table no charts.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.report.table import Table
from workbench.views.blocks import Code, Document
from workbench.views.shown import Shown, refuse

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas

Kinds = Mapping[str, Shown]
"""What one file shows, by the names of the kinds."""


def _find_answers() -> Kinds:
    from workbench.views.answers import fragments

    return fragments.SHOWN


def _find_alternatives() -> Kinds:
    from workbench.views.answers import alternatives_text

    return alternatives_text.SHOWN


def _find_missed_budgets() -> Kinds:
    from workbench.views.answers import roundtrip_text

    return roundtrip_text.SHOWN


def _find_diffs() -> Kinds:
    from workbench.views.diff import diff_page, diff_text

    return {
        "Diff": Shown(
            document=diff_page.build_blocks,
            text=diff_text.text,
            sentences=diff_text.list_sentences,
            frame=diff_text.frame,
            view=_view_diff,
        )
    }


def _view_diff(diff: Any) -> anywidget.AnyWidget:
    from workbench.views.diff.diff_view import DiffView

    return DiffView(diff)


def _find_fits() -> Kinds:
    from workbench.views.memory import fit_answer

    return fit_answer.SHOWN


def _find_memory() -> Kinds:
    from workbench.views.memory import memory_answer

    return memory_answer.SHOWN


def _find_calls() -> Kinds:
    from workbench.views.gpu_model import call_answer

    return call_answer.SHOWN


def _find_matrices() -> Kinds:
    from workbench.views.gpu_model import matrix_answer

    return matrix_answer.SHOWN


def _find_rankings() -> Kinds:
    from workbench.views.tuning import ranked_answer

    return ranked_answer.SHOWN


def _find_layouts() -> Kinds:
    from workbench.views.charts import report_charts

    return {"Layout": Shown(plot=report_charts.plot_layout)}


def _find_ranks() -> Kinds:
    from workbench.views.clusters import rank_answers

    return rank_answers.SHOWN


def _find_scaling() -> Kinds:
    from workbench.views.clusters import scaling_answer

    return scaling_answer.SHOWN


def _find_numerics() -> Kinds:
    return {"Numerics": Shown(plot=_plot_numerics, display=_display_numerics)}


def _plot_numerics(*choice: Any, **more: Any) -> matplotlib.figure.Figure:
    from workbench.views.numerics.numerics_view import plot

    return plot(*choice, **more)


def _display_numerics(found: Any) -> None:
    from workbench.views.numerics.numerics_view import display

    display(found)


def _find_programs_apart() -> Kinds:
    from workbench.views.numerics import apart_answer

    return apart_answer.SHOWN


def _find_tuned() -> Kinds:
    from workbench.views.tuning import tuned_answer

    return tuned_answer.SHOWN


def _find_reports() -> Kinds:
    from workbench.views.text import text

    return {
        "Report": Shown(
            text=text,
            frame=_frame_report,
            plot=_plot_report,
            document=_build_report,
            export=_export_trace,
        )
    }


def _frame_report(*choice: Any) -> pandas.DataFrame:
    from workbench.views.tables.data_frames import frame

    return frame(*choice)


def _plot_report(*choice: Any, **more: Any) -> matplotlib.figure.Figure:
    from workbench.views.charts.report_charts import plot

    return plot(*choice, **more)


def _build_report(report: Any, **more: Any) -> Document:
    from workbench.views.pages.report_page import build_document

    return build_document(report, **more)


def _export_trace(record: Any, path: Any) -> None:
    from workbench.views.perfetto import write

    write(record, path)


def _find_profiles() -> Kinds:
    from workbench.views.profile import profile_page

    return profile_page.SHOWN


def _find_sessions() -> Kinds:
    from workbench.views.session import session_page

    return session_page.SHOWN


def _find_sweeps() -> Kinds:
    from workbench.views.sweep import sweep_page

    return sweep_page.SHOWN


KINDS: Mapping[str, Callable[[], Kinds]] = {
    "ArtifactReport": _find_answers,
    "Budgets": _find_memory,
    "Check": _find_answers,
    "Diff": _find_diffs,
    "Fit": _find_fits,
    "Forecast": _find_calls,
    "Layout": _find_layouts,
    "Launches": _find_calls,
    "LoggedRanks": _find_ranks,
    "Matrix": _find_matrices,
    "Memory": _find_memory,
    "MissedBudget": _find_missed_budgets,
    "Numerics": _find_numerics,
    "Opportunity": _find_alternatives,
    "ProfileDiff": _find_profiles,
    "ProgramsApart": _find_programs_apart,
    "RankedConfigs": _find_rankings,
    "Ranks": _find_ranks,
    "Recommendation": _find_answers,
    "Rehearsal": _find_answers,
    "Report": _find_reports,
    "Rivals": _find_answers,
    "RoundTrip": _find_answers,
    "RunProfile": _find_profiles,
    "Scaling": _find_scaling,
    "Session": _find_sessions,
    "Sweep": _find_sweeps,
    "Tried": _find_alternatives,
    "Tuned": _find_tuned,
    "WhyRecompiled": _find_answers,
}
"""By the name of the class, or of one that it derives from: where the file is that shows it."""


def find_shown(record: Any) -> Shown:
    """What shows a record, by its kind."""
    kind = next((c.__name__ for c in type(record).__mro__ if c.__name__ in KINDS), None)
    return Shown() if kind is None else KINDS[kind]()[kind]


class _Views:
    """Shows a record by what its kind has; see `Presenter`."""

    def text(self, record: Any) -> str:
        """The stable summary that `repr` gives."""
        return find_shown(record).text(record)

    def sentences(self, record: Any) -> tuple[str, ...]:
        """What matters of it in plain words, the most important first."""
        return find_shown(record).sentences(record)

    def frame(self, record: Any, *choice: Any) -> pandas.DataFrame:
        """One of its tables; raises `UsageError` for one that it does not have."""
        made: pandas.DataFrame = find_shown(record).frame(record, *choice)
        return made

    def plot(self, record: Any, *choice: Any, **more: Any) -> matplotlib.figure.Figure:
        """One of its charts; raises `UsageError` for one that it does not have."""
        drawn: matplotlib.figure.Figure = find_shown(record).plot(record, *choice, **more)
        return drawn

    def page(self, record: Any, path: str | PathLike[str] | None = None, **more: Any) -> str:
        """A self-contained page, written to `path` unless it is None."""
        build = find_shown(record).document
        from workbench.views.static_html.render import write_page

        if build is None:
            return write_page(Document(type(record).__name__, [Code(repr(record))]), path)
        return write_page(build(record, **more), path)

    def fragment(self, record: Any) -> str | None:
        """HTML that a notebook keeps; None for a record that is shown as text."""
        build = find_shown(record).document
        if build is None:
            return None
        from workbench.views.static_html.render import summarize

        return summarize(build(record))

    def export(self, record: Any, path: str) -> None:
        """Write its rows as a table for other programs."""
        find_shown(record).export(record, path)

    def view(self, record: Any) -> anywidget.AnyWidget:
        """A live view of its own."""
        made: anywidget.AnyWidget = (find_shown(record).view or refuse)(record)
        return made

    def display(self, record: Any) -> None:
        """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""
        shown = find_shown(record)
        if shown.display is not None:
            shown.display(record)
            return
        make, build = shown.live or shown.view, shown.document
        if make is None or build is None:
            raise NotImplementedError  # IPython then takes its HTML or its text
        from workbench.views.static_html.render import keep
        from workbench.views.widgets.display import display_record

        display_record(
            record,
            lambda: make(record),
            lambda **how: keep(build(record), **how),
            getattr(record, "view", None),
        )

    def rows_frame(self, rows: Iterable[Any], row_type: Any) -> pandas.DataFrame:
        """Rows of one data class as a DataFrame with a column for each field."""
        import pandas

        table = Table.of(row_type, rows)
        made = pandas.DataFrame({name: list(column) for name, column in table.columns.items()})
        hints = typing.get_type_hints(row_type)
        whole = [n for n in table.columns if set(typing.get_args(hints[n])) == {int, type(None)}]
        return made.astype(dict.fromkeys(whole, "Int64"))  # a missing one makes no fractions

    def script(self, record: Any, kernel: str) -> str:
        """A kernel of a report as a script; raises `UsageError` where there can be none."""
        from workbench.analysis.kernel_script.script import kernel_script

        return kernel_script(record, kernel)

    def why_apart(self, record: Any, a: str, b: str) -> Any:
        """Why two things of a report are apart; raises `UsageError` for one it does not have."""
        from workbench.analysis.apart.apart import explain_apart

        return explain_apart(record, a, b)

    def explain_recompile(self, session: Any, compile: Any) -> str:
        """Why a session compiled once more, in a sentence with the line that changed the value."""
        from workbench.analysis.session.advice import explain_recompile

        return explain_recompile(session, compile)

    def add_profile(self, record: Any, profile: Any) -> Any:
        """A report with the times of its kernels in a profile; raises `UsageError` without any."""
        from workbench.analysis.profile_matches.profiled_report import add_profile

        return add_profile(record, profile)

    def add_report(self, profile: Any, record: Any) -> Any:
        """A profile with what a report says of its kernels; raises `UsageError` without any."""
        from workbench.analysis.profile_matches.profiled_report import add_report

        return add_report(profile, record)

    def read_sweep(self, path: str) -> Any:
        """The sweep that `export` wrote."""
        from workbench.views.sweep.sweep_tables import read

        return read(path)


VIEWS = _Views()
"""The `Presenter` that `workbench.report.presenter` asks."""
