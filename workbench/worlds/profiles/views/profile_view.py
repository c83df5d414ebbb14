"""A profile, or two, in a notebook: a widget, and a static output that stays."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.errors import UsageError
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.widgets.display import show_row
from workbench.views.wire.codec import pack
from workbench.worlds.profiles.matches.profile_difference import ProfileDiff
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.difference_document import document_of_two
from workbench.worlds.profiles.views.profile_document import document


class ProfileView(RequestWidget):
    """The view of a profile; all of it comes with it, its records are opened on request."""

    profile = traitlets.Bytes().tag(sync=True)

    def __init__(self, profile: RunProfile, variable: str = "p") -> None:
        super().__init__(profile=pack(document(profile, variable, opens=True)))
        self.variable, self._records = variable, profile.records

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return "Workbench view of a profile"

    def _answer(self, ask: Any, question: Any) -> Any:
        if ask != "row":
            raise UsageError(f"A profile has no part {ask!r}: the only part is row.")
        report = self._records.get(question["row"])
        if report is None:
            raise UsageError(f"This profile has no report {question['row']!r:.80}.")
        return show_row(report, question["part"], f"{self.variable}.records[{question['row']!r}]")


class ProfileDiffView(RequestWidget):
    """The view of two profiles; all that it shows comes with it."""

    profile_diff = traitlets.Bytes().tag(sync=True)

    def __init__(self, diff: ProfileDiff) -> None:
        super().__init__(profile_diff=pack(document_of_two(diff)))
        self._names = diff.names

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return f"Workbench view of {' → '.join(self._names)}"

    def _answer(self, ask: Any, question: Any) -> Any:
        raise UsageError(f"A profile difference has no part {ask!r}: it is shown in full.")
