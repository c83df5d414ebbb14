"""The Overview as a reader meets it: one sentence, what to change, the tree of costs, its keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"
SEEN = [(900, "dark"), (1280, "light"), (1600, "dark")]
CUT = """() => [...document.querySelectorAll('.answer :is(p, .chip, dd, dt), .crow .num, .change')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth)
    .map((each) => each.textContent)"""


@pytest.fixture(params=SEEN, ids=str)
def layers(
    request: pytest.FixtureRequest, open_page: Callable[..., Any], tmp_path: Path
) -> Iterator[Any]:
    """A model of four equal layers; what moves most is in their second line."""
    width, scheme = request.param
    path = tmp_path / "layers.html"
    Report.load(RECORDS / "layers.wbr").to_html(path)
    watched = open_page(width=width, scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    show(watched.page, path.as_uri())
    yield watched.page
    assert watched.errors == watched.requests == []


def row(page: Any, text: str) -> Any:
    return page.locator(".tree .crow", has_text=text).first


def test_the_first_screen_is_the_sentence_and_the_top_of_the_tree(layers: Any) -> None:
    said = layers.get_by_role("group", name="Answer")
    assert said.locator("p").inner_text().startswith("1.03 MB moved by 42 kernels, an estimate")
    assert said.locator(".chip").count() == 3
    tree = layers.get_by_role("treegrid", name="Cost by line")
    assert tree.bounding_box()["y"] < 400
    assert row(layers, "x = layer(x)").is_visible()
    assert layers.evaluate(CUT) == []


def test_details_are_label_and_value_and_lead_to_their_panes(layers: Any) -> None:
    assert not layers.get_by_text("DRAM traffic").is_visible()
    layers.get_by_role("button", name="Details").click()
    layers.get_by_role("button", name="DRAM traffic").wait_for()
    assert layers.evaluate(CUT) == []
    layers.get_by_role("button", name="Peak memory").click()
    assert layers.get_by_role("tab", name="Memory").get_attribute("aria-selected") == "true"


def test_a_line_of_the_sentence_is_selected_in_the_tree(layers: Any) -> None:
    layers.locator(".answer").get_by_role("button", name="line 28").click()
    selected = layers.locator(".crow.sel")
    selected.wait_for()
    assert "self.down(" in selected.inner_text()


def test_equal_layers_are_one_row_with_the_cost_of_each(layers: Any) -> None:
    call = row(layers, "x = layer(x)")
    assert "× 4" in call.inner_text()
    if layers.viewport_size["width"] > 900:
        assert "0.22 to 0.25 MB each" in call.inner_text()
    numbers = call.locator(".num").all_inner_texts()
    assert numbers == ["0.93", "0"]


def test_arrows_walk_and_fold_the_tree(layers: Any) -> None:
    call = row(layers, "x = layer(x)")
    call.click()
    assert call.get_attribute("aria-expanded") == "true"
    assert call.get_attribute("aria-level") == "2"
    layers.get_by_role("treegrid").focus()
    layers.keyboard.press("ArrowLeft")
    assert call.get_attribute("aria-expanded") == "false"
    assert not row(layers, "self.down(").is_visible()
    layers.keyboard.press("ArrowRight")
    layers.keyboard.press("ArrowRight")  # into the function
    layers.keyboard.press("ArrowDown")  # its first line
    assert "self.norm(x)" in layers.locator(".crow.sel").inner_text()
    layers.keyboard.press("ArrowLeft")
    layers.keyboard.press("ArrowLeft")
    assert "self.norm(x)" not in layers.locator(".crow.sel").inner_text()


def test_lines_that_cost_nothing_are_folded_and_unfold(layers: Any) -> None:
    assert not row(layers, "for layer in self.layers").is_visible()
    row(layers, "… 1 line").click()
    row(layers, "for layer in self.layers").wait_for()


def test_m_shows_modules_and_keeps_the_selection(layers: Any) -> None:
    row(layers, "self.down(").click()
    layers.keyboard.press("m")
    layers.get_by_role("treegrid", name="Cost by module").wait_for()
    module = row(layers, "layers.0–3")
    assert "× 4" in module.inner_text()
    assert "rel" in (module.get_attribute("class") or "")
    module.click()
    assert "layers.0–3" in layers.locator(".status .path").inner_text()
    layers.keyboard.press("m")
    layers.get_by_role("treegrid", name="Cost by line").wait_for()
    layers.keyboard.press("s")
    layers.get_by_role("grid", name="Source with the state of each line").wait_for()
    layers.get_by_role("button", name="Lines", exact=True).click()
    layers.get_by_role("treegrid", name="Cost by line").wait_for()


@pytest.mark.parametrize("width", [900, 1280])
def test_what_is_wrong_with_a_line_stays_in_sight(
    open_page: Callable[..., Any], sample_report: Report, tmp_path: Path, width: int
) -> None:
    path = tmp_path / "sample.html"
    sample_report.to_html(path)
    watched = open_page(width=width)
    show(watched.page, path.as_uri())
    tree = watched.page.get_by_role("treegrid")
    tree.get_by_text("Graph break: Data-dependent branching.").wait_for()
    tree.get_by_text("aten.topk has no lowering in Inductor").wait_for()
    assert "1 graph break: line 14" in watched.page.locator(".answer p").inner_text()
    assert watched.page.locator(".crow .st").count() == 2  # what is normal has no mark
    assert watched.errors == []
