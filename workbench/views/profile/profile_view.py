"""A profile in a notebook: a widget, and a static output that stays."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.errors import UsageError
from workbench.report.profile.run_profile import RunProfile
from workbench.views.profile.profile_document import document
from workbench.views.profile.profile_page import saved
from workbench.views.widgets.display import display_record
from workbench.views.widgets.request_widget import RequestWidget
from workbench.views.wire.codec import pack


class ProfileView(RequestWidget):
    """The view of a profile; everything that it shows comes with it."""

    profile = traitlets.Bytes().tag(sync=True)

    def __init__(self, profile: RunProfile, variable: str = "p") -> None:
        super().__init__(profile=pack(document(profile, variable)))
        self.variable = variable

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return "Workbench view of a profile"

    def _answer(self, ask: Any, question: Any) -> Any:
        raise UsageError(f"A profile has no part {ask!r}: all of it is shown.")


def display(profile: RunProfile) -> None:
    """See `display_record`."""
    display_record(profile, lambda: ProfileView(profile), saved)
