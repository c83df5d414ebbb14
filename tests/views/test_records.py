"""Recorded compilations of real models, seen through every view."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.analysis.fusion.fusion import list_savings
from workbench.report import TABLES, Report
from workbench.views.presenters import VIEWS
from workbench.views.widgets.display import show

RECORDS = sorted((Path(__file__).parents[1] / "records").glob("*.wbr"))


@pytest.fixture(params=RECORDS, ids=lambda path: path.stem)
def record(request: pytest.FixtureRequest) -> Report:
    return Report.load(request.param)


def test_every_view_shows_it(record: Report) -> None:
    assert record.request.name in VIEWS.page(record)
    assert len(VIEWS.fragment(record)) < 250_000
    assert record.request.name in repr(show(record))
    for name in TABLES:
        assert len(record.frame(name)) == len(record.tables.get(name, ()))
    for name in ("phases", "kernels", "fusion"):
        if record.request.kind != "kernel":  # which may be checked and not compiled
            record.plot(name)


def test_every_kernel_is_found_from_its_group(record: Report) -> None:
    moving = [group for group in list_savings(record) if group.after]
    assert all(group.kernel for group in moving)


def test_redaction_leaves_no_source(record: Report) -> None:
    text = VIEWS.page(record, redact=True)
    for source in record.sources:
        assert source.text is not None
        for line in record.texts[source.text].split("\n"):
            assert len(line.strip()) < 20 or line.strip() not in text
