"""What shows records of every kind: found by the name of the class, asked by `workbench.report`.

A file is imported when a record is first shown by it: text needs no notebook, a table no charts.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.report.presenter import Presented
from workbench.report.table import Table
from workbench.views.kit.blocks import Code, Document, write_text
from workbench.views.kit.shown import Shown, refuse, show_as_text
from workbench.worlds.world import ask, list_worlds

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas

    from workbench.analysis.quantities.quantities import Quantity

Kinds = Mapping[str, Shown]
"""What one file shows, by the names of the kinds."""


def find_file(kind: str) -> Kinds | None:  # noqa: C901 (a table, and its imports are seen)
    """What the file that shows a kind gives of itself; None for a kind that no file shows.

    Each file is imported when a record of its kind is first shown.
    """
    match kind:
        case "Report":
            from workbench.views.text import SHOWN
        case "Budgets" | "Memory":
            from workbench.views.memory.memory_answer import SHOWN
        case "Fit":
            from workbench.views.memory.fit_answer import SHOWN
        case "Forecast" | "Launches":
            from workbench.views.gpu_model.call_answer import SHOWN
        case "Matrix":
            from workbench.views.gpu_model.matrix_answer import SHOWN
        case "Layout":
            from workbench.views.gpu_model.layout_answer import SHOWN
        case "RankedConfigs":
            from workbench.views.tuning.ranked_answer import SHOWN
        case "Opportunity" | "Tried":
            from workbench.views.answers.alternatives_text import SHOWN
        case "MissedBudget" | "RoundTrip":
            from workbench.views.answers.roundtrip_answer import SHOWN
        case "ArtifactReport" | "Check" | "KernelCheck" | "Rehearsal" | "Rivals" | "WhyRecompiled":
            from workbench.views.answers.fragments import SHOWN
        case "Diff":
            from workbench.views.diff.diff_text import SHOWN
        case _:
            return None
    return SHOWN


def find_shown(record: Any) -> Shown:
    """What shows a record: by the name of its class, or of one that it derives from."""
    for kind in (base.__name__ for base in type(record).__mro__):
        file = find_file(kind)
        if file is not None:
            return file[kind]
        for world in list_worlds():
            shown = ask(world, lambda w: w.find_shown(kind), None, f"what shows {kind}")  # noqa: B023
            if isinstance(shown, Shown):
                return shown
    return Shown()


class _Views:
    """Shows a record by what its kind has; see `Presenter`."""

    def text(self, record: Any) -> str:
        """The stable summary that `repr` gives; of a kind without a text of its own its blocks."""
        shown = find_shown(record)
        own: object = type(record).__repr__
        is_bare = shown.text is show_as_text and not is_dataclass(record)
        if is_bare and shown.document is not None and own is Presented.__repr__:
            return write_text(shown.document(record))
        return shown.text(record)

    def sentences(self, record: Any) -> tuple[str, ...]:
        """What matters of it in plain words, the most important first."""
        return find_shown(record).sentences(record)

    def frame(self, record: Any, *choice: Any) -> pandas.DataFrame:
        """One of its tables; raises `UsageError` for one that it does not have."""
        frame: pandas.DataFrame = find_shown(record).frame(record, *choice)
        return frame

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
        """A live view of its own, or of the compilation that it is a pane of."""
        shown = find_shown(record)
        if shown.pane is not None:
            from workbench.views.widgets.display import make_pane

            return make_pane(record, shown.pane).live()
        widget: anywidget.AnyWidget = (shown.view or shown.live or refuse)(record)
        return widget

    def display(self, record: Any) -> None:
        """Show it in the notebook that runs; raises `NotImplementedError` elsewhere."""
        shown = find_shown(record)
        make, build = shown.live or shown.view, shown.document
        if shown.pane is not None:
            from workbench.views.widgets.display import display_pane

            display_pane(record, shown.pane)
            return
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
        frame = pandas.DataFrame({name: list(column) for name, column in table.columns.items()})
        hints = typing.get_type_hints(row_type)
        whole = [n for n in table.columns if set(typing.get_args(hints[n])) == {int, type(None)}]
        return frame.astype(dict.fromkeys(whole, "Int64"))  # a missing one makes no fractions

    def script(self, record: Any, kernel: str) -> str:
        """A kernel of a report as a script; raises `UsageError` where there can be none."""
        from workbench.analysis.kernel_script.script import kernel_script

        return kernel_script(record, kernel)

    def why_apart(self, record: Any, a: str, b: str) -> Any:
        """Why two things of a report are apart; raises `UsageError` for one it does not have."""
        from workbench.analysis.apart.apart import explain_apart

        return explain_apart(record, a, b)

    def explain(self, record: Any, row: Any) -> str:
        """Why a row of its tables came about, in a sentence; raises `UsageError` without one."""
        sentence: str = find_shown(record).explain(record, row)
        return sentence

    def terminal(self, record: Any) -> str:
        """What the commands print of it."""
        return (find_shown(record).terminal or self.text)(record)

    def numbers(self, record: Any) -> Iterable[Quantity]:
        """Each of its single numbers."""
        return find_shown(record).numbers(record)

    def tables(self, record: Any) -> Mapping[str, Table[Any]] | None:
        """The tables that the commands give as JSON; None where it has no such tables."""
        list_tables = find_shown(record).tables
        return None if list_tables is None else list_tables(record)

    def compare(self, a: Any, b: Any, names: tuple[str, str] | None) -> Any:
        """The difference of two records of a kind that is compared with its own only.

        None where neither is of such a kind; raises `UsageError` where one of them alone is.
        """
        # a class of the user's may have the name of one of ours
        records = (record for record in (a, b) if isinstance(record, Presented))
        run = next((how for record in records if (how := find_shown(record).compare)), None)
        return None if run is None else run(a, b, names)

    def add_times(self, report: Any, measured: Any) -> Any:
        """A report with the times that another record measured; raises `UsageError` without any."""
        return find_shown(measured).add_times(measured, report)

    def join(self, record: Any, report: Any) -> Any:
        """A record with what a report says of its kernels; raises `UsageError` without any."""
        return find_shown(record).join(record, report)


VIEWS = _Views()
"""The `Presenter` that `workbench.report.presenter` asks."""
