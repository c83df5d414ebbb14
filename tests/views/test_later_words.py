"""Records of later releases open: what this release does not know is shown as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from later_words import WORD, change_words, fill_row, list_text_columns

from workbench.report import TABLES, Report, Table
from workbench.views.document import document
from workbench.views.presenters import VIEWS
from workbench.views.tables.data_frames import DERIVED

RECORDS = sorted((Path(__file__).parents[1] / "records").glob("*.wbr"))


def show(record: Report) -> str:
    """All that a record says of itself in one text."""
    frames = [record.frame(name) for name in (*TABLES, *DERIVED)]
    page = VIEWS.page(record, None) + (VIEWS.fragment(record) or "")
    return f"{VIEWS.text(record)}{VIEWS.sentences(record)}{document(record)}{page}{frames}"


def with_tables(record: Report, **tables: Table[Any]) -> Report:
    return replace(record, tables={**record.tables, **tables})


def list_later(record: Report) -> Iterator[tuple[str, Report]]:
    """By table and column: the record with a later word in the first or last row of it."""
    for name, table in record.tables.items():
        for column in list_text_columns(table.row_type) if len(table) else ():
            for row in sorted({0, len(table) - 1}):
                changed = change_words(table, [column], [row])
                yield f"{name}.{column}[{row}]", with_tables(record, **{name: changed})


def test_a_record_opens_of_which_no_word_is_known(sample_report: Report) -> None:
    tables = {
        name: change_words(table, list_text_columns(table.row_type), range(len(table)))
        for name, table in sample_report.tables.items()
    }
    assert WORD in show(with_tables(sample_report, **tables))


def test_every_table_may_have_rows_of_which_no_word_is_known(sample_report: Report) -> None:
    tables = {name: fill_row(row_type) for name, row_type in TABLES.items()}
    assert WORD in show(with_tables(sample_report, **tables))


@pytest.mark.parametrize(
    ("stem", "table", "column"),
    [
        ("block", "kernels", "lines"),
        ("numerics", "passes", "stage"),
        pytest.param("numerics", "numerics", "cause", marks=pytest.mark.world("numerics")),
        pytest.param("numerics", "numerics", "option", marks=pytest.mark.world("numerics")),
        ("accesses", "accesses", "kind"),
        ("norm_h100", "assembly", "stage"),
    ],
)
def test_a_later_word_is_shown_as_it_is(stem: str, table: str, column: str) -> None:
    record = Report.load(RECORDS[0].with_stem(stem))
    rows = record.tables[table]
    changed = with_tables(record, **{table: change_words(rows, [column], range(len(rows)))})
    assert WORD in f"{document(changed)}{VIEWS.page(changed, None)}{changed.frame(table).to_csv()}"


def test_the_header_of_a_record_may_hold_later_words(sample_report: Report) -> None:
    for part in ("request", "outcome", "environment"):
        header = getattr(sample_report, part)
        for field in fields(header):
            if isinstance(getattr(header, field.name), str):
                changed = replace(header, **{field.name: WORD})
                document(replace(sample_report, **{part: changed}))


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_later_word_anywhere_in_a_record_is_shown(path: Path) -> None:
    for name, record in list_later(Report.load(path)):
        try:
            document(record)
            VIEWS.text(record)
        except Exception as error:
            error.add_note(name)
            raise
