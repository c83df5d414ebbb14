"""Every pane passes axe-core: roles, names, contrast, focus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import addresses, show
from tests.browser.saved_pages import violations
from workbench.report import Report


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param("light", 1280, marks=pytest.mark.slow), ("dark", 800)],
)
def test_no_pane_has_a_violation(
    open_page: Callable[..., Any], sample_report: Report, tmp_path: Path, scheme: str, width: int
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    page = open_page(width=width, scheme=scheme).page
    found = {}
    for pane, address in addresses(sample_report, path.as_uri()).items():
        show(page, address)
        assert page.locator(".wb").evaluate("view => getComputedStyle(view).colorScheme") == scheme
        found[pane] = violations(page)
    assert found == {pane: [] for pane in found}


def test_a_violation_would_be_found(open_page: Callable[..., Any]) -> None:
    page = open_page().page
    page.set_content('<html lang="en"><title>t</title><main><button></button></main></html>')
    assert "button-name" in [rule for _, rule, _ in violations(page)]
