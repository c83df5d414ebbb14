"""The part `changes:<before>:<after>`: what the passes between two stages did."""

from __future__ import annotations

from workbench.analysis.fusion.lineage import changes
from workbench.report import Report
from workbench.views.wire.document import ChangesPart


def changes_part(report: Report, before: str, after: str) -> ChangesPart:
    """Build the part; raises `UsageError` for an id that is not a graph."""
    found = changes(report, before, after)
    return {
        "kind": "changes",
        "before": found.before,
        "after": found.after,
        "added": list(found.added),
        "removed": list(found.removed),
        "replaced": [(list(old), list(new)) for old, new in found.replaced],
        "kept": len(found.kept),
    }
