"""A report as the one document that a view shows at rest; plain JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.fusion.fusion import rejected, savings
from workbench.report import TABLES, Report
from workbench.views import wire
from workbench.views.columns import COLUMNS, specs
from workbench.views.document import (
    about,
    artifact,
    breaks,
    configs,
    cuda_graphs,
    fusion,
    graphs,
    guards,
    heads,
    kernels,
    machine,
    overview,
    sources,
)
from workbench.views.panes.artifact import file_of
from workbench.views.wire_machine import Targets

__all__ = ["Setting", "document"]


@dataclass(frozen=True)
class Setting:
    """What a report cannot know: how the user calls the result, what is alive, what was saved."""

    variable: str = "report"
    sandbox: wire.Sandbox | None = None
    """The inputs to edit where the guards are alive; without it they are only described."""
    targets: Targets | None = None
    """What the call can be compiled for in place, where it is alive."""
    saved: tuple[str, int] | None = None
    """The path and the size in bytes of the artifact."""
    dropped: tuple[str, ...] = ()
    """What was taken out before sharing."""


def document(report: Report, setting: Setting | None = None) -> wire.Document:
    """Everything that a view shows at rest."""
    here = setting or Setting()
    saved = here.saved or file_of(report)
    groups, pairs = savings(report), rejected(report)
    tensors = list(guards.tensors(report))
    verdict, tone = overview.verdict(report)
    omitted = {name: report.tables[name].omitted for name in TABLES if name in report.tables}
    made: wire.Document = {
        "version": wire.VERSION,
        "name": report.request.name or "compilation",
        "verdict": verdict,
        "tone": tone,
        "target": report.request.target,
        "inputs": list(report.request.inputs),
        "variable": here.variable,
        "panes": heads.heads(report, groups, pairs),
        "figures": overview.figures(report, saved),
        "notes": overview.notes(report, here.dropped),
        "missing": overview.missing_parts(report),
        "sources": sources.sources(report),
        "kernels": kernels.kernels(report),
        "no_assembly": configs.why_no_assembly(report),
        "graphs": graphs.graphs(report),
        "breaks": breaks.breaks(report),
        "guards": guards.guards(report, tensors),
        "sandbox": here.sandbox or guards.sandbox(tensors, report.request.kind),
        "recompiles": breaks.recompiles(report),
        "groups": fusion.groups(report, groups),
        "rejected": fusion.rejected_pairs(report, pairs),
        "cuda_graphs": cuda_graphs.cuda_graphs(report),
        "phases": about.phases(report),
        "choices": about.choices(report),
        "ranked": machine.ranked(report),
        "roofs": machine.roofs(report),
        "points": machine.points(report),
        "matrix_targets": machine.matrix_targets(report),
        "matrix": machine.matrix(report),
        "targets": machine.targets(report, here.targets),
        "artifact": artifact.facts(report, saved),
        "file": artifact.saved_file(report, saved),
        "omitted": {name: count for name, count in omitted.items() if count},
        "columns": {},
    }
    made["columns"] = specs(_tables(made))
    return made


def _tables(made: wire.Document) -> dict[str, Sequence[Mapping[str, Any]]]:
    """The rows of the tables of a document by the names of their columns."""
    rows: Mapping[str, Any] = {
        **made,
        **made["file"],
        "matrix": [cell for row in made["matrix"] for cell in row["cells"] if cell is not None],
        "cuda_graphs": made["cuda_graphs"]["parts"] if made["cuda_graphs"] else [],
        "nodes": made["graphs"],
    }
    return {name: rows[name] for name in COLUMNS}
