from pathlib import Path

from tests.sample_report import make
from workbench.report import Report
from workbench.views.document import document

REPORT = Report.load(Path(__file__).parents[2] / "records" / "accesses.wbr")


def test_the_sentence_is_first_and_names_the_line_that_wastes_most() -> None:
    shown = document(REPORT)
    assert shown["accesses_says"].startswith(
        "Line 47 reads a with 9 % of what an instruction brings used, 75 % if L1 keeps it; "
        "1 access of 3 could be better. Not in it: hits in L1 and L2"
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
