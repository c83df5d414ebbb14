"""The Streams pane on a page: lanes over time, and a bar that leads to its kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.collectives.test_streams import record
from tests.browser.panes import show

REPORT = record("k", ">0", "k", "k", ">1", "<", "k", "<", "k")


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light"), (1600, "dark")])
def test_a_pause_is_seen_and_leads_to_what_is_waited_for(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "report.html"
    REPORT.to_html(path)
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    show(page, f"{path.as_uri()}#pane=streams")
    assert page.locator(".pane-says").inner_text().startswith("2 collectives take 372 µs")
    lanes = page.locator(".flame .thread").all_inner_texts()
    assert lanes == ["kernels", "group 0, 8 GPUs on 1 node", "group 1, 8 GPUs on 1 node"]
    pause = page.get_by_role("option", name="waits for all_reduce").first
    pause.click()
    assert pause.get_attribute("aria-selected") == "true"
    assert page.url.endswith("sel=k7")
    assert page.get_by_role("row").count() == 3  # the head and both collectives
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.errors == watched.requests == []
