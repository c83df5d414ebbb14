"""A report as the one document that a view shows at rest; plain JSON-ready data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from workbench.analysis.kernel_checks.kernel_check import read_check
from workbench.glossary import read_foreign_terms
from workbench.number_text import plural
from workbench.report import TABLES, Report
from workbench.report.record import describe_state
from workbench.report.report_header import OWN_KERNEL
from workbench.views.cards import list_cards
from workbench.views.kit.block_wire import list_blocks
from workbench.views.kit.blocks import Rows
from workbench.views.kit.live_actions import explain_not_started, find_asleep, list_costs
from workbench.views.panes.pane import Content, Pane
from workbench.views.panes.pane import ViewContext as ViewContext
from workbench.views.panes.questions import list_questions
from workbench.views.panes.registry import list_panes
from workbench.views.tables.columns import list_columns, specs
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, no_collection


def document(report: Report, context: ViewContext | None = None) -> wire.Document:
    """Everything that a view shows at rest."""
    with no_collection(), report.rows_kept():
        return _document(report, context or ViewContext())


def _document(report: Report, here: ViewContext) -> wire.Document:
    contents = [(pane, pane.document(report, here)) for pane in list_panes()]
    tabs = [(pane, content) for pane, content in contents if not (pane.is_rare and content.empty)]
    questions = list_questions(tabs)
    verdict, tone = _verdict(report, questions)
    omitted = {name: report.tables[name].omitted for name in TABLES if name in report.tables}
    useless = {id: why for _, content in contents for id, why in content.why_not.items()}
    data: dict[str, Any] = {
        "version": wire.VERSION,
        "name": report.request.name or "compilation",
        "verdict": verdict,
        "tone": tone,
        "target": report.request.target,
        "inputs": list(report.request.inputs),
        "variable": here.record,
        "panes": [
            convert_row(
                wire.PaneHead,
                content,
                id=pane.id,
                title=pane.title,
                blocks=list_blocks(content.blocks),
            )
            for pane, content in tabs
        ],
        "questions": questions,
        "targets": here.targets or find_asleep(report),
        "actions": explain_not_started(here.actions) | useless,
        "efforts": list_costs(here.actions),
        "omitted": {name: count for name, count in omitted.items() if count},
    }
    for pane, content in contents:
        _add_data(data, pane, content)
    for block in (block for _, content in contents for block in content.blocks):
        if isinstance(block, Rows) and not block.place:
            data.setdefault(block.table, block.rows)
    data["cards"] = list_cards(data)
    data["columns"] = specs(_tables(data))
    if terms := read_foreign_terms():
        data["terms"] = terms
    return cast(wire.Document, data)


def _add_data(data: dict[str, Any], pane: Pane, content: Content) -> None:
    """What a pane adds to the document."""
    for name, part in content.data.items():
        if name in data:
            why = "the document already has data of that name."
            warnings.warn(f"{name!r} of the pane {pane.id} is left out: {why}", stacklevel=2)
        data.setdefault(name, part)


_OF_PARTS = ("storages", "groups", "rejected")
"""Tables of the parts `memory:`, `fusion:` and `pairs:`."""


def _tables(data: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """The rows of the tables of a document by the names of their columns."""
    rows: Mapping[str, Any] = {
        **data,
        **data["file"],
        "matrix": [cell for row in data["matrix"] for cell in row["cells"] if cell is not None],
        "cuda_graphs": data["cuda_graphs"]["parts"] if data["cuda_graphs"] else [],
        "nodes": data["graphs"],
        "costs": data["kernels"],
        **dict.fromkeys(_OF_PARTS, ()),  # which have their columns with them
    }
    return {name: rows.get(name, ()) for name in list_columns()}


def _verdict(report: Report, questions: Sequence[wire.Question]) -> tuple[str, wire.Tone]:
    """How the compilation ended, and whether its results are right where that was asked."""
    words, tone = _describe_end(report)
    right = next(question for question in questions if question["id"] == "right")
    if tone != "captured" or not right["is_answered"]:
        return words, tone
    return f"{words}, {right['answer']}", "break" if right["tone"] == "break" else tone


def _describe_end(report: Report) -> tuple[str, wire.Tone]:
    if not report.outcome.ok:
        tone: wire.Tone = "plain" if report.outcome.is_cancelled else "break"
        return f"{report.outcome.verb}{report.outcome.place}", tone
    if len(report.breaks):
        return plural(len(report.breaks), "graph break"), "break"
    if report.request.kind == OWN_KERNEL and not len(report.kernels):
        check = read_check(report)
        return describe_state(
            report
        ), "break" if check is not None and check.ok is False else "plain"
    return "compiled", "captured"
