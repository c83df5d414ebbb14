"""A difference in a notebook: a widget, and a static output that stays when it is gone."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.analysis.diff.difference import Diff
from workbench.errors import UsageError
from workbench.views.diff.diff_page import document
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.wire.codec import pack


class DiffView(RequestWidget):
    """The view of two compilations; all that it shows is sent at once."""

    diff = traitlets.Bytes().tag(sync=True)
    pane = traitlets.Unicode("summary").tag(sync=True)

    def __init__(self, diff: Diff) -> None:
        super().__init__(diff=pack(document(diff)))
        self._names = diff.names

    def _answer(self, ask: Any, question: Any) -> Any:
        raise UsageError(f"A difference has no part {ask!r}: it was sent as a whole.")

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return f"Workbench view of {' → '.join(self._names)}"
