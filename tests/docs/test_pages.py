"""The generated pages: nothing public is left out, nothing is said of what does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from docs.generate import (
    commands,
    links,
    magics,
    messages,
    notebooks,
    pages,
    parameters,
    public,
    tables,
)
from workbench.analysis.opportunities.rules import RULES
from workbench.errors import __all__ as errors
from workbench.notebook.magics import list_own_magics
from workbench.report import Report
from workbench.worlds.profiles.rows.profile_rows import PROFILE_TABLES

WRITTEN = (pages.HOME, pages.WHICH, *pages.GUIDE, *pages.ABOUT)
FRAMES = {
    frame.key: frame for frame in (*tables.of_reports(), *tables.of_others(), *tables.of_files())
}


def test_every_written_page_is_listed_and_has_a_title() -> None:
    listed = {pages.HOME, pages.WHICH, *pages.GUIDE, *pages.ABOUT}
    there = {path.relative_to(pages.WRITTEN).as_posix() for path in pages.WRITTEN.rglob("*.md")}
    assert listed == there | set(pages.BESIDE)
    assert all(pages.source(page).read_text().startswith("# ") for page in listed)


@pytest.mark.parametrize("page", WRITTEN)
def test_links_between_written_pages_lead_to_files(page: str) -> None:
    gone = [written for written, file in pages.targets(page) if not file.is_file()]
    assert gone == []


def test_links_of_the_repository_become_links_of_the_site() -> None:
    text = "[a](../about/tools.md#x) [b](../../../notebooks/01_quick_start.ipynb)"
    text += " [c](../../../LICENSE)"
    assert pages.linked("guide/memory.md", text) == (
        "[a](../about/tools.md#x) [b](../notebooks/01_quick_start.md) `c`"
    )
    assert pages.linked("index.md", "![a](assets/gpu.png) [b](CHANGELOG.md)") == (
        "![a](assets/gpu.png) [b](about/changes.md)"
    )
    listing = "```python\nrecipes[0](x)\n```"
    assert pages.linked("guide/memory.md", listing) == listing


def test_every_notebook_has_the_name_that_the_readme_gives_it() -> None:
    assert [path.name for path in notebooks.notebooks()] == list(pages.notebook_titles())


def test_every_public_name_is_in_the_reference() -> None:
    index, *others = public.pages()
    named = set(re.findall(r"^\| \[`wb\.(\w+)`\]", index.text, re.MULTILINE))
    assert named == set(wb.__all__)
    described = set(re.findall(r"heading: wb\.(\w+)", "".join(page.text for page in others)))
    assert described == set(wb.__all__) - set(errors)


def test_the_columns_of_a_table_are_those_that_frame_gives(sample_report: Report) -> None:
    told = {frame.key: list(frame.columns) for frame in tables.of_reports()}
    assert told == {name: list(sample_report.frame(name)) for name in told}
    with pytest.raises(wb.UsageError) as refused:
        sample_report.frame("")
    assert all(
        name in told for name in str(refused.value).partition("of: ")[2].rstrip(".").split(", ")
    )


def test_every_table_of_a_profile_is_there() -> None:
    """As seen: `memory` and `launches` were named, and stood nowhere."""
    assert {f"trace.{name}" for name in PROFILE_TABLES} <= FRAMES.keys()


def test_every_column_of_every_table_is_described() -> None:
    said = {key: tables.meanings(frame) for key, frame in FRAMES.items()}
    assert all(said.values())
    assert [(key, name) for key, of in said.items() for name, text in of.items() if not text] == []


def test_every_option_of_every_magic_is_there() -> None:
    (page,) = magics.pages()
    told = dict(re.findall(r"\{ #(\w+) \}\n(.*?)(?=\n## |\Z)", page.text, re.DOTALL))
    kinds = list_own_magics()
    assert list(told) == [name for kind in kinds for name in magics.list_names(kind)]
    for magic in told:
        (found,) = [vars(kind)[magic] for kind in kinds if magic in vars(kind)]
        names = [name for option in found.options for name in option.names]
        assert [name for name in names if f"`{name}" not in told[magic]] == []


def test_every_command_and_its_arguments_are_there() -> None:
    (page,) = commands.pages()
    told = dict(re.findall(r"\{ #(\w+) \}\n(.*?)(?=\n## |\Z)", page.text, re.DOTALL))
    assert list(told) == [
        "report",
        "diff",
        "profile",
        "check",
        "inspect",
        "explain",
        "words",
        "schema",
    ]
    assert all("`--json`" in text for name, text in told.items() if name not in ("words", "schema"))
    assert "`--inputs ARGUMENTS`" in told["explain"]
    assert "Exit code: 0" in page.text


def test_every_class_of_messages_is_there() -> None:
    (page,) = messages.pages()
    for rule in RULES:
        assert " ".join((rule.__doc__ or "?").split()) in page.text
    assert [name for name in errors if f"`wb.{name}`" not in page.text] == []


def test_parameters_that_are_described_together_have_a_type_each() -> None:
    import griffe

    code = 'def f(a: int, b: str) -> None:\n    """Do it.\n\n    Parameters\n    ----------\n'
    code += '    a, b\n        What is given.\n    """\n'
    function = griffe.visit("m", Path("m.py"), code)["f"]
    parameters.EachParameter().on_function(func=function)
    (described,) = function.docstring.parse("numpy")[1:]
    assert [(p.name, str(p.annotation)) for p in described.value] == [("a", "int"), ("b", "str")]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><a href="gone.html">gone</a>')
    (tmp_path / "b.html").write_text(
        '<p id="here"><script src="https://example.org/x.js"></script>'
    )
    assert links.problems(tmp_path) == [
        "a.html: b.html#there has no part 'there'.",
        "a.html: gone.html is not there.",
        "b.html loads https://example.org/x.js from another host.",
    ]


def test_every_public_name_answers_a_question() -> None:
    page = pages.source(pages.WHICH).read_text(encoding="utf-8")
    names = [name for name in wb.__all__ if name not in errors]
    assert [name for name in names if not re.search(rf"\bwb\.{name}\b", page)] == []


@pytest.mark.parametrize("name", errors)
def test_an_error_leads_to_its_section(name: str) -> None:
    (note,) = getattr(wb, name)("It went wrong.").__notes__
    page, _, anchor = note.removeprefix("Causes and fixes: ").partition("#")
    headings = re.findall(r"^### (\w+)$", (pages.ROOT / page).read_text("utf-8"), re.MULTILINE)
    assert anchor == name.lower()
    assert name in headings
