"""The Overview as a reader meets it: one sentence, what to change, the tree of costs, its keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.browser.panes import show, shown_pane
from workbench.analysis.changes.change import split_text
from workbench.report import Report, Source, Table
from workbench.views.panes import overview_pane

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
    assert said.locator("p").inner_text().startswith("1.03 MB moved by 42 kernels, forward")
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
    assert shown_pane(layers) == "Memory"


def test_a_line_of_the_sentence_is_selected_in_the_tree(layers: Any) -> None:
    layers.locator(".answer").get_by_role("button", name="line 28").click()
    selected = layers.locator(".crow.sel")
    selected.wait_for()
    assert "self.down(" in selected.inner_text()


def test_a_module_of_torchs_own_has_a_tree_of_its_modules(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    report = Report.load(RECORDS / "layers.wbr")
    path = tmp_path / "bare.html"
    replace(report, tables={**report.tables, "sources": Table.of(Source, ())}).to_html(path)
    watched = open_page()
    show(watched.page, path.as_uri())
    watched.page.locator(".answer").get_by_role("button", name="layers.0–3").click()
    selected = watched.page.get_by_role("treegrid", name="Cost by module").locator(".crow.sel")
    selected.wait_for()
    assert "layers.0–3" in selected.inner_text()
    watched.page.keyboard.press("m")  # there are no lines
    assert selected.is_visible()
    assert watched.errors == watched.requests == []


def test_equal_layers_are_one_row_with_the_cost_of_each(layers: Any) -> None:
    call = row(layers, "x = layer(x)")
    assert "× 4" in call.inner_text()
    if layers.viewport_size["width"] > 900:
        assert "225 kB to 237 kB each" in call.inner_text()
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


def test_one_line_that_costs_nothing_stands_as_it_is_and_several_fold(
    layers: Any, tmp_path: Path
) -> None:
    assert row(layers, "for layer in self.layers").is_visible()  # was a row "… 1 line"
    Report.load(RECORDS / "accesses.wbr").to_html(tmp_path / "kernel.html")
    show(layers, f"{(tmp_path / 'kernel.html').as_uri()}#pane=overview")
    assert not row(layers, "tl.program_id").is_visible()
    layers.locator(".tree .is-fold").first.click()
    row(layers, "tl.program_id").wait_for()


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
    tree.get_by_text("aten.topk has no Inductor lowering").wait_for()
    assert "1 graph break: line 14" in watched.page.locator(".answer p").inner_text()
    assert watched.page.locator(".crow .st").count() == 2  # what is normal has no mark
    assert watched.errors == []


BEFORE = [7410.0 + 14 * n for n in range(20)]
AFTER = [6550.0 + 15 * n for n in range(20)]


def runs(times: list[float]) -> dict[str, Any]:
    ordered = sorted(times)
    middle = (ordered[5], ordered[15])
    return {
        "runs_us": times,
        "minimum_us": ordered[0],
        "median_us": ordered[10],
        "middle_us": middle,
    }


def tried(verdict: str, saved: tuple[float, float, float], faster: int) -> dict[str, Any]:
    pairs = {"before": runs(BEFORE), "after": runs(AFTER), "saved_us": saved, "verdict": verdict}
    pairs |= {"faster": faster, "slower": 20 - faster, "disturbed": 0}
    pairs |= {"doubt": "", "sentence": ""}
    words = {"rows": [], "saved": "", "agrees": True, "checked": "", "part": "tried:o0"}
    return {**words, "times": pairs}


def change(n: int, text: str, **more: Any) -> dict[str, Any]:
    """One of the changes, predicted by the CPU model."""
    made = {
        "id": f"o{n}",
        "rule": "rule",
        "text": text,
        "saving": "",
        "short": "",
        "sure": "likely",
    }
    made |= {
        "predicted_us": None,
        "predicted_by": "predicted, CPU model",
        "sure_words": "",
        "source": "",
    }
    made |= {"line_id": "L:s0:28", "place": "layers.py:28"}
    title, why = split_text(text)
    proposed = {"id": f"o{n}", "title": title, "why": why, "lines": [("", "y = x")]}
    proposed |= {"code": "y = x", "ask": "try", "question": {"opportunity": f"o{n}"}}
    proposed |= {"why_not": None, "outcome": None}
    return {**made, "change": proposed, "tried": None, **more}


CHANGES = [
    change(
        0,
        "Keep model and image in `channels_last`: 9 convolutions rearrange their input on each "
        "call, and the weights with it, which nobody needs.",
        predicted_us=(770.0, 980.0, 1190.0),
        tried=tried("faster", (710.0, 890.0, 1020.0), 20),
    ),
    change(
        1, "Compile with `freezing=True`: 13 weights are rearranged.", predicted_us=(220, 370, 520)
    ),
    change(
        2,
        "Try generated products: may be less.",
        tried=tried("too noisy to say", (-240, 20, 110), 11),
    ),
    change(3, "Mend the break: it costs a call.", short="1 kernel"),
]


@pytest.mark.parametrize(("width", "scheme"), SEEN)
def test_savings_stand_on_one_axis_and_noise_has_no_sign(
    open_page: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    width: int,
    scheme: str,
) -> None:
    advice = {"rows": CHANGES, "more": 2, "none": ""}
    monkeypatch.setattr(overview_pane, "advice", lambda *_: advice)
    path = tmp_path / "changes.html"
    Report.load(RECORDS / "layers.wbr").to_html(path)
    watched = open_page(width=width, scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    show(watched.page, path.as_uri())
    rows = watched.page.get_by_role("group", name="What to change").locator("li")
    assert rows.count() == 3
    assert "−890 µs\nmeasured, 710 µs to 1.02 ms" in rows.nth(0).inner_text()
    assert "20 of 20 pairs faster, outputs agree" in rows.nth(0).inner_text()
    assert "−370 µs ± 150 µs\npredicted, CPU model" in rows.nth(1).inner_text()
    assert "too noisy to say\n+240 µs to −110 µs" in rows.nth(2).inner_text()
    zeros = [zero.bounding_box()["x"] for zero in watched.page.locator(".mark .zero").all()]
    assert max(zeros) - min(zeros) < 1
    top = watched.page.get_by_role("treegrid").bounding_box()
    assert top["y"] + 3 * 20 < 800  # the top of the tree is on the first screen
    cut = "() => [...document.querySelectorAll('.advice :is(.sum, .grey, .cap, .pairs span)')]"
    cut += ".filter((each) => each.scrollWidth > each.clientWidth + 1).map((e) => e.textContent)"
    assert watched.page.evaluate(cut) == []
    if (folder := os.environ.get("WB_PICTURES")) is not None:
        watched.page.screenshot(path=f"{folder}/changes-{width}-{scheme}.png")
    watched.page.get_by_role("button", name="1 more").click()
    assert rows.count() == 4
    assert watched.errors == []


def mismatched(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


@pytest.mark.parametrize("width", [900, 1280])
def test_an_error_of_the_program_is_said_once(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    with pytest.raises(wb.WorkbenchError) as caught:
        wb.aot_compile(mismatched, (torch.ones(3, 5), torch.ones(4, 6)))
    caught.value.report.to_html(tmp_path / "failed.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "failed.html").as_uri())
    page.get_by_role("tab").first.wait_for()
    pane = page.get_by_role("tabpanel")
    said = pane.get_by_text("matmul does not take tensors of shapes [3, 5] and [4, 6]")
    assert sum(each.is_visible() for each in said.all()) == 1
    pane.get_by_text("Fails here.").wait_for()
    assert pane.get_by_text("graph break").count() == 0
    # what has no cost has no columns of it
    assert pane.get_by_role("columnheader").all_inner_texts() == ["Line"]
    pane.get_by_role("row").filter(has_text="return x @ w").click()
    inspector = page.locator(".insp")
    inspector.get_by_text("Fails here").first.wait_for()
    assert inspector.get_by_text("Fails here").count() == 1
