"""A difference in a notebook: a widget, and a static output that stays when it is gone."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from workbench.analysis.diff.difference import Diff
from workbench.settings import options
from workbench.views.diff.document import document
from workbench.views.diff.page import saved
from workbench.views.diff.text import text
from workbench.views.display import carries_bundle, kernel_shell, live_output, publish
from workbench.views.wire_codec import pack

_STATIC = files("workbench.views").joinpath("static")


class DiffView(anywidget.AnyWidget):
    """The view of two compilations; all that it shows is sent at once."""

    _esm = _STATIC.joinpath("workbench.js").read_text(encoding="utf-8")
    _css = _STATIC.joinpath("workbench.css").read_text(encoding="utf-8")

    diff = traitlets.Bytes().tag(sync=True)
    pane = traitlets.Unicode("summary").tag(sync=True)

    def __init__(self, diff: Diff) -> None:
        super().__init__(diff=pack(document(diff)))
        self._names = diff.names

    def __repr__(self) -> str:
        """A short stable line: no times, no addresses."""
        return f"Workbench view of {' → '.join(self._names)}"


def display(diff: Diff) -> None:
    """Show a difference in the notebook that runs; raises `NotImplementedError` elsewhere."""
    shell = kernel_shell()
    if shell is None:
        raise NotImplementedError  # a terminal: IPython then takes the text
    publish(shell, live_output(DiffView(diff)))
    html = saved(diff, embed=options.embed, carries_bundle=carries_bundle(shell))
    data: dict[str, Any] = {"text/plain": text(diff), "text/html": html}
    publish(shell, data)
