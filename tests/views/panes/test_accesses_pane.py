import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.sample_report import make
from workbench.report import Report
from workbench.report.machine_rows import MemoryAccess
from workbench.report.table import Table
from workbench.views.document import document

REPORT = Report.load(Path(__file__).parents[2] / "records" / "accesses.wbr")
GOOD = {"used": 1.0, "used_l1": 1.0, "sectors": 4.0, "least_sectors": 4.0, "hint": ""}
UNKNOWN = GOOD | {"used": 0.5, "sectors": 8.0}
PARTLY = GOOD | {"used": 0.5}
LOST = {"used": None, "used_l1": None, "hint": "", "reason": "it stopped"}


def show(*changes: dict[str, Any]) -> dict[str, Any]:
    """The document of a report with an access for each of some fields."""
    rows = [replace(REPORT.accesses[0], **each) for each in changes]
    tables = {**REPORT.tables, "accesses": Table.of(MemoryAccess, rows)}
    return document(replace(REPORT, tables=tables))


def test_the_sentence_is_first_and_names_the_line_that_wastes_most() -> None:
    shown = document(REPORT)
    assert shown["accesses_says"].startswith(
        "Line 47 reads a and uses 9 % of the bytes fetched, 75 % if L1 keeps them; "
        "1 access of 3 can be improved. Not counted: L1/L2 hits"
    )


def test_rows_are_linked_and_have_what_is_drawn() -> None:
    row = document(REPORT)["accesses"][0]
    assert (row["id"], row["kernel"], row["line"]) == ("x0", "k0", "L:s0:47")
    assert (len(row["lanes"]), row["sector_bytes"], row["shape"]) == (32, 32, [32, 32])
    assert len(row["bases"]) == 4
    assert "K = 80" in row["said"]


def test_without_accesses_the_pane_says_how_to_have_them() -> None:
    empty = next(pane for pane in document(make())["panes"] if pane["id"] == "accesses")["empty"]
    assert 'k.frame("accesses")' in empty["text"]


def test_a_kernel_without_accesses_has_none_and_is_not_told_to_look() -> None:
    empty = next(pane for pane in show()["panes"] if pane["id"] == "accesses")["empty"]
    assert empty["text"] == "The compiled kernel neither reads nor writes memory."


@pytest.mark.parametrize(
    ("fields", "sentence", "said"),
    [
        (GOOD, "1 access, no problems found. Not counted:", ""),
        (
            UNKNOWN,
            "Line 47 reads a and uses 50 % of the bytes fetched, 100 % if L1 keeps them; "
            "1 access without a known fix. Not counted:",
            "50 % of the bytes fetched are used: the access touches 8 sectors instead of 4. "
            "No fix is known.",
        ),
        (
            PARTLY,
            "1 access, no problems found. Not counted:",
            "50 % of the bytes fetched are used: the access has too few bytes to fill its sectors.",
        ),
        (LOST, "Nothing was counted: it stopped. Not counted:", "Not analysed: it stopped."),
        (
            GOOD | {"reason": "it stopped"},
            "1 access, no problems found. Only part of the run was counted: it stopped. "
            "Not counted:",
            "Only part of the run was counted: it stopped.",
        ),
    ],
)
def test_what_is_not_known_or_not_whole_is_said(
    fields: dict[str, Any], sentence: str, said: str
) -> None:
    shown = show(fields)
    assert shown["accesses_says"].startswith(sentence)
    assert shown["accesses"][0]["said"] == said


def test_an_atomic_access_updates() -> None:
    assert " updates a and uses " in show(UNKNOWN | {"kind": "atomic"})["accesses_says"]


def test_one_program_is_not_all_of_them() -> None:
    alone = {"instructions": 8, "programs": 1, "all_programs": 1}
    assert show(GOOD | alone)["accesses"][0]["looked"] == (
        "8 warp instructions in the one program instance"
    )


def test_how_large_a_sector_is_stands_with_the_gpu_alone() -> None:
    terms = json.loads((Path(workbench.__file__).parent / "terms.json").read_text("utf-8"))
    said = [words[0] for name, words in terms["accesses"].items() if "ector" in words[0] + name]
    assert len(said) >= 2
    assert [words for words in said if re.search(r"\d", words)] == []
