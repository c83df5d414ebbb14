"""A log of kernels in the view: every stage linked to the Python source, launches told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import workbench as wb
from tests.browser.axe import violations
from tests.browser.panes import show

LOG = Path(__file__).parents[1] / "records" / "kernel_logs" / "t4.ndjson.gz"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "log.html"
    wb.read_tritonparse(LOG).to_html(path)
    return path.as_uri()


def kernels(saved: str, selected: str) -> str:
    return f"{saved}#{urlencode({'pane': 'kernels', 'sel': selected, 'code': ''})}"


def column(view: Any, title: str) -> Any:
    return view.locator(f'.code-column[aria-label="{title}"]')


@pytest.mark.parametrize(("width", "scheme"), [(900, "light"), (1280, "dark"), (1600, "light")])
def test_the_overview_says_what_the_log_holds(
    width: int, scheme: str, open_page: Callable[..., Any], saved: str
) -> None:
    watched = open_page(width=width, scheme=scheme)
    show(watched.page, saved)
    said = watched.page.locator(".answer").first.inner_text()
    assert "2 Triton kernels in 3 configurations for sm_75, launched 3 times" in said
    assert "profile()" not in watched.page.inner_text("body")
    assert violations(watched.page) == []
    assert watched.errors == []


def test_an_instruction_leads_through_every_stage_to_the_source(
    open_page: Callable[..., Any], saved: str
) -> None:
    watched = open_page()
    page = watched.page
    show(page, kernels(saved, "k1"))
    for stage in ("TTGIR", "SASS"):
        page.locator(".kernels").get_by_role("button", name=stage, exact=True).click()
    sass = column(page, "SASS")
    sass.locator(".cm-scroller").evaluate("scroller => { scroller.scrollTop = 9e9 }")
    sass.locator(".cm-line", has_text="STG").first.click(position={"x": 60, "y": 5})
    for title, words in (("TTGIR", "tt.store"), ("PTX", "st.global"), ("Triton", "tl.store")):
        column(page, title).locator(".cm-rel", has_text=words).first.wait_for()
    assert watched.errors == []


def test_a_configuration_says_how_often_it_was_launched(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    show(page, kernels(saved, "k0"))
    facts = page.locator(".kernels").inner_text()
    assert "No times in the log" in facts
    assert "3 times, grid 16, 2" in facts
