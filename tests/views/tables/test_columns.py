from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from workbench.report import Report
from workbench.views.document import document
from workbench.views.tables.column import Column
from workbench.views.tables.columns import list_columns, specs

BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")


def test_a_column_says_only_what_is_not_as_usual() -> None:
    column = Column("Moved", "moved", "B", "68px", "moved_bytes", is_optional=True)
    assert column.spec() == {
        "key": "moved",
        "title": "Moved",
        "width": "68px",
        "field": "moved_bytes",
        "kind": "number",
        "unit": "B",
    }


def test_the_narrowest_that_a_column_gets_has_room_for_its_head() -> None:
    """As seen: `From birth to deat`, cut in its last letter. A letter takes 6.6 px at least."""
    least = {
        (name, column.title): int(found[1]) - 6.6 * len(column.title)
        for name, columns in list_columns().items()
        for column in columns
        if (found := re.search(r"(\d+)px", column.width))
    }
    assert [place for place, room in least.items() if room < 0] == []


@pytest.mark.parametrize(
    ("field", "value"), [("", 3), ("sizes.BLOCK", 64), ("sizes.OTHER", None), ("why", None)]
)
def test_the_value_of_a_column(field: str, value: Any) -> None:
    row = {"rank": 3, "sizes": {"BLOCK": 64}, "why": None}
    assert Column("Rank", "rank", "number", "44px", field).value(row) == value


def test_tables_without_rows_have_no_columns(sample_report: Report) -> None:
    assert document(Report())["columns"] == {}
    shown = document(sample_report)
    assert list(shown["columns"]) == [
        name for name in list_columns() if name in shown["columns"]
    ]  # in one order: what is packed is the same in every process
    assert {"guards", "choices", "recompiles", "phases"} <= shown["columns"].keys()


def test_every_field_of_a_column_is_in_the_rows(sample_report: Report) -> None:
    for report in (sample_report, BLOCK):
        shown: Any = document(report)
        for table, columns in shown["columns"].items():
            if table in ("matrix", "nodes", "leaves"):
                continue  # their rows are made of what the document has by column
            table = "kernels" if table == "costs" else table
            rows = shown[table] if table in shown else shown["file"][table]
            rows = rows["parts"] if table == "cuda_graphs" else rows
            for column in columns:
                field = column.get("field", column["key"])
                assert all(field.split(".")[0] in row for row in rows[:1]), (table, field)


def test_optional_columns_are_left_out_where_no_row_has_a_value() -> None:
    choice = {"op": "mm", "time_ms": None}
    assert "bar" not in [column["key"] for column in specs({"choices": [choice]})["choices"]]
    timed = specs({"choices": [choice, {**choice, "time_ms": 0.3}]})["choices"]
    assert timed[-1]["key"] == "bar"


def test_ranked_configurations_have_a_column_for_each_size_of_a_block() -> None:
    rows = [{"sizes": {"XBLOCK": 64}}, {"sizes": {"XBLOCK": 32, "R0_BLOCK": 1024}}]
    found = [(column["title"], column.get("field")) for column in specs({"ranked": rows})["ranked"]]
    assert found[1:3] == [("XBLOCK", "sizes.XBLOCK"), ("R0_BLOCK", "sizes.R0_BLOCK")]


@pytest.mark.parametrize(("measured", "title"), [(None, "Share (est.)"), (12.5, "Share")])
def test_a_share_of_estimates_says_so(measured: float | None, title: str) -> None:
    columns = specs({"points": [{"measured_us": measured}]})["points"]
    assert columns[-1]["title"] == title
    assert any(column["key"] == "measured" for column in columns) is (measured is not None)
