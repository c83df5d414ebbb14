"""What could be changed in a compilation, each ready to be tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.presenter import presenter

if TYPE_CHECKING:
    import pandas

    from workbench.analysis.opportunities.opportunity import Tried


class Suggestion:
    """An optimization opportunity of a compilation, with `try_` to test it."""

    def __init__(self, opportunity: Opportunity, subject: Any):
        self.opportunity = opportunity
        self._subject = subject

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.opportunity, name)

    def __repr__(self) -> str:
        """Show the sentence, the saving, and the change."""
        return presenter().text(self.opportunity)

    @property
    def why_not(self) -> str | None:
        """A sentence that says why the change cannot be tried, or None if it can."""
        from workbench.handles.opportunities.opportunity_trial import why_not

        return why_not(self.opportunity, self._subject)

    @checked
    def try_(self, *, interpret: bool = False) -> Tried:
        """Compile a copy with the change, compare the outputs and measure both versions.

        For a virtual GPU, the kernels, bytes and bounds are compared. With `interpret=True`, the
        changed program also runs on the CPU and its outputs are compared, which takes tens of
        seconds. To test the rewrite of a graph break, `explain` runs on the changed function, which
        executes it. Raises `UsageError` if the change cannot be tried; check `why_not` first.
        """
        from workbench.handles.opportunities.opportunity_trial import try_opportunity

        return try_opportunity(self._subject, self.opportunity, interpret=interpret)


class Opportunities(Sequence[Suggestion]):
    """The possible changes to a compilation, largest saving first."""

    def __init__(self, report: Report, subject: Any):
        self.report = report
        self._subject = subject

    @cached_property
    def _found(self) -> tuple[Suggestion, ...]:
        return tuple(
            Suggestion(opportunity, self._subject) for opportunity in opportunities(self.report)
        )

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self._found)

    @overload
    def __getitem__(self, key: int | str) -> Suggestion: ...

    @overload
    def __getitem__(self, key: slice) -> Sequence[Suggestion]: ...

    @checked
    def __getitem__(self, key: int | str | slice) -> Suggestion | Sequence[Suggestion]:
        """Return an item by position, id or rule; raises `UsageError` for an unknown name."""
        if not isinstance(key, str):
            return self._found[key]
        for suggestion in self._found:
            if key in (suggestion.opportunity.id, suggestion.opportunity.rule):
                return suggestion
        rules = ", ".join(suggestion.opportunity.rule for suggestion in self._found) or "none"
        raise UsageError(f"{key!r} is not an opportunity here: expected one of {rules}.")

    def frame(self) -> pandas.DataFrame:
        """Return a row per opportunity, as in `report.frame("opportunities")`."""
        return self.report.frame("opportunities")

    def __repr__(self) -> str:
        """Show each with its saving and its change, for a terminal of 80 columns."""
        from workbench.views.answers.alternatives_text import describe_opportunities

        return describe_opportunities(
            self.report, [suggestion.opportunity for suggestion in self._found]
        )
