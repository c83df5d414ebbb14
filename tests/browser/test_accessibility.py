"""Every pane passes axe-core in both themes: roles, names, contrast, focus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import COLOURS, serious, violations
from tests.browser.cells import Notebook
from tests.browser.panes import PANES, addresses, show, visit_tabs
from workbench.report import Report

OTHER = {"light": "dark", "dark": "light"}
THEME = """(name) => {
    jupyterapp.commands.execute('apputils:change-theme', { theme: `JupyterLab ${name}` });
    return 1;
}"""
FEW = ("overview", "graphs", "code")
REST = tuple(pane for pane in PANES if pane not in FEW)
LIVE = ".jp-OutputArea .wb:not(.wb-saved .wb)"


@pytest.mark.parametrize(
    ("scheme", "width", "panes"),
    [
        ("dark", 800, FEW),
        pytest.param("dark", 800, REST, marks=pytest.mark.slow),
        pytest.param("light", 1280, (*FEW, *REST), marks=pytest.mark.slow),
    ],
    ids=["dark-few", "dark-rest", "light"],
)
def test_no_pane_has_a_violation(
    open_page: Callable[..., Any],
    sample_report: Report,
    tmp_path: Path,
    scheme: str,
    width: int,
    panes: tuple[str, ...],
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    page = open_page(width=width, scheme=scheme).page
    found = {}
    every = addresses(sample_report, path.as_uri())
    assert set(every) == {*FEW, *REST}
    for pane in panes:
        show(page, every[pane])
        assert page.locator(".wb").evaluate("view => getComputedStyle(view).colorScheme") == scheme
        found[pane] = violations(page)
        page.emulate_media(color_scheme=OTHER[scheme])
        page.locator(f".wb[data-theme={OTHER[scheme]}]").wait_for()
        found[pane] += violations(page, rules=COLOURS)
        page.emulate_media(color_scheme=scheme)
    assert found == {pane: [] for pane in found}


def test_a_violation_would_be_found(open_page: Callable[..., Any]) -> None:
    page = open_page().page
    page.set_content('<html lang="en"><title>t</title><main><button></button></main></html>')
    assert "button-name" in [rule for _, rule, _ in violations(page)]
    assert "button-name" in [rule for _, rule, _ in serious(page, "main")]


@pytest.fixture
def live(open_notebook: Callable[..., Notebook]) -> Iterator[Notebook]:
    """A notebook in JupyterLab in which a small function was compiled."""
    notebook = open_notebook("axe.ipynb", "%aot_compile f(x)")
    notebook.run(1)
    notebook.ended(1)
    notebook.page.locator(LIVE).get_by_role("group", name="Answer").first.wait_for()
    yield notebook
    assert notebook.watched.errors == notebook.watched.requests == []


@pytest.mark.slow
def test_no_pane_or_dialog_of_a_live_view_has_a_serious_violation(live: Notebook) -> None:
    page, view = live.page, live.page.locator(LIVE)
    found = {}
    for theme in ("Light", "Dark"):
        page.evaluate(THEME, theme)
        page.locator(f"{LIVE}[data-theme={theme.lower()}]").wait_for()
        for tab in visit_tabs(view):
            found[theme, tab] = serious(page, LIVE)
        for name in ("Keyboard", "host"):
            if name == "Keyboard":
                view.get_by_role("button", name="Menu").click()
            view.get_by_role("button", name=name).click()
            view.get_by_role("dialog").wait_for()
            found[theme, name] = serious(page, LIVE)
            page.keyboard.press("Escape")
        view.get_by_role("combobox", name="Find").fill("sum")
        view.get_by_role("listbox", name="Found").get_by_role("option").first.wait_for()
        found[theme, "search"] = serious(page, LIVE)
        page.keyboard.press("Escape")
    assert found == {place: [] for place in found}
    assert len(found) == 2 * (len(PANES) + 3)
