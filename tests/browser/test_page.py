from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.report import Report

CONTRAST = Path(__file__).with_name("contrast.js").read_text()


@pytest.fixture
def saved(sample_report: Report, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 800])
def test_the_page_opens_from_disk_alone(
    open_page: Callable[..., Any], saved: str, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    watched.page.goto(saved)
    assert watched.page.locator("h1").inner_text() == "block"
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.errors == watched.requests == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(open_page: Callable[..., Any], saved: str, scheme: str) -> None:
    page = open_page(scheme=scheme).page
    page.goto(saved)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate(CONTRAST) == []


def test_a_kernel_leads_to_its_code(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(saved)
    code = page.locator("pre#k0")
    assert not code.is_visible()
    page.locator("td.heat-kernels a", has_text="k0").click()
    code.wait_for(state="visible")
    assert "Vectorized" in code.inner_text()


def test_every_tab_leads_to_its_pane(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(saved)
    for link in page.locator("nav a").all():
        link.click()
        target = page.locator(f"section{link.get_attribute('href')} h2")
        assert target.bounding_box()["y"] < 900
