"""The static output of a notebook: a summary to read anywhere that a script makes interactive."""

from __future__ import annotations

from workbench.report import Report
from workbench.settings import Embed
from workbench.views.document import Setting
from workbench.views.embedding import CELL_BYTES, embedded
from workbench.views.html import fragment
from workbench.views.interactive import interactive, loader
from workbench.views.wire_codec import SMALL, pack

_MARKUP = 600  # bytes around the summary, the record and the script


def saved_view(
    report: Report, setting: Setting, *, embed: Embed = "full", carries_bundle: bool = True
) -> str:
    """The HTML of a saved output, at most 300 kB besides the front end.

    Without `carries_bundle` another output of the notebook has to carry the front end; until that
    is found, the summary stays. A sanitiser leaves the summary alone and takes the scripts.
    """
    summary = fragment(report)
    if embed == "none":
        return summary
    limit = CELL_BYTES - len(summary.encode()) - len(loader()) - _MARKUP
    record = pack(embedded(report, setting, embed, limit), SMALL)
    return interactive(summary, record, kind="saved", carries_bundle=carries_bundle)
