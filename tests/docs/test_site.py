"""The built site, opened from disk: complete, accessible, alone; its notebooks have live views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.generate import links, notebooks
from tests.browser.driving import Watched, watched_page
from tests.browser.panes import open_pane
from tests.browser.saved_pages import violations

pytestmark = [pytest.mark.slow, pytest.mark.browser]
READ = (
    "index.html",
    "which.html",
    "notebooks/01_quick_start.html",
    "notebooks/06_autotune_and_modes.html",
    "guide/the-view.html",
    "reference/index.html",
    "reference/compile.html",
    "reference/tables.html",
    "reference/messages.html",
    "about/tools.html",
    "about/contributing.html",
)


@pytest.fixture
def opened(site: Path, chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Open a page of the site; afterwards none has complained or asked another machine."""
    contexts, pages = [], []

    def open_page(name: str, *, width: int = 1280, scheme: str = "light") -> Watched:
        size = {"width": width, "height": 900}
        contexts.append(chromium.new_context(viewport=size, color_scheme=scheme))
        pages.append(watched_page(contexts[-1]))
        pages[-1].page.goto((site / name).as_uri())
        return pages[-1]

    yield open_page
    assert [(watched.errors, watched.requests) for watched in pages] == [([], [])] * len(pages)
    for context in contexts:
        context.close()


def test_every_link_leads_somewhere_and_nothing_is_on_another_host(site: Path) -> None:
    assert links.problems(site) == []
    assert len(list(site.glob("notebooks/*.html"))) == len(notebooks.notebooks())


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 800)])
def test_everyone_can_read_the_pages(
    opened: Callable[..., Watched], scheme: str, width: int
) -> None:
    found = {}
    for name in READ:
        watched = opened(name, scheme=scheme, width=width)
        page = watched.page
        page.wait_for_timeout(500)  # what the page's own script mends comes a moment later
        assert watched.errors == []
        found[name] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert found == {name: [] for name in READ}


def test_the_views_of_every_notebook_are_live_and_the_front_end_is_there_once(
    site: Path, opened: Callable[..., Watched]
) -> None:
    for path in notebooks.notebooks():
        text = (site / "notebooks" / f"{path.stem}.html").read_text()
        views = text.count('class="nb-view"')
        assert text.count('class="wb-bundle"') == (1 if views else 0)
        page = opened(f"notebooks/{path.stem}.html").page
        if views:
            page.wait_for_selector(".wb-saved .wb")
        page.wait_for_function(f"document.querySelectorAll('.wb-saved .wb').length === {views}")
        assert not page.locator(".wb-summary >> visible=true").count()


def test_a_view_answers_and_follows_the_theme_of_the_page(opened: Callable[..., Watched]) -> None:
    page = opened("notebooks/01_quick_start.html").page
    view = page.locator(".wb-saved .wb").first
    open_pane(view, "Kernels")
    view.get_by_text("k0").first.wait_for()
    assert view.get_attribute("data-theme") == "light"
    page.locator("label[title='Switch to dark']").click()
    page.wait_for_selector(".wb-saved .wb[data-theme=dark]")


def test_the_search_finds_a_column_without_a_server(opened: Callable[..., Watched]) -> None:
    page = opened("index.html").page
    page.locator(".md-search__input").press_sequentially("copied_bytes")
    found = page.locator(".md-search-result__link", has_text="cuda_graphs").first
    found.wait_for()
    assert "reference/tables.html" in (found.get_attribute("href") or "")
