"""A notebook typesets what stands between two "$"; in our outputs it is somebody's code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import nbformat

from tests.diffs import diff
from workbench.report import Report
from workbench.views.document import ViewContext
from workbench.views.pages.report_page import build_document
from workbench.views.presenters import VIEWS
from workbench.views.static_html.render import keep


def output(html: str) -> Any:
    shown = nbformat.v4.new_output("display_data", {"text/html": html})
    return nbformat.v4.new_code_cell("1", outputs=[shown], execution_count=1)


def test_a_dollar_in_our_outputs_begins_no_formula(
    lab: Any, open_page: Callable[..., Any], sample_report: Report
) -> None:
    request = replace(sample_report.request, notes=("a note with $a$ and $b$",))
    report = replace(sample_report, request=request)
    found = replace(diff("static", "dynamic"), names=("$a$", "$b$"))
    ours = (
        VIEWS.fragment(report),
        keep(build_document(report, ViewContext())),
        found._repr_html_(),
    )
    assert all("$a$" in html for html in ours[:2])
    lab.put("formulas.ipynb", [output(html) for html in (*ours, "<div>a formula: $c$</div>")])
    watched = open_page()
    lab.open(watched, "formulas.ipynb", run=False)
    formulas = watched.page.locator("mjx-container")
    formulas.first.wait_for()  # that of the last cell, which is not ours
    watched.page.wait_for_timeout(500)
    assert formulas.count() == 1
