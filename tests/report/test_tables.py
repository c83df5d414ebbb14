"""What errors carry is typed below the records: whoever catches one still sees all of a report."""

from __future__ import annotations

import inspect

from workbench.errors import CaptureError
from workbench.report import Report
from workbench.report.tables import ReportBase

OPENING = {"load", "from_bytes", "from_json"}
OF_VIEWS = {
    "once",
    "node_rows",
    "node_row",
    "graph_steps",
    "node_pairs",
    "lowered",
    "own_roofline",
    "to_perfetto",
    "why_apart",
    "with_profile",
}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_all_that_a_report_offers_is_offered_by_that_of_an_error() -> None:
    known = public(ReportBase) | set(ReportBase.__annotations__)
    assert public(Report) - known == OPENING | OF_VIEWS


def test_it_is_asked_in_the_same_way() -> None:
    for name, method in vars(ReportBase).items():
        if inspect.isfunction(method):
            assert inspect.signature(method) == inspect.signature(getattr(Report, name)), name


def test_the_report_of_an_error_is_a_report() -> None:
    error = CaptureError("no graph")
    assert error.report is None
    error.report = Report()
    assert isinstance(error.report, ReportBase)
    assert error.report.why_missing("assembly") is None
    assert error.report.outcome.ok
