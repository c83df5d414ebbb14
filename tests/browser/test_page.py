from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import shown_pane, visit_tabs
from tests.browser.saved_pages import CONTRAST
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"


@pytest.fixture
def saved(sample_report: Report, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", 800),
        pytest.param("light", 800, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_the_page_opens_from_disk_alone(
    open_page: Callable[..., Any], saved: str, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    page.goto(saved)
    page.wait_for_selector(".wb")
    assert not page.locator(".wb-summary").is_visible()
    for title in visit_tabs(page):
        assert title.startswith(shown_pane(page))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.errors == watched.requests == []


def test_selecting_a_line_is_seen_in_the_status_bar(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(saved)
    page.locator(".crow", has_text="torch.relu").first.click()
    page.locator(".status", has_text="line 13").wait_for()


def test_a_line_without_a_kernel_says_what_is_proven_of_it(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(f"{saved}#pane=overview&sel=L:s0:12")
    page.locator(".insp", has_text="Python ran this line during tracing").wait_for()


def test_keys_act_before_anything_was_clicked(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(saved)
    page.wait_for_selector("[role=tab][aria-selected=true]")
    page.keyboard.press("2")
    page.locator("[role=tab][aria-selected=true]", has_text="Does it fit?").wait_for()


def test_opening_code_does_not_scroll_what_is_around_the_view(
    open_page: Callable[..., Any], saved: str
) -> None:
    """In a notebook the view stands between other cells, which have to stay where they are."""
    page = open_page().page
    page.goto(saved)
    page.locator(".crow", has_text="torch.relu").first.click()
    page.evaluate("""() => {
        document.body.style.overflow = "auto";
        document.body.style.paddingTop = "300px";
        document.body.style.height = "3000px";
    }""")
    page.get_by_role("button", name="Open its code").click()
    page.locator(".cm-line", has_text="torch.relu").first.wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("[scrollY, document.body.scrollTop]") == [0, 0]


@pytest.fixture
def open_summary(chromium: Any, saved: str) -> Any:
    """The page in a browser that runs no scripts."""
    contexts = []

    def open_summary(scheme: str = "light") -> Any:
        context = chromium.new_context(
            java_script_enabled=False,
            viewport={"width": 1280, "height": 900},
            color_scheme=scheme,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.goto(saved)
        return page

    yield open_summary
    for context in contexts:
        context.close()


def test_without_scripts_the_summary_is_there(open_summary: Callable[..., Any]) -> None:
    page = open_summary()
    assert page.locator("h1").inner_text() == "block"
    code = page.locator("details#k0 pre")
    assert not code.is_visible()
    page.locator("summary", has_text="cpp_fused_add_mul_relu_0").click()
    assert "Vectorized" in code.inner_text()
    for link in page.locator("nav a").all():
        link.click()
        target = page.locator(f"section{link.get_attribute('href')} h2")
        assert target.bounding_box()["y"] < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_of_the_summary_can_be_read(open_summary: Callable[..., Any], scheme: str) -> None:
    page = open_summary(scheme)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate(CONTRAST) == []


def test_a_page_without_a_session_copies_the_script_itself(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    training = Report.load(RECORDS / "training.wbr")
    training.to_html(tmp_path / "training.html")
    page = open_page().page
    page.add_init_script("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    page.goto(f"{(tmp_path / 'training.html').as_uri()}#pane=kernels&kernel=k1")
    page.locator(".tbody .tr", has_text="k1").first.dblclick()
    page.get_by_role("button", name="Copy as script").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("copied") == training.kernel_script("k1")
