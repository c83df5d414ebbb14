"""Recorded compilations of one model that differ in one thing each (`tests/records/mlp`)."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.diff.difference import Change, Diff
from workbench.analysis.diff.report_comparison import compare
from workbench.report import Report

RECORDS = Path(__file__).parent / "records" / "mlp"


def recorded(name: str) -> Report:
    """One of `tests.record_mlp.WAYS`."""
    return Report.load(RECORDS / f"{name}.wbr")


def diff(a: str, b: str) -> Diff:
    """Two of them compared."""
    return compare(recorded(a), recorded(b), (a, b))


def rows(found: Diff, part: str) -> list[Change]:
    """The differences of one part."""
    return [change for change in found.changes if change.part == part]
