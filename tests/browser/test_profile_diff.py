"""The page of two profiles from disk: rows select each other, bars share one axis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.browser.axe import violations

TRACES = Path(__file__).parents[1] / "gpu" / "traces"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training step, eager and compiled, that an H100 ran."""
    path = tmp_path_factory.mktemp("profiles") / "diff.html"
    eager, compiled = (wb.read_profile(TRACES / f"{n}.json.gz") for n in ("eager", "compiled"))
    wb.diff(eager, compiled).to_html(path)
    return path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 900), ("light", 1600)])
def test_it_can_be_read_and_a_row_lights_what_belongs_to_it(
    open_page: Callable[..., Any], path: Path, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    page.goto(path.as_uri())
    page.locator(".tbody .tr").first.click()
    assert page.locator(".insp h2").inner_text()
    assert "no verdict" in page.get_by_role("group", name="Answer").inner_text()
    page.keyboard.press("2")
    assert page.locator(".tbody .tr.rel").count() > 0
    bars = page.locator(".tbody .prof-axis i").evaluate_all(
        """bars => bars.map((bar) => {
            const [own, axis] = [bar, bar.parentElement].map((e) => e.getBoundingClientRect());
            const middle = axis.x + axis.width / 2;
            return Math.min(Math.abs(own.x - middle), Math.abs(own.right - middle));
        })"""
    )
    assert bars
    assert max(bars) < 1
    page.keyboard.press("Escape")
    assert page.locator(".tr.sel, .tr.rel").count() == 0
    assert violations(page) == []
    assert watched.errors == watched.requests == []
