"""The Numerics pane on a page: five answers without scrolling, rows linked with all other panes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.panes import open_pane, show
from workbench.report import Report
from workbench.worlds.numerics.findings.numerics_record import QUESTIONS, read_numerics

REPORT = Report.load(Path(__file__).parents[1] / "records" / "numerics.wbr")


@pytest.fixture
def opened(open_page: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens the pane at a size."""
    path = tmp_path / "report.html"
    REPORT.to_html(path)
    opened = []

    def open_at(width: int, height: int, scheme: str = "light") -> Any:
        watched = open_page(width=width, scheme=scheme)
        opened.append(watched)
        watched.page.set_viewport_size({"width": width, "height": height})
        show(watched.page, f"{path.as_uri()}#pane=numerics")
        return watched.page

    yield open_at
    assert all(watched.errors == watched.requests == [] for watched in opened)


def test_five_questions_are_answered_without_scrolling(opened: Callable[..., Any]) -> None:
    page = opened(1280, 800)
    assert page.locator(".pane-says").inner_text() == read_numerics(REPORT).sentence
    asked, answers = page.locator(".nums dt"), page.locator(".nums dd")
    assert asked.all_inner_texts() == list(QUESTIONS)
    said = [answer.replace("`", "") for answer in read_numerics(REPORT).answers.values()]
    assert answers.all_inner_texts() == said
    for answer in answers.all():
        box = answer.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800
    last = (
        page.get_by_role("grid", name="Differing values").get_by_role("row").nth(5).bounding_box()
    )
    assert last["y"] + last["height"] <= 800  # the rows, too


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(900, 700), (1280, 800), (1600, 900)])
def test_nothing_of_it_is_cut_or_unnamed(
    opened: Callable[..., Any], width: int, height: int, scheme: str
) -> None:
    page = opened(width, height, scheme)
    page.get_by_role("grid", name="Differing values").get_by_role("row").nth(1).click()
    page.locator(".ulps").wait_for()
    assert violations(page) == []
    for inside in (".nums", ".nums dl", ".ulps", ".pane"):
        assert page.locator(inside).first.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_a_row_selects_its_line_node_and_kernel(opened: Callable[..., Any]) -> None:
    page = opened(1280, 800)
    page.get_by_role("grid", name="Differing values").get_by_text("mul_2", exact=True).click()
    page.locator(".insp h2", has_text="k0, mul_2").wait_for()
    status = page.locator(".status")
    for word in ("1 line", "1 kernel"):
        status.get_by_text(word).wait_for()
    assert page.locator(".insp").get_by_text("Never rounded (6)").is_visible()
    assert page.locator(".ulps tr").count() > 4
    repro = page.get_by_role("button", name="Copy repro")
    assert repro.get_attribute("data-tip").endswith('.repro("k0", "k0.py", node="mul_2")')
    open_pane(page, "Kernels")
    page.locator(".rel", has_text="k0").first.wait_for()
    open_pane(page, "Overview")
    page.locator(".rel", has_text="torch.softmax").first.wait_for()
    page.keyboard.press("3")
    page.locator("[role=tab][aria-selected=true]", has_text="Numerics").wait_for()


def test_a_bar_selects_the_value_that_departs_most(opened: Callable[..., Any]) -> None:
    page = opened(1280, 800)
    page.get_by_role("button", name="kernels", exact=False).first.click()
    page.locator(".status b", has_text="k0 sum_1").wait_for()
    assert page.locator(".nums .track u").count() == 2  # the noise floor of the same value


LIVE = """import workbench as wb

def chain(x, w):
    return torch.softmax((x * w + x.sin()) * 1.7, -1)

a, b = torch.randn(8, 32).bfloat16(), torch.randn(32).bfloat16()
compiled = wb.aot_compile(chain, (a, b), grad=False)
wb.show(compiled)"""


def test_a_live_view_is_filled_in_the_background_and_tries_a_cure(
    open_notebook: Callable[..., Notebook],
) -> None:
    notebook = open_notebook("numbers.ipynb", LIVE, "wb.numerics(compiled, (a, b))")
    notebook.run(1)
    notebook.ended(1)
    view = one_view(notebook.cell(1))
    open_pane(view, "Numerics")
    view.get_by_role("button", name="Compare with eager…").click()
    view.locator(".nums dt").first.wait_for(timeout=90_000)
    cost = view.locator(".nums dd").last
    assert cost.inner_text().startswith("Not measured. ")
    cost.get_by_role("button", name="Try it").click()
    cost.get_by_text("A call takes").wait_for(timeout=120_000)
    notebook.run(2)
    notebook.ended(2)
    shown = one_view(notebook.cell(2))  # the same view, with its pane open
    shown.get_by_role("tab", name="Numerics", selected=True).wait_for()
    shown.locator(".nums dt").first.wait_for()
    assert notebook.watched.errors == []
