"""The page of a session from disk: its steps and tables by key, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.worlds.sessions.rows.sample import session
from workbench.report.program.record_rows import ProgramRecompile
from workbench.report.table import Table
from workbench.worlds.sessions.rows.session_record import Session

TABLES = 7


@pytest.mark.parametrize(
    ("scheme", "width"),
    [("dark", 800), pytest.param("light", 1280, marks=pytest.mark.slow)],
)
def test_the_steps_and_the_tables_are_reached_by_key(
    open_page: Callable[..., Any], tmp_path: Path, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    path = tmp_path / "session.html"
    session().to_html(path)
    page.goto(path.as_uri())
    page.get_by_role("tab", name="What to change", selected=True).wait_for()  # it stands first
    page.get_by_role("tab", name=re.compile("^Compiles")).click()
    steps = page.get_by_role("listbox")
    steps.focus()
    page.keyboard.press("End")
    page.keyboard.press("p")
    page.keyboard.press("p")
    chosen = page.get_by_role("option", selected=True)
    assert chosen.get_attribute("aria-label").startswith("step 2: 1.50 s compiling")
    assert page.locator(".tr.rel").count() == 1  # its compile is marked
    for number in range(1, TABLES + 1):
        page.keyboard.press(str(number))
        assert violations(page) == []
    page.keyboard.press("1")  # what to change stands first
    pane = page.get_by_role("tabpanel")
    pane.get_by_text("scaled runs eagerly since step 4").wait_for()
    assert watched.errors == watched.requests == []


@pytest.mark.parametrize("width", [900, 1280])
def test_a_compile_that_had_two_reasons_shows_both(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    own = session()
    again, *others = own.tables["recompiles"]
    rows = [replace(again, also=("len(L['self'].log) == 2",)), *others]
    path = tmp_path / "session.html"
    tables = {**own.tables, "recompiles": Table.of(ProgramRecompile, rows)}
    Session(own.header, tables, {}).to_html(path)
    watched = open_page(width=width)
    watched.page.goto(path.as_uri())
    watched.page.get_by_role("tab", name="Recompiles").click()
    row = watched.page.locator(".tbody .tr")
    assert row.count() == 1
    row.click()
    details = watched.page.get_by_role("group", name="The selected row")
    assert "2 guards of variant" in details.locator("h3").inner_text()
    assert details.locator("li").all_inner_texts() == [again.guard, "len(L['self'].log) == 2"]
    assert details.locator("li").last.is_visible()
    assert violations(watched.page) == []
    assert watched.errors == []
