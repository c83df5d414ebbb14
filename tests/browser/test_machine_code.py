"""IR and assembly in the Kernels pane: linked, explained, compared, by pointer and by key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.axe import violations
from tests.browser.driving import one_view
from tests.browser.panes import show
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "norm_h100.wbr"
TYPE = "() => jupyterapp.shell.currentWidget.content.activeCell.model.type"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    Report.load(RECORD).to_html(path)
    return path.as_uri()


def kernels(saved: str, selected: str) -> str:
    return f"{saved}#{urlencode({'pane': 'kernels', 'sel': selected, 'code': ''})}"


def column(view: Any, title: str) -> Any:
    return view.locator(f'.code-column[aria-label="{title}"]')


def press(view: Any, name: str) -> None:
    view.locator(".kernels").get_by_role("button", name=name, exact=True).click()


def test_a_store_leads_from_sass_to_the_line_of_the_user(
    open_page: Callable[..., Any], saved: str
) -> None:
    watched = open_page()
    page = watched.page
    show(page, kernels(saved, "k1"))
    titles = [head.inner_text() for head in page.locator(".code-head b").all()]
    assert titles == ["Python", "Triton", "PTX"]
    press(page, "SASS")
    press(page, "TTGIR")
    sass = column(page, "SASS")
    sass.locator(".cm-scroller").evaluate("scroller => { scroller.scrollTop = 1200 }")
    sass.locator(".cm-line", has_text="STG").first.click(position={"x": 60, "y": 5})
    for title, words in (("TTGIR", "tt.store"), ("PTX", "st.global"), ("Triton", "tl.store")):
        related = column(page, title).locator(".cm-rel", has_text=words).first
        related.wait_for()
        assert related.is_visible()
    status = page.locator(".status .path").inner_text()
    assert status.startswith("SASS k1:")
    assert "PTX" in status
    assert watched.errors == []


def test_a_triton_line_lights_up_every_stage(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    show(page, kernels(saved, "k1"))
    press(page, "SASS")
    column(page, "Triton").locator(".cm-line", has_text="tl.load(").click(
        position={"x": 60, "y": 5}
    )
    column(page, "SASS").locator(".cm-rel", has_text="LDG").first.wait_for()
    column(page, "PTX").locator(".cm-rel", has_text="ld.global").first.wait_for()
    column(page, "Python").locator(".cm-rel").first.wait_for()


def test_an_instruction_is_explained_by_key_and_under_the_pointer(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page(width=800).page
    show(page, kernels(saved, "A:k1:c0:ptx:60"))
    line = column(page, "PTX").locator(".cm-line", has_text="ld.global").first
    line.click(position={"x": 60, "y": 5})
    page.keyboard.press("e")
    card = page.locator(".opcode-card")
    card.wait_for()
    assert "Loads from memory into registers." in card.inner_text()
    assert "four values at once" in card.inner_text()
    assert violations(page) == []
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    assert page.locator(".status .path").inner_text().startswith("PTX")  # the line stays selected
    other = column(page, "PTX").locator(".cm-line", has_text="mov.u32").first
    other.scroll_into_view_if_needed()
    box = other.bounding_box()
    for step in (40, 42, 44):  # by place: the line is redrawn under the pointer
        page.mouse.move(box["x"] + step, box["y"] + 8)
        page.wait_for_timeout(100)
    card.wait_for()
    assert "mov.u32" in card.inner_text()


def test_code_opens_without_what_no_reader_needs(open_page: Callable[..., Any], saved: str) -> None:
    watched = open_page()
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 620})
    show(page, kernels(saved, "k1"))
    press(page, "SASS")
    sass, ptx = column(page, "SASS"), column(page, "PTX")
    sass.locator(".cm-lineNumbers", has_text="0010").wait_for()
    assert "NOP" not in sass.inner_text()
    assert ".loc" not in ptx.inner_text()
    bar = page.locator(".code-bar")
    assert bar.bounding_box()["height"] <= 34
    assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    assert page.locator(".code-facts b").inner_text().startswith("Bound by memory, at least")
    scroller = ptx.locator(".cm-scroller").bounding_box()
    line = ptx.locator(".cm-line").nth(5).bounding_box()
    assert scroller["height"] // line["height"] >= 26

    ptx.locator("summary").click()
    assert violations(page) == []
    ptx.get_by_label("Locations").uncheck()
    page.keyboard.press("Escape")
    ptx.locator(".cm-line", has_text=".loc").first.wait_for()
    assert not ptx.locator("fieldset").is_visible()
    page.reload()
    ptx.locator(".cm-line", has_text=".loc").first.wait_for()  # the page remembers
    assert watched.errors == []


@pytest.mark.parametrize(
    ("scheme", "width"), [pytest.param("dark", 1280, marks=pytest.mark.slow), ("light", 800)]
)
def test_two_gpus_side_by_side(
    open_page: Callable[..., Any], saved: str, scheme: str, width: int
) -> None:
    watched = open_page(scheme=scheme, width=width)
    page = watched.page
    show(page, kernels(saved, "k1"))
    press(page, "Compare")
    page.get_by_label("Compared with").select_option("k1:a100")
    press(page, "SASS")
    page.get_by_text("differences:").wait_for()
    left, right = (column(page, f"SASS, {side}") for side in ("left", "right"))
    left.locator(".cm-removed").first.wait_for()
    right.locator(".cm-gap").first.wait_for()
    press(page, "Next difference (n)")
    selected = page.locator(".cm-sel")
    selected.wait_for()
    first = selected.inner_text()
    selected.click(position={"x": 120, "y": 5})
    page.keyboard.press("n")
    page.wait_for_function(
        "(was) => document.querySelector('.cm-sel')?.innerText !== was", arg=first
    )
    assert violations(page) == []
    page.get_by_label("Fold equal lines").uncheck()
    assert page.locator(".cm-fold").count() == 0
    page.get_by_label("Ignore numbers of registers").uncheck()
    page.get_by_text("differences:").wait_for()
    press(page, "End the comparison")
    assert column(page, "PTX").is_visible()
    assert watched.errors == []


def test_a_compilation_for_the_cpu_says_what_to_do(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "block.html"
    Report.load(RECORD.with_name("block.wbr")).to_html(path)
    page = open_page().page
    show(page, kernels(path.as_uri(), "k0"))
    press(page, "GPU code")
    assert 'target="h100"' in column(page, "GPU code").inner_text()
    assert violations(page) == []


@pytest.mark.slow
def test_in_jupyterlab_the_keys_stay_in_the_view(lab: Any, open_page: Callable[..., Any]) -> None:
    code = f"import workbench as wb\nwb.show(wb.Report.load({str(RECORD)!r}))"
    lab.write("machine.ipynb", code)
    watched = open_page()
    lab.open(watched, "machine.ipynb")
    view = one_view(watched.page.locator(".jp-OutputArea"))
    view.locator("[role=tab]", has_text="Kernels").click()
    view.get_by_role("row", name="k1").dblclick()
    column(view, "PTX").locator(".cm-line", has_text="ld.param").first.click(
        position={"x": 60, "y": 5}
    )
    watched.page.keyboard.press("e")
    view.locator(".opcode-card", has_text="parameters of the kernel").wait_for()
    watched.page.keyboard.press("Escape")
    press(view, "Compare")
    view.get_by_text("difference").first.wait_for()  # Python compares on request
    assert watched.page.evaluate(TYPE) == "code"
    assert watched.errors == []
