"""The static output of a notebook: a summary to read anywhere that a script makes interactive."""

from __future__ import annotations

from workbench.report import Report
from workbench.settings import Embed
from workbench.views.charts.calls_chart import encode_picture
from workbench.views.document import ViewContext, document
from workbench.views.pages.embedded_parts import CELL_BYTES, embedded
from workbench.views.pages.interactive import interactive, loader
from workbench.views.parts import build_fused
from workbench.views.static_html.static_report import summary
from workbench.views.wire.codec import SMALL, pack

_MARKUP = 600  # bytes around the summary, the record and the script


def render_saved_view(
    report: Report, context: ViewContext, *, embed: Embed = "full", carries_bundle: bool = True
) -> str:
    """The HTML of a saved output, at most 300 kB besides the front end.

    Without `carries_bundle` another output of the notebook has to carry the front end; until that
    is found, the summary stays. A sanitiser leaves the summary alone and takes the scripts.
    """
    shown = document(report, context)
    static = summary(shown, encode_picture(report), build_fused(report))
    if embed == "none":
        return static
    limit = CELL_BYTES - len(static.encode()) - len(loader()) - _MARKUP
    kept = embedded(report, shown, embed, limit)
    if context.pane != "overview":
        kept["pane"] = context.pane
    record = pack(kept, SMALL)
    return interactive(static, record, kind="saved", carries_bundle=carries_bundle)
