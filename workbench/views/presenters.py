"""What shows records of every kind: a line of `SHOWN` for each, asked by `workbench.report`.

A module is imported when a record is first shown by it: text needs no notebook, a table no charts.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.report.presenter import Presented
from workbench.report.table import Table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, kw_only=True)
class ShownBy:
    """The modules of this room that show one kind of record; what is left out is shown as text.

    Each holds a function that is called like the field, or as stands behind a colon.
    """

    text: str = "presenters:show_as_text"
    sentences: str = "presenters:list_text_alone"
    frame: str = "presenters:refuse"
    plot: str = "presenters:refuse"
    page: str = "answers.fragments:render_plain_page"
    fragment: str = "presenters:leave_to_text"
    export: str = "presenters:refuse"
    view: str = "presenters:refuse"
    display: str = "presenters:leave_to_ipython"


SHOWN = {
    "ArtifactReport": ShownBy(fragment="answers.fragments:show_inspected"),
    "Budgets": ShownBy(
        text="memory.memory_answer:format_budgets", plot="memory.memory_answer:plot_budgets"
    ),
    "Check": ShownBy(fragment="answers.fragments:show_check"),
    "Diff": ShownBy(
        text="diff.diff_text",
        sentences="diff.diff_text:list_sentences",
        frame="diff.diff_text",
        page="diff.diff_page",
        fragment="diff.diff_page",
        view="diff.diff_view:DiffView",
        display="diff.diff_view",
    ),
    "Fit": ShownBy(
        text="memory.fit_answer",
        plot="memory.fit_answer",
        page="memory.fit_answer",
        fragment="memory.fit_answer",
    ),
    "Forecast": ShownBy(
        text="gpu_model.call_answer:format_forecast",
        sentences="gpu_model.call_answer:list_forecast_sentences",
        page="gpu_model.call_answer:render_forecast_page",
        fragment="gpu_model.call_answer:render_forecast",
    ),
    "Layout": ShownBy(plot="charts.report_charts:plot_layout"),
    "Launches": ShownBy(text="gpu_model.call_answer", plot="gpu_model.call_answer"),
    "LoggedRanks": ShownBy(
        text="clusters.rank_answers:format_logged_ranks",
        sentences="clusters.rank_answers:list_rank_sentences",
        fragment="clusters.rank_answers:render_logged_ranks",
    ),
    "Matrix": ShownBy(
        text="gpu_model.matrix_answer",
        frame="gpu_model.matrix_answer",
        plot="gpu_model.matrix_answer",
        page="gpu_model.matrix_answer",
        fragment="gpu_model.matrix_answer",
    ),
    "Memory": ShownBy(text="memory.memory_answer", plot="memory.memory_answer"),
    "MissedBudget": ShownBy(text="answers.roundtrip_text:describe_missed_budget"),
    "Numerics": ShownBy(plot="numerics.numerics_view", display="numerics.numerics_view"),
    "Opportunity": ShownBy(text="answers.alternatives_text:describe_opportunity"),
    "ProfileDiff": ShownBy(
        page="profile.profile_page:page_of_two",
        fragment="profile.profile_page:fragment_of_two",
        view="profile.profile_view:ProfileDiffView",
        display="profile.profile_view:display_two",
    ),
    "ProgramsApart": ShownBy(
        page="numerics.numerics_view:page_of_two", fragment="numerics.numerics_view:fragment_of_two"
    ),
    "RankedConfigs": ShownBy(
        text="tuning.ranked_answer",
        frame="tuning.ranked_answer",
        plot="tuning.ranked_answer",
        page="tuning.ranked_answer",
        fragment="tuning.ranked_answer",
    ),
    "Ranks": ShownBy(
        text="clusters.rank_answers:format_ranks",
        sentences="clusters.rank_answers:list_rank_sentences",
        page="clusters.rank_answers:render_ranks_page",
        fragment="clusters.rank_answers:render_ranks",
    ),
    "Recommendation": ShownBy(fragment="answers.fragments:show_recommendation"),
    "Rehearsal": ShownBy(
        text="answers.alternatives_text:describe_rehearsal",
        fragment="answers.fragments:show_rehearsal",
    ),
    "Report": ShownBy(
        text="text",
        frame="tables.data_frames",
        plot="charts.report_charts",
        page="pages.report_page",
        fragment="pages.report_page",
        export="perfetto:write",
    ),
    "Rivals": ShownBy(
        text="answers.alternatives_text:describe_rivals", fragment="answers.fragments:show_rivals"
    ),
    "RoundTrip": ShownBy(
        text="answers.roundtrip_text", fragment="answers.fragments:show_roundtrip"
    ),
    "RunProfile": ShownBy(
        text="profile.profile_answer",
        sentences="profile.profile_answer",
        frame="profile.profile_answer",
        page="profile.profile_page",
        fragment="profile.profile_page",
        view="profile.profile_view:ProfileView",
        display="profile.profile_view",
        export="perfetto:write",
    ),
    "Scaling": ShownBy(
        text="clusters.scaling_answer",
        sentences="clusters.scaling_answer",
        plot="clusters.scaling_answer",
        page="clusters.scaling_answer",
        fragment="clusters.scaling_answer",
    ),
    "Session": ShownBy(
        text="session.session_answer",
        sentences="session.session_answer",
        frame="session.session_answer",
        plot="session.session_answer",
        page="session.session_page",
        fragment="session.session_page",
        view="session.session_view:SessionView",
        display="session.session_view",
    ),
    "Sweep": ShownBy(
        frame="sweep.sweep_tables",
        plot="sweep.sweep_page",
        page="sweep.sweep_page",
        fragment="sweep.sweep_page",
        export="sweep.sweep_tables:write",
        view="sweep.sweep_view:SweepView",
        display="sweep.sweep_view",
    ),
    "Tried": ShownBy(text="answers.alternatives_text:format_trial"),
    "Tuned": ShownBy(
        text="tuning.tuned_answer",
        frame="tuning.tuned_answer",
        plot="tuning.tuned_answer",
        page="tuning.tuned_answer",
        fragment="tuning.tuned_answer",
    ),
    "WhyRecompiled": ShownBy(fragment="answers.fragments:show_why_recompiled"),
}
"""By the name of the class, or of one that it derives from."""


def find_view(record: Any, aspect: str) -> Callable[..., Any]:
    """What shows a record so, by its kind."""
    kinds = (SHOWN[kind.__name__] for kind in type(record).__mro__ if kind.__name__ in SHOWN)
    module, _, name = getattr(next(kinds, ShownBy()), aspect).partition(":")
    view: Callable[..., Any] = getattr(import_module(f"workbench.views.{module}"), name or aspect)
    return view


class _Views:
    """Shows a record by what `SHOWN` lists for its kind."""

    def __getattr__(self, aspect: str) -> Callable[..., Any]:
        return lambda record, *choice, **more: find_view(record, aspect)(record, *choice, **more)

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


def show_as_text(record: Any) -> str:
    """Its own `repr`, or its fields."""
    own: object = type(record).__repr__
    if own is not Presented.__repr__:
        return repr(record)
    if not is_dataclass(record):
        return object.__repr__(record)
    shown = ", ".join(f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    return f"{type(record).__name__}({shown})"


def list_text_alone(record: Any) -> tuple[str, ...]:
    """Its text, where no sentence says what matters most."""
    return (repr(record),)


def refuse(record: Any, *_: Any, **__: Any) -> Any:
    """Raise `UsageError`: there is no such table, no such chart."""
    raise UsageError(f"{type(record).__name__} has neither this table nor this chart.")


def leave_to_text(record: Any) -> None:
    """No HTML: a notebook shows its text."""


def leave_to_ipython(record: Any) -> None:
    """Raise `NotImplementedError`: IPython then takes its HTML or its text."""
    raise NotImplementedError
