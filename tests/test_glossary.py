"""Every head and every figure has a word in the glossary; tips, docs and the command read it."""

from __future__ import annotations

import pytest

from docs.generate import words
from docs.generate.pages import WRITTEN
from workbench.command_line.main import main
from workbench.glossary import ANY_WORD, ANYWHERE, find_term, read_glossary
from workbench.report import Report
from workbench.views.panes.overview_pane import figures
from workbench.views.tables.columns import list_columns


def test_every_column_of_every_table_has_a_word() -> None:
    heads = [
        (table, column.title) for table, columns in list_columns().items() for column in columns
    ]
    assert [head for head in heads if find_term(*head) is None] == []


def test_every_figure_of_the_details_has_a_word(sample_report: Report) -> None:
    labels = [figure["label"] for figure in figures(sample_report)]
    assert [label for label in labels if find_term("figures", label) is None] == []


def test_a_word_says_what_it_is_its_unit_and_where_it_is_from() -> None:
    term = find_term("points", "Per byte")
    assert term is not None
    assert term.text == (
        "Arithmetic intensity: operations per byte moved.\n"
        "Unit: operations per byte.\nSource: both estimates."
    )
    assert find_term("ranked", "XBLOCK") == find_term("ranked", ANY_WORD)
    assert find_term("guards", "Occupancy") == find_term(ANYWHERE, "Occupancy")
    assert find_term("guards", "no such word") is None
    assert not any(
        part.endswith((".", " "))
        for term in read_glossary().values()
        for part in (term.what, term.unit, term.source)
    )


def test_the_page_of_the_documentation_is_the_table() -> None:
    page = (WRITTEN / words.GLOSSARY).read_text(encoding="utf-8")
    assert page == words.write_glossary(), "python -m docs.generate.words"
    for term in read_glossary().values():
        assert f"| {term.what}. | {term.unit} | {term.source} |" in page
    assert page.count("\n| ") == len(read_glossary()) + 2 * page.count("\n## ")


def test_the_command_prints_what_the_tips_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["words", "lowers"]) == 0
    term = find_term("storages", "Lowers peak")
    assert term is not None
    printed = capsys.readouterr().out
    assert printed.startswith("Lowers peak (storages)\n")
    assert all(line in printed for line in term.text.split("\n"))
    assert main(["words", "no such word"]) == 2
