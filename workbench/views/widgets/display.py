"""What a notebook shows for a report: a live view, and a static one that stays when it is gone.

A compilation as the value of a cell is its summary, unless the cell has shown it already.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from workbench.errors import UsageError
from workbench.live_only import LiveOnly
from workbench.report import Report
from workbench.report.report_header import OWN_KERNEL
from workbench.report.report_holder import ReportHolder
from workbench.settings import Embed, options
from workbench.tasks.live_action import LiveAction
from workbench.views.document import ViewContext, document
from workbench.views.kit.blocks import SUMMARIES, Document, Listings
from workbench.views.kit.live_actions import ONLY_A_RECORD, LiveActions, describe_targets
from workbench.views.pages.report_page import build_document
from workbench.views.panes.pane import choose_pane
from workbench.views.parts.report_parts import report_part
from workbench.views.source_marks import SIGNS, annotated
from workbench.views.static_html.render import keep, needs_bundle, summarize
from workbench.views.text import text
from workbench.views.wire.gpu_messages import Targets
from workbench.views.wire.report_messages import Input, PaneId, Sandbox
from workbench.views.words.record_words import choose_cost_of_lines, cost_text, share_words

if TYPE_CHECKING:
    from anywidget import AnyWidget

    from workbench.views.widgets.report_view import CheckGuards, View


@dataclass
class Carrier:
    """Which cell of the notebook carries the front end; the others find it in the page."""

    cell: str | None = None
    run: str = field(default="", repr=False)

    def keep(self, make: Callable[[bool], str], cell: str, run: str) -> str:
        """An output, which carries it where it is the first that needs it, or the first again.

        One that is kept without its record, as `embed="none"` asks, needs none and carries none.
        """
        carries = self.cell is None or (cell == self.cell and run != self.run)
        html = make(carries)
        if carries and needs_bundle(html):
            self.cell, self.run = cell, run
        return html


@cache
def carrier() -> Carrier:
    """The one of this process: a kernel runs one notebook."""
    return Carrier()


@dataclass(eq=False, repr=False)
class Shown(LiveOnly):
    """A report as an output: in a notebook two views, elsewhere HTML or text.

    Two outputs, never one: a trusted notebook without its kernel shows an error line instead of an
    output that holds a widget, whatever else is in it.
    """

    instead = "Save its report with .report.save(path), and show that file."

    report: Report
    context: ViewContext = field(default_factory=ViewContext)
    check_guards: CheckGuards | None = None
    live_actions: LiveActions | None = None
    view: View | None = None
    source: Any = None

    def __repr__(self) -> str:
        """The stable text summary."""
        return text(self.report)

    def annotated(self, file: str, text: str) -> Annotated:
        """The lines of one file or notebook cell, with what became of each."""
        return Annotated(self.report, file, text)

    def live(self) -> View:
        """The live view, made when it is first asked for."""
        from workbench.views.widgets.report_view import View

        if self.view is None:
            self.view = View(
                self.report,
                self.context,
                check_guards=self.check_guards,
                live_actions=self.live_actions,
            )
            follow(self.source, self.view)
        return self.view

    def saved(self, shell: Any = None) -> dict[str, str]:
        """The static output, for a notebook that is opened without its kernel."""
        html = _keep(shell, partial(self.keep, embed=options.embed))
        return {"text/plain": text(self.report), "text/html": html}

    def keep(self, *, embed: Embed, carries_bundle: bool) -> str:
        """The HTML that stays, of a view in which nothing is alive."""
        context = replace(self.context, sandbox=None, targets=None, actions=())
        page = build_document(self.report, context)
        return keep(page, embed=embed, carries_bundle=carries_bundle)

    def _ipython_display_(self) -> None:
        shell = find_kernel_shell()
        if shell is None:
            raise NotImplementedError  # a terminal: IPython then takes the text
        if self.view is None:  # otherwise it is already on the page
            publish(shell, make_live_output(self.live()))
        publish(shell, self.saved(shell))

    def _display_(self) -> View:
        """What marimo shows: it has no kernel of IPython and takes a widget as it is."""
        return self.live()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {
            "text/plain": text(self.report),
            "text/html": summarize(build_document(self.report)),
        }


class Annotated:
    """A source text with what became of its lines."""

    def __init__(self, report: Report, file: str, text: str):
        self.source = annotated(report, file, text)

    def __repr__(self) -> str:
        """The lines with a sign, the kernels they end in, their share of what those cost."""
        marks = {int(mark["id"].rpartition(":")[2]): mark for mark in self.source["marks"]}
        kind, rows = choose_cost_of_lines(marks.values()), []
        for number, line in enumerate(self.source["lines"], self.source["first"]):
            mark = marks.get(number)
            sign = SIGNS[mark["state"]] if mark else " "
            kernels = " ".join(mark["kernels"]) if mark else ""
            cost = cost_text(mark["cost"], kind) if mark else ""
            rows.append(f"{sign} {number:>4} {line:<72} {kernels} {cost}".rstrip())
        return "\n".join(rows)

    def _build_document(self) -> Document:
        """Every line of the source, however many."""
        count = len(self.source["lines"])
        whole = replace(SUMMARIES[0], lines=count, context=count)
        share = share_words(choose_cost_of_lines(self.source["marks"]))
        return Document("", [Listings([self.source], legend=share)], levels=(whole,))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": summarize(self._build_document())}


def show(x: Any, context: ViewContext | None = None, *, view: View | None = None) -> Shown:
    """What a report, or anything that carries one in `.report`, looks like.

    Raises `UsageError` when `x` is no report and carries none.
    """
    report = x if isinstance(x, Report) else getattr(x, "report", None)
    if not isinstance(report, Report):
        raise UsageError(
            f"{type(x).__name__} cannot be shown: it is not a report and has no .report. "
            "Pass the result of aot_compile, explain, load or inspect."
        )
    check, sandbox = find_live_guards(x)
    name = "k" if report.request.kind == OWN_KERNEL else "compiled"
    chosen = context or ViewContext("report" if x is report else name, pane=choose_pane(report))
    actions = _actions_of(x)
    here = replace(
        chosen,
        is_record=x is report,
        sandbox=sandbox,
        targets=_targets_of(report.request.target, actions),
        actions=actions,
    )
    live = (
        LiveActions(actions, chosen.variable, _presenter_in_place(x, chosen)) if actions else None
    )
    shown = Shown(report, here, check_guards=check, live_actions=live, view=view, source=x)
    if view is not None:
        view.present(report, here, check, live)
        follow(x, view)
    return shown


def display_record(
    record: Any, make: Callable[[], AnyWidget], keep: Callable[..., str], there: Any = None
) -> None:
    """Show a record in the notebook that runs: live, and as HTML that stays.

    A view `there` that has followed it in the same run of the cell is shown already. Raises
    `NotImplementedError` where no notebook runs: IPython then takes the text.
    """
    shell = find_kernel_shell()
    if shell is None:
        raise NotImplementedError
    if getattr(there, "cell", None) != find_running_cell(shell):
        publish(shell, make_live_output(make()))
    html = _keep(shell, partial(keep, embed=options.embed))
    publish(shell, {"text/plain": repr(record), "text/html": html})


def display_pane(record: Any, pane: PaneId) -> None:
    """Show a record as one pane of the compilation that it is of; see `display_record`.

    The view is that of the compilation where it is alive.
    """
    shown = make_pane(record, pane)
    display_record(record, shown.live, shown.keep)


def make_pane(record: Any, pane: PaneId) -> Shown:
    """The view of the compilation that a record is of, opened in its pane."""
    if isinstance(record, Report):
        return show(record)
    subject = getattr(record, "asked", record.report)
    return show(subject, ViewContext(variable="compiled", pane=pane))


def display_value(holder: Any) -> None:
    """Show the view of a compilation that is the value of a cell, unless the cell has shown it.

    Raises `NotImplementedError` where it has, and in a terminal: IPython then takes the summary.
    """
    if displayed().has(holder):
        raise NotImplementedError
    show(holder)._ipython_display_()


def show_row(report: Report, part: str, variable: str) -> Any:
    """A part of a record that a row of another one opens, or all that its view shows at rest."""
    if part != "document":
        return report_part(report, part)
    targets = describe_targets(report.request.target, (), ONLY_A_RECORD)
    return document(report, ViewContext(variable, targets=targets))


def follow(x: Any, view: View) -> None:
    """Let a live view show what `x` learns later: the file that it is saved to, a round trip.

    `x` does not keep the view alive.
    """
    listen = getattr(x, "listen", None)
    if listen is None:
        return
    there = weakref.ref(view)

    def hear(before: Report, after: Report) -> bool:
        alive = there()
        return alive is not None and alive.renew(before, after)

    listen(hear)


def _actions_of(x: Any) -> tuple[LiveAction, ...]:
    """What can be started in the background while `x` is alive."""
    return tuple(getattr(x, "live_actions", ()))


def _targets_of(present: str, actions: Sequence[LiveAction]) -> Targets:
    """The targets that the call can be compiled for in place, or why it cannot be."""
    again = next((action for action in actions if action.id == "retarget"), None)
    if again is None:
        return describe_targets(present, (), ONLY_A_RECORD)
    return describe_targets(present, again.choices if again.why_not is None else (), again.why_not)


def _presenter_in_place(x: Any, context: ViewContext) -> Callable[[Any, str, Any], None]:
    """What shows another compilation of `x`, or a matrix, in the view that it was asked for in.

    A matrix takes the place of the record only: the targets stay those of `x`, and its guards where
    the code compared is for the same target.
    """

    def present(handle: Any, line: str, view: View) -> None:
        again = replace(context, variable=line, is_record=False, saved=None)
        if _actions_of(handle):
            show(handle, again, view=view)
            return
        target = handle.report.request.target
        is_same = target == x.report.request.target
        check, sandbox = find_live_guards(x) if is_same else (None, None)
        actions = tuple(action for action in _actions_of(x) if action.choices)
        targets = _targets_of(target, actions)
        here = replace(again, sandbox=sandbox, targets=targets, actions=actions)
        live = LiveActions(actions, context.variable, present)
        view.present(handle.report, here, check, live)

    return present


def find_live_guards(x: Any) -> tuple[CheckGuards | None, Sandbox | None]:
    """The guards of a live compiled object, ready to be tried, and its inputs to edit."""
    engine = getattr(x, "guard_sandbox", None)
    if engine is None:
        return None, None
    inputs = [cast(Input, item.to_json()) for item in engine.inputs]
    return engine, {"inputs": inputs, "dtypes": list(engine.dtypes), "why_not": engine.why_not}


def _keep(shell: Any, make: Callable[..., str]) -> str:
    """An output of the running cell; outside a notebook each carries the front end."""
    if shell is None:
        return make(carries_bundle=True)
    return carrier().keep(lambda carries: make(carries_bundle=carries), *_cell(shell))


def find_kernel_shell() -> Any:
    """The shell of a notebook's kernel; None in a terminal and outside IPython."""
    shell = _find_shell()
    return shell if getattr(shell, "kernel", None) is not None else None


def make_live_output(view: AnyWidget) -> dict[str, Any]:
    """The output of a live view. Its text is empty: a page without scripts shows it as nothing."""
    bundle = view._repr_mimebundle_()
    data: dict[str, Any] = dict(bundle[0] if isinstance(bundle, tuple) else bundle or {})
    return {**data, "text/plain": ""}


def publish(shell: Any, data: dict[str, Any]) -> None:
    """Write one output of the running cell."""
    shell.display_pub.publish(data=data, metadata={})


def publish_live(shell: Any, view: AnyWidget) -> None:
    """Show a live view that may be taken back."""
    name = {"display_id": view.model_id}
    shell.display_pub.publish(data=make_live_output(view), metadata={}, transient=name)


def take_back(shell: Any, view: AnyWidget) -> None:
    """Remove a live view from the page: there was nothing to see in it."""
    name = {"display_id": view.model_id}
    shell.display_pub.publish(data={"text/plain": ""}, metadata={}, transient=name, update=True)
    view.close()


def find_running_cell(shell: Any) -> str:
    """The run of a cell in which outputs are published now."""
    return _cell(shell)[1]


def _cell(shell: Any) -> tuple[str, str]:
    """The cell that runs now, and its run; a front end that names no cell is known by the code."""
    parent = getattr(shell, "parent_header", None) or {}
    cell = parent.get("metadata", {}).get("cellId") or parent.get("content", {}).get("code", "")
    return str(cell), str(parent.get("header", {}).get("msg_id", ""))


class Displayed:
    """What the running cell of this process has shown."""

    def __init__(self) -> None:
        self._cell: int | None = None
        self._holder: weakref.ref[ReportHolder] | None = None

    def note(self, holder: ReportHolder) -> None:
        """The running cell shows it, or was told not to."""
        self._cell, self._holder = _count_cells(), weakref.ref(holder)

    def has(self, holder: ReportHolder) -> bool:
        """Whether the cell that runs now is the one that showed it."""
        is_same = self._holder is not None and self._holder() is holder
        return is_same and self._cell is not None and self._cell == _count_cells()


@cache
def displayed() -> Displayed:
    """The one of this process: a kernel runs one notebook."""
    return Displayed()


def make_summary_bundle(holder: Any) -> dict[str, str]:
    """Text and HTML of what has a report, as the value of a cell."""
    if displayed().has(holder):
        return {"text/plain": repr(holder)}
    return {
        "text/plain": text(holder.report),
        "text/html": summarize(build_document(holder.report)),
    }


def _count_cells() -> int | None:
    """The number of the cell that runs now."""
    shell = _find_shell()
    return None if shell is None else shell.execution_count


def _find_shell() -> Any:
    get = getattr(builtins, "get_ipython", None)  # IPython puts it there while a cell runs
    return None if get is None else get()
