"""Twenty-seven models that nothing here was made for, through every column of the table.

The table is `unseen.json`. A cell is "ok", or "torch cannot: …" with the error of plain torch at
the same, which the run of the table meets anew: a cell that changes, to the better too, fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fresh_process import run_fresh
from tests.models import table, unseen

TABLE: Mapping[str, Mapping[str, str]] = json.loads(
    (Path(__file__).parent / "unseen.json").read_text()
)
SAMPLE = (("albert", "dynamic batch"),)


def test_the_table_has_every_model_and_every_column() -> None:
    assert len(unseen.BUILDERS) == 27
    assert {name: list(row) for name, row in TABLE.items()} == {
        name: list(table.COLUMNS) for name in unseen.BUILDERS
    }


def test_no_cell_is_ours() -> None:
    verdicts = {cell.partition(":")[0] for row in TABLE.values() for cell in row.values()}
    assert verdicts <= {"ok", "torch cannot"}


@pytest.mark.parametrize(("name", "column"), SAMPLE)
def test_a_sample_of_the_table(name: str, column: str) -> None:
    assert table.cell(name, column) == TABLE[name][column]


@pytest.mark.slow
@pytest.mark.parametrize("name", unseen.BUILDERS)
def test_a_row_of_the_table(name: str, tmp_path: Path) -> None:
    found = run_fresh(tmp_path, "tests.models.table", name, compiler=True)
    assert json.loads(found) == [name, TABLE[name]]
