"""The live view: an anywidget that answers each request of its front end exactly once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import traitlets

from workbench.analysis.opportunities.opportunity import Opportunity, Tried
from workbench.analysis.opportunities.rehearsed_cures import RehearsedCure
from workbench.analysis.opportunities.rules import opportunities
from workbench.artifacts.preflight.check import Check
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.document import ViewContext, document
from workbench.views.kit.job_queue import IDLE
from workbench.views.kit.live_actions import LiveActions, choose_opportunity, list_actions
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.pages.report_page import make_saved_page
from workbench.views.parts.report_parts import report_part
from workbench.views.wire.diff_messages import DiffDocument
from workbench.views.wire.report_messages import GuardCheck, GuardQuestion, Progress

CheckGuards = Callable[[GuardQuestion], GuardCheck]


class View(RequestWidget):
    """A view of a report, also of one that is still being made.

    Traits hold small state only; the document and its parts are sent when asked for.
    """

    progress = traitlets.Dict(dict(IDLE)).tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    pane = traitlets.Unicode("overview").tag(sync=True)
    selected = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    cost = traitlets.Unicode(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        report: Report | None = None,
        context: ViewContext | None = None,
        *,
        check_guards: CheckGuards | None = None,
        cancel: Callable[[], object] | None = None,
        live_actions: LiveActions | None = None,
    ) -> None:
        super().__init__()
        self._report = report
        self._context = context or ViewContext()
        self.pane = self._context.pane
        self._check_guards = check_guards
        self._cancel = cancel
        self._live_actions = live_actions

    def present(
        self,
        report: Report,
        context: ViewContext,
        check_guards: CheckGuards | None = None,
        live_actions: LiveActions | None = None,
    ) -> None:
        """Show another report in place; the front end asks for its document again.

        What the view was asked for before stays in its list of jobs.
        """
        self._report, self._context, self._check_guards = report, context, check_guards
        if live_actions is not None and self._live_actions is not None:
            live_actions.jobs = self._live_actions.jobs
        self._live_actions = live_actions
        self.revision += 1

    def learn_trial(self, key: str, tried: Tried) -> None:
        """Show what became of an opportunity."""
        self._context = replace(self._context, tried={**self._context.tried, key: tried})
        self.revision += 1

    def learn_check(self, found: Check) -> None:
        """Show how the file compares with a machine."""
        self._context = replace(self._context, checked=found)
        self.revision += 1

    def learn_cure(self, key: tuple[str, int], tried: RehearsedCure) -> None:
        """Show what became of a cure, by its break and its place there."""
        self._context = replace(self._context, cures={**self._context.cures, key: tried})
        self.revision += 1

    def renew(self, before: Report, after: Report) -> bool:
        """Show what became of the report that is shown; False when this view is closed.

        What shows something else by now, such as the code for another target, stays as it is.
        """
        if self.comm is None:
            return False
        if self._report is before:
            self._report = after
            self.revision += 1
        return True

    def follow(self, progress: Progress) -> None:
        """Show how far a compilation is; may be called from any thread."""
        self.progress = dict(progress)

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        name = "a compilation" if self._report is None else self._report.request.name or "?"
        return f"Workbench view of {name}"

    def _answer(self, ask: Any, question: Any) -> Any:
        if ask == "cancel":
            return self._cancel_job(None if question is None else question["job"])
        if ask == "document":
            return None if self._report is None else document(self._report, self._context)
        if self._report is None:
            raise UsageError(f"{ask!r} is not available until the compilation ends.")
        if ask == "guard-check":
            return self._guards(question)
        if ask in list_actions():
            return (self._live_actions or LiveActions()).start(self, ask, question)
        if ask == "page":
            return make_saved_page(self._report)
        if str(ask).startswith("tried:"):
            return self._difference(str(ask).partition(":")[2])
        return report_part(self._report, str(ask))

    @property
    def report(self) -> Report:
        """The report that is shown; raises `UsageError` while it is being made."""
        if self._report is None:
            raise UsageError("The report is not available until the compilation ends.")
        return self._report

    def find_opportunity(self, id: str) -> Opportunity:
        """One of the report; raises `UsageError` for another."""
        return choose_opportunity(opportunities(self.report), id)

    def _difference(self, id: str) -> DiffDocument:
        tried = self._context.tried.get(self.find_opportunity(id).key)
        if tried is None:
            raise UsageError(f"The opportunity {id!r} was not tried here.")
        from workbench.views.diff.diff_page import document as difference

        return difference(tried.diff)

    def _cancel_job(self, job: int | None) -> None:
        if self._live_actions is not None and self._live_actions.jobs.cancel(job):
            return
        if job is not None:  # it has ended meanwhile, which the view shows
            return
        if self._cancel is None:
            raise UsageError(
                "This compilation cannot be cancelled here. Interrupt the kernel instead."
            )
        self._cancel()

    def _guards(self, question: GuardQuestion | None) -> GuardCheck:
        if self._check_guards is None:
            raise UsageError(
                "This view has no live guards. Run `wb.show` on the result of `wb.aot_compile` or "
                "`wb.load` instead, not on its report."
            )
        if question is None:
            raise UsageError("A guard check needs inputs to try: send them with the request.")
        return self._check_guards(question)
