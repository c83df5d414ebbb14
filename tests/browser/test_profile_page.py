"""The page of a profile from disk: timeline, modules and kernels select each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.browser.axe import violations
from tests.browser.panes import open_pane

TRACES = Path(__file__).parents[1] / "gpu" / "traces"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two steps of a training that an H100 ran."""
    path = tmp_path_factory.mktemp("profile") / "profile.html"
    wb.read_profile(TRACES / "h100" / "patches_step_eager.json.gz").to_html(path)
    return path


@pytest.fixture
def open_profile(open_page: Callable[..., Any], path: Path) -> Callable[..., Any]:
    def opened(**look: Any) -> Any:
        watched = open_page(**look)
        watched.page.goto(path.as_uri())
        watched.page.locator(".prof-tracks canvas").wait_for()
        return watched

    return opened


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 900)])
def test_all_of_it_is_there_and_can_be_read(
    open_profile: Callable[..., Any], scheme: str, width: int
) -> None:
    watched = open_profile(width=width, scheme=scheme)
    page = watched.page
    answer = page.get_by_role("group", name="Answer")
    assert "38.2 ms on H100 SXM5 80 GB: 16 % busy" in answer.inner_text()
    for group in ("Timeline", "Modules", "What to change"):
        page.get_by_role("group", name=group).wait_for()
    assert violations(page) == []
    assert watched.errors == watched.requests == []


def test_a_kernel_lights_its_modules_its_change_and_its_costs(
    open_profile: Callable[..., Any],
) -> None:
    page = open_profile(width=1280).page
    page.locator(".prof-change").filter(has_text="Compile the model").click()
    assert page.locator(".tbody .tr.rel").count() > 3
    page.locator(".tbody .tr").first.click()
    name = page.locator(".tbody .tr.sel .prof-name").inner_text()
    assert page.locator(".insp h2").inner_text() == name
    assert page.locator(".prof-box.rel, .prof-box.sel").count() > 0
    page.keyboard.press("Escape")
    assert page.locator(".tr.sel").count() == 0


def test_the_timeline_follows_the_keys(open_profile: Callable[..., Any]) -> None:
    page = open_profile(width=1280).page
    tracks = page.locator(".prof-tracks")
    tracks.focus()
    window = page.locator(".prof-all i")
    page.keyboard.press("Home")
    whole = window.bounding_box()["width"]
    for _ in range(4):
        page.keyboard.press("w")
    near = window.bounding_box()
    assert near["width"] < whole / 3
    page.keyboard.press("d")
    assert window.bounding_box()["x"] > near["x"]
    page.keyboard.press("ArrowRight")
    first = tracks.get_by_role("status").inner_text()
    page.keyboard.press("ArrowRight")
    assert tracks.get_by_role("status").inner_text() not in ("", first)
    page.keyboard.press("f")
    assert window.bounding_box()["width"] < near["width"]
    page.keyboard.press("Home")
    assert window.bounding_box()["width"] == pytest.approx(whole)


def test_a_click_on_idle_time_says_why(open_profile: Callable[..., Any]) -> None:
    page = open_profile(width=1280).page
    page.keyboard.press("4")
    row = page.locator(".tbody .tr").first
    row.click()
    assert page.locator(".insp h2").inner_text().endswith("without work")
    assert page.locator(".insp").inner_text().count("Cause") == 1


def test_a_module_is_looked_into_and_left(open_profile: Callable[..., Any]) -> None:
    page = open_profile(width=1280).page
    boxes = page.locator(".prof-icicle")
    inner = boxes.get_by_role("treeitem").filter(has_text="MultiheadAttention").first
    before = inner.bounding_box()["width"]
    inner.dblclick()
    assert inner.bounding_box()["width"] > 2 * before
    page.get_by_role("group", name="Modules").get_by_role("button", name="Out").click()
    boxes.get_by_role("treeitem").filter(has_text="TransformerEncoder").first.wait_for()


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_every_table_opens_by_its_key(open_profile: Callable[..., Any], width: int) -> None:
    watched = open_profile(width=width)
    page = watched.page
    for number in range(1, 10):
        page.keyboard.press(str(number))
        assert page.locator(".scroll.table").count() == 1
    assert watched.errors == []


def test_a_kernel_and_a_span_of_the_cpu_are_found_by_their_words(
    open_profile: Callable[..., Any],
) -> None:
    page = open_profile(width=1280).page
    page.keyboard.press("/")
    page.keyboard.type("gelu")
    page.get_by_role("listbox", name="Found").get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    assert "gelu" in page.locator(".tbody .tr.sel .prof-name").inner_text()
    assert page.locator(".insp h2").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("step 0")
    page.keyboard.press("Enter")
    assert "step 0" in page.locator(".insp").inner_text()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard").inner_text()
    assert all(word in keys for word in ("find", "with Shift, scroll", "fit the selection"))


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_names_that_do_not_fit_end_in_an_ellipsis(
    open_profile: Callable[..., Any], width: int
) -> None:
    page = open_profile(width=width).page
    cut = page.evaluate(
        """() => [...document.querySelectorAll(
            ".prof-box, .prof-name .cut, .prof-tracks span, .prof-tracks small")]
        .filter((each) => each.scrollWidth > each.clientWidth + 1)
        .filter((each) => getComputedStyle(each).textOverflow !== "ellipsis")
        .map((each) => each.textContent)"""
    )
    assert cut == []


def test_nothing_is_selected_before_anything_was_clicked(open_profile: Callable[..., Any]) -> None:
    page = open_profile(width=1280).page
    assert page.locator(".prof-path").count() == 0
    assert page.locator(".status .path").inner_text() == "Nothing selected"


def test_a_kernel_leads_to_its_line_what_is_fused_and_its_nodes(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    path = tmp_path / "profile.html"
    wb.read_profile(TRACES / "workbench.json.gz").with_report(report).to_html(path)
    watched = open_page(width=1280)
    page = watched.page
    page.goto(path.as_uri())
    page.locator(".tbody .tr").filter(has_text="triton_").first.click()
    said = page.locator(".insp").inner_text()
    assert all(word in said for word in ("In the report", "training_step.py:", "Fused", "Nodes"))
    page.get_by_role("tab", name="Report").click()
    assert page.locator(".tbody .tr.rel").count() > 0
    assert violations(page) == []
    assert watched.errors == []


def test_a_kernel_leads_to_its_lines_in_the_record_and_back(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz").with_report(report)
    profile.to_html(tmp_path / "p.html")
    watched = open_page(width=1280)
    page = watched.page
    page.goto((tmp_path / "p.html").as_uri())
    page.get_by_role("tab", name="Report").click()
    page.locator(".tbody .tr").first.click()
    facts = page.locator(".insp .btn.link")
    name = facts.first.inner_text()
    facts.first.click()
    page.get_by_role("tab", name="Kernels", selected=True).wait_for()
    assert name.split()[0] in page.locator(".wb:visible .tbody .tr.sel").first.inner_text()
    page.get_by_role("button", name="The profile").click()
    page.locator(".prof-tracks").wait_for()
    page.locator(".insp .btn.link").nth(1).click()
    page.get_by_role("tab", name="Overview", selected=True).wait_for()
    page.keyboard.press("Escape")
    page.locator(".prof-tracks").wait_for()
    assert watched.errors == watched.requests == []


def test_where_the_record_is_not_there_its_lines_are_no_links(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    wb.read_profile(TRACES / "workbench.json.gz").with_report(report).save(tmp_path / "p.wbr")
    wb.RunProfile.load(tmp_path / "p.wbr").to_html(tmp_path / "p.html")
    page = open_page(width=1280).page
    page.goto((tmp_path / "p.html").as_uri())
    page.get_by_role("tab", name="Report").click()
    page.locator(".tbody .tr").first.click()
    assert "Kernel" in page.locator(".insp").inner_text()
    assert page.locator(".insp .btn.link").count() == 0


@pytest.mark.parametrize("width", [1280, 1600])
def test_the_bounds_of_all_kernels_lie_below_one_another(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    wb.read_profile(TRACES / "compiled.json.gz").to_html(tmp_path / "p.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "p.html").as_uri())
    page.locator(".prof-near").first.wait_for()
    edges, texts, cut = page.evaluate(
        """() => {
            const tracks = [...document.querySelectorAll(".prof-near .track")];
            const numbers = tracks.map((each) => each.nextElementSibling);
            return [
                [...new Set(tracks.map((each) => Math.round(each.getBoundingClientRect().right)))],
                numbers.map((each) => each.textContent),
                numbers.filter((each) => each.scrollWidth > each.clientWidth).length,
            ];
        }"""
    )
    assert len(edges) == 1
    assert "<0.01" in texts
    assert cut == 0


@pytest.mark.parametrize("width", [900, 1280])
def test_what_was_given_back_is_read_in_whole(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    """As seen at 1280 px: "−38.5 …", a figure without its unit."""
    wb.read_profile(TRACES / "eager.json.gz").to_html(tmp_path / "eager.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "eager.html").as_uri())
    open_pane(page, "Memory")
    cell = page.locator(".tbody .tr [role=gridcell]").nth(1)
    cell.evaluate("one => { one.textContent = '−38.5 MB' }")
    assert cell.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_narrow_view_shows_rows_of_the_table(open_profile: Callable[..., Any]) -> None:
    """As seen at 900 px: eight tabs, and no row of any of their tables in sight."""
    page = open_profile(width=899).page
    page.set_viewport_size({"width": 899, "height": 700})
    page.get_by_role("tab", name="Lines").click()
    row, pane = (
        page.locator(".tbody .tr").first.bounding_box(),
        page.locator(".pane").bounding_box(),
    )
    assert row["y"] + row["height"] <= pane["y"] + pane["height"]
    page.get_by_role("button", name="Modules").click()
    page.locator(".prof-box").first.wait_for()
