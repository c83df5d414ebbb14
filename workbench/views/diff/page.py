"""A difference as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from os import PathLike

from workbench.analysis.diff.difference import Diff
from workbench.settings import Embed
from workbench.views.diff.document import document, title
from workbench.views.pages.interactive import interactive
from workbench.views.static_html import render
from workbench.views.static_html.diff import body, summary
from workbench.views.wire.codec import SMALL, pack


def page(diff: Diff, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page; written to `path` when given.

    Where no script runs, the same parts stand below one another as plain HTML.
    """
    shown = document(diff)
    record = pack({"diff": shown}, SMALL)
    view = interactive(body(shown), record, kind="page", carries_bundle=True)
    return render.page(title(diff.a, diff.b), view, path, has_view=True)


def saved(diff: Diff, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive.

    Without `carries_bundle` another output of the notebook has to carry the front end.
    """
    shown = document(diff)
    if embed != "full":
        return summary(shown)
    record = pack({"diff": shown}, SMALL)
    return interactive(summary(shown), record, kind="saved", carries_bundle=carries_bundle)


def fragment(diff: Diff) -> str:
    """A version without script or style sheet, readable in a notebook that is not trusted."""
    return summary(document(diff))
