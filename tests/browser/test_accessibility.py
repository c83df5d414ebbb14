"""Every pane passes axe-core: roles, names, contrast, focus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import addresses, show
from workbench.report import Report

ROOT = Path(__file__).parents[2]
AXE = ROOT / "assets" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 160))]);
}"""


def violations(page: Any) -> list[tuple[str, str, list[str]]]:
    page.add_script_tag(path=AXE)
    return [tuple(row) for row in page.evaluate(RUN)]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 800)])
def test_no_pane_has_a_violation(
    open_page: Callable[..., Any], sample_report: Report, tmp_path: Path, scheme: str, width: int
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    page = open_page(width=width, scheme=scheme).page
    found = {}
    for pane, address in addresses(sample_report, path.as_uri()).items():
        show(page, address)
        found[pane] = violations(page)
    assert found == {pane: [] for pane in found}


def test_a_violation_would_be_found(open_page: Callable[..., Any]) -> None:
    page = open_page().page
    page.set_content('<html lang="en"><title>t</title><main><button></button></main></html>')
    assert "button-name" in [rule for _, rule, _ in violations(page)]
