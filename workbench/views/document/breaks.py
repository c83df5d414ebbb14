"""Graph breaks with a rewrite where one is known, and recompilations."""

from __future__ import annotations

from workbench.analysis.source.rewrites import rewrite_of
from workbench.report import Break, Report
from workbench.views import wire
from workbench.views.document.names import line_ids


def breaks(report: Report) -> list[wire.Break]:
    """Every graph break on its line."""
    line_of = line_ids(report)
    found: list[wire.Break] = []
    for item in report.breaks:
        found.append(
            {
                "id": item.id,
                "file": item.file,
                "line": item.line,
                "line_id": line_of.get((item.file, item.line)),
                "function": item.function,
                "text": item.text,
                "kind": item.kind,
                "gb_id": item.gb_id,
                "reason": item.reason,
                "explanation": item.explanation,
                "hints": list(item.hints),
                "count": item.count,
                "rewrite": rewrite(report, item),
            }
        )
    return found


def rewrite(report: Report, item: Break) -> wire.Rewrite | None:
    """A change of the line that takes the break away, where one is known to be right."""
    change = rewrite_of(report, item)
    if change is None:
        return None
    return {
        "title": change.title,
        "why": change.why,
        "before": list(change.before),
        "after": list(change.after),
    }


def recompiles(report: Report) -> list[wire.Recompile]:
    """Every further compilation, with the guard that failed."""
    return [
        {"compile_id": row.compile_id, "function": row.function, "reason": row.reason}
        for row in report.recompiles
    ]
