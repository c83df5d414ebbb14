"""The page of a session from disk: its steps and tables by key, in light and dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.report.session.sample import session

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
    pane = page.get_by_role("tabpanel")
    pane.get_by_text("scaled runs eagerly since step 4").wait_for()
    assert watched.errors == watched.requests == []
