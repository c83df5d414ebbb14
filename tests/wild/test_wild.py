"""The table of every causal language model of transformers, which `make test-wild` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.wild import choice, record
from tests.wild.__main__ import LIMIT_S, judged

TABLE: Mapping[str, Any] = record.load()


def test_the_table_asks_about_every_model_and_has_no_other() -> None:
    if TABLE["transformers"] != version("transformers"):
        pytest.skip("the table is of another release of transformers")
    for column in LIMIT_S:
        assert TABLE["asked"][column] == len(choice.names(column))
        assert record.cells(TABLE, column).keys() <= set(choice.names(column))


def test_every_cell_has_a_known_verdict_with_figures_or_a_reason() -> None:
    for column in LIMIT_S:
        for name, cell in record.cells(TABLE, column).items():
            assert cell["verdict"] in record.VERDICTS, (name, column)
            assert cell["date"], (name, column)
            if cell["verdict"] == "right":
                assert cell["difference"] >= 0, (name, column)
            elif cell["verdict"] != "over time":
                assert cell["why"], (name, column)
            if cell["verdict"] == "breaks":
                assert all(row["explanation"] for row in cell["breaks"]), (name, column)


@pytest.mark.parametrize("column", LIMIT_S)
def test_nothing_fails_with_us_alone(column: str) -> None:
    assert not record.counts(TABLE, column).keys() & {"ours", "failed", "differs"}


def test_the_page_and_the_readme_say_what_the_table_says() -> None:
    assert record.on_page(record.PAGE.read_text()) == record.paragraph(TABLE)
    agreed = f"{record.right(TABLE, 'inference')} of {TABLE['asked']['inference']} compile"
    assert agreed in (record.PAGE.parents[3] / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("column", LIMIT_S)
def test_a_model_goes_through_a_column_anew(column: str, tmp_path: Path) -> None:
    (cell,) = judged(column, ["gpt2"], tmp_path).values()
    assert cell["verdict"] == "right"
    assert re.fullmatch(r"GPT2\w+", cell["class"])
