"""The panes of a view on a page, each with something selected in it, for tests and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from workbench.report import Report
from workbench.views.document import ViewContext, document
from workbench.views.panes.registry import list_panes
from workbench.views.parts.fusion_part import build_pairs_part

PANES: tuple[str, ...] = tuple(pane.id for pane in list_panes())


def addresses(report: Report, page: str) -> dict[str, str]:
    """The address of each pane of a saved page, with a typical selection where there is one.

    `kernels` is the table of that pane, `code` the code of one of them.
    """
    chosen = _chosen(report)
    found = {}
    for pane in PANES:
        place = {"pane": pane, **({"sel": chosen[pane]} if chosen.get(pane) else {})}
        found[pane] = f"{page}#{urlencode(place)}"
    found["code"] = f"{found['kernels']}&code="
    return found


def _chosen(report: Report) -> dict[str, str | None]:
    shown = document(report, ViewContext())
    lines = [mark for source in shown["sources"] for mark in source["marks"]]
    line = max(lines, key=lambda mark: len(mark["kernels"]), default=None)
    kernels = [kernel for kernel in shown["kernels"] if kernel["code"]]
    kernel = max(kernels, key=lambda kernel: len(kernel["nodes"]), default=None)
    first = {name: next((row["id"] for row in shown.get(name, ())), None) for name in _ROWS}  # type: ignore[literal-required]
    pair = next((row["id"] for row in build_pairs_part(report)["rows"]), None)
    return {
        "numerics": first["deviations"],
        "checks": first["check_findings"],
        "memory": kernel["id"] if kernel else None,
        "overview": line["id"] if line else None,
        "graphs": kernel["nodes"][0] if kernel and kernel["nodes"] else None,
        "breaks": first["breaks"] or first["guards"],
        "fusion": pair or (kernel["id"] if kernel else None),
        "kernels": kernel["id"] if kernel else None,
        "timeline": first["phases"],
        "autotune": first["choices"] or first["ranked"],
        "roofline": max(shown["points"], key=lambda point: point["share"], default={}).get(
            "kernel"
        ),
        "matrix": next(
            (cell["id"] for row in shown["matrix"] for cell in row["cells"] if cell), None
        ),
        "artifact": next((way["phases"][-1]["id"] for way in shown["file"]["ways"][-1:]), None),
    }


_ROWS = ("breaks", "guards", "phases", "choices", "ranked", "deviations", "check_findings")


def show(page: Any, address: str) -> None:
    """Open one pane and wait until its parts are there."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("[role=tab][aria-selected=true]")
    page.wait_for_timeout(400)  # parts of a page unfold in the background


def open_pane(view: Any, name: str) -> None:
    """Show a pane by its title: an expert's, one of the open question, or of another question."""
    if not _click_tab(view, name):
        pane = next(pane for pane in list_panes() if name in pane.title)
        _open_in_question(view, pane.id, pane.title)


def visit_tabs(view: Any) -> Iterator[str]:
    """Show each tab of a view, each pane of each question first, and give its title."""
    questions = view.locator(".questions [role=tab]").all()
    titles = {pane.id: pane.title for pane in list_panes()}
    for question in questions:
        for id in question.get_attribute("data-panes").split():
            _open_in_question(view, id, titles[id])
            yield titles[id]
    for tab in view.locator(".experts [role=tab]" if questions else "[role=tab]").all():
        tab.click()
        yield tab.inner_text()


def _open_in_question(view: Any, id: str, title: str) -> None:
    view.locator(f'.questions [data-panes~="{id}"]').click()
    if shown_pane(view) != title and not _click_tab(view, title):
        view.get_by_role("button", name=re.compile(r"\d more")).click()
        view.locator(".more-tabs .unfolded").get_by_role("button", name=title).click()


def shown_pane(view: Any) -> str:
    """The title of the pane that a view shows."""
    root = view.locator("xpath=descendant-or-self::*[@data-pane]").first
    id = root.get_attribute("data-pane")
    return next(pane.title for pane in list_panes() if pane.id == id)


def choose_in_menu(view: Any, name: str) -> None:
    """Press an entry of the menu in the header."""
    view.get_by_role("button", name="Menu").click()
    view.locator(".menu .unfolded").get_by_role("button", name=name).click()


def _click_tab(view: Any, name: str) -> bool:
    view.get_by_role("tab").first.wait_for()
    tab = view.locator(":is(.tabs, .experts) [role=tab]", has_text=name)
    if tab.count():
        tab.click()
        return True
    return False
