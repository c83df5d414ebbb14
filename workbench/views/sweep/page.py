"""A sweep as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from os import PathLike

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import UsageError
from workbench.settings import Embed
from workbench.views.pages.interactive import interactive
from workbench.views.static_html import render
from workbench.views.static_html.sweep import body, summary
from workbench.views.sweep.document import document
from workbench.views.sweep.figures import plot
from workbench.views.sweep.kernels import inside
from workbench.views.wire.codec import SMALL, pack

_CHARTS = ("pareto", "heat", "parallel", "distribution")


def page(sweep: Sweep, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the table and the charts stand below one another as plain HTML.
    """
    shown = document(sweep)
    static = body(shown, dict(_charts(sweep)), inside(sweep))
    record = pack({"sweep": shown}, SMALL)
    view = interactive(static, record, kind="page", carries_bundle=True)
    return render.page(f"Sweep of {sweep.name}", view, path, has_view=True)


def saved(sweep: Sweep, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    shown = document(sweep)
    if embed == "none":
        return summary(shown)
    record = pack({"sweep": shown}, SMALL)
    return interactive(summary(shown), record, kind="saved", carries_bundle=carries_bundle)


def fragment(sweep: Sweep) -> str:
    """The answer and the table, for a notebook; it needs no style sheet."""
    return summary(document(sweep))


def _charts(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """The charts as addresses of pictures; those for which nothing was measured are left out."""
    for chart in _CHARTS:
        try:
            figure = plot(sweep, chart)
        except UsageError:  # what the table says already
            continue
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
        yield chart, f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
