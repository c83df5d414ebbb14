"""No text of any pane is cut without a way to see it whole: a tip, or a scroll."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import addresses, show
from tests.report.session.sample import session
from tests.views.sweep.test_sweep_views import sweep
from workbench.analysis.sweep.sweep import Sweep
from workbench.report import Report
from workbench.report.session.session_record import Session
from workbench.report.table import Table

RECORDS = Path(__file__).parents[1] / "records"
CLIPPED = Path(__file__).with_name("clipped.js").read_text()


@pytest.mark.parametrize("width", [900, 1280, 1600])
@pytest.mark.parametrize("record", ["block", "norm_h100", "layers"])
def test_no_text_is_cut_without_a_way_to_see_it(
    open_page: Callable[..., Any], tmp_path: Path, record: str, width: int
) -> None:
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / f"{record}.wbr")
    report.to_html(path)
    page = open_page(width=width).page
    found = {}
    for pane, address in addresses(report, path.as_uri()).items():
        show(page, address)
        found[pane] = page.locator(".wb").evaluate(CLIPPED) + wider_tables(page)
    assert found == {pane: [] for pane in found}


def long_session() -> Session:
    """A session whose compiles and steps took hours: their times are the longest words."""
    shown = session()
    tables = dict(shown.tables)
    for name, column in (("compiles", "total_s"), ("steps", "wall_ms"), ("breaks", "cost_s")):
        table = tables[name]
        times = [value * 4321 for value in table.columns[column]]
        tables[name] = Table(table.row_type, {**table.columns, column: times})
    return Session(shown.header, tables, {})


LONG = {"mode": "triton.unique_kernel_names", "threads": "realize_acc_reads_size_threshold"}


def long_sweep() -> Sweep:
    """The same sweep, over options with long names."""
    found = sweep()
    rows = (
        replace(row, settings=tuple((LONG.get(n, n), v) for n, v in row.settings))
        for row in found.trials
    )
    axes = {LONG.get(name, name): values for name, values in found.axes.items()}
    return replace(found, axes=axes, trials=tuple(rows))


def tabs_with_cuts(page: Any) -> dict[str, list[str]]:
    """By tab what is cut while it is shown."""
    found = {}
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.wait_for_timeout(200)
        found[tab.inner_text()] = page.locator(".wb").evaluate(CLIPPED) + wider_tables(page)
    return found


def wider_tables(page: Any) -> list[str]:
    """The tables whose last columns are out of sight.

    As seen at 1280 px: *Ops in it* and *Lines* of GPU kernels, and the remarks of a sweep.
    """
    found: list[str] = page.locator(".table:visible").evaluate_all(WIDER)
    return found


WIDER = """all => all.filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.ariaLabel} is ${one.scrollWidth} of ${one.clientWidth}`)"""


@pytest.mark.parametrize("width", [900, 1280, 1600])
@pytest.mark.parametrize("record", ["sweep", "long_sweep", "session"])
def test_no_text_of_a_sweep_or_a_session_is_cut(
    open_page: Callable[..., Any], tmp_path: Path, record: str, width: int
) -> None:
    path = tmp_path / f"{record}.html"
    {"sweep": sweep, "long_sweep": long_sweep, "session": long_session}[record]().to_html(path)
    page = open_page(width=width).page
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path.as_uri())
    page.get_by_role("tab").first.wait_for()
    found = tabs_with_cuts(page)
    if record == "long_sweep":  # its options are called by thirty letters each: it scrolls
        found = {tab: [one for one in cut if " of " not in one] for tab, cut in found.items()}
    assert found == {tab: [] for tab in found}


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_no_word_of_a_chart_leaves_its_picture(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    found = sweep()
    noisy = [replace(trial, speedup_low=0.991, speedup_high=1.012) for trial in found.trials]
    replace(found, trials=noisy).to_html(tmp_path / "sweep.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "sweep.html").as_uri())
    page.get_by_role("tab", name="Axes").click()
    picture = page.locator(".sweep-chart svg")
    assert picture.evaluate(BEYOND) == []


@pytest.mark.parametrize("width", [900, 1280])
def test_settings_with_long_names_are_told_apart_in_the_forest_plot(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    """As seen at 900 px: eight rows were called `triton.unique_kernel_names=True, aggressi…`."""
    long_sweep().to_html(tmp_path / "sweep.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "sweep.html").as_uri())
    for name in LONG.values():
        head = page.get_by_role("columnheader", name=name)
        assert head.bounding_box()["width"] > 60
    page.get_by_role("tab", name="Forest plot").click()
    rows = page.locator(".strip text").all_text_contents()
    assert len(set(rows)) == 4  # a row for each size
    assert not any("…" in row for row in rows)


@pytest.mark.parametrize("width", [900, 1280])
def test_what_took_longest_and_why_is_read_in_whole(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    long_session().to_html(tmp_path / "session.html")
    page = open_page(width=width).page
    page.goto((tmp_path / "session.html").as_uri())
    said = page.get_by_role("group", name="Timeline").get_by_role("status")
    assert said.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    for words in page.locator(".ses-chart > span").all():
        assert words.evaluate(LEFT_OF_BARS), words.inner_text()
    page.get_by_role("tab", name="Compiled again").click()
    guard = page.get_by_role("columnheader", name="Guard", exact=True).bounding_box()
    found = page.get_by_role("columnheader", name="Found").bounding_box()
    assert guard["width"] > 2 * found["width"]


LEFT_OF_BARS = """span => {
    const text = document.createRange();
    text.selectNodeContents(span);
    return text.getBoundingClientRect().right <= span.getBoundingClientRect().left
}"""
BEYOND = """svg => [...svg.querySelectorAll("text")]
    .filter(text => text.getBoundingClientRect().right > svg.getBoundingClientRect().right)
    .map(text => text.textContent)"""


@pytest.mark.parametrize("width", [900, 1280])
def test_the_selection_and_the_inputs_are_named_in_whole(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / "block.wbr")
    report.to_html(path)
    page = open_page(width=width).page
    show(page, addresses(report, path.as_uri())["overview"])
    inputs = page.locator(".head .facts")
    assert inputs.is_visible()
    assert inputs.inner_text() == ", ".join(report.request.inputs)
    name = page.locator(".status .path b")
    assert name.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [900, 1280])
def test_a_low_view_keeps_rows_of_the_tree(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / "norm_h100.wbr")
    report.to_html(path)
    page = open_page(width=width).page
    page.set_viewport_size({"width": width, "height": 480})
    show(page, addresses(report, path.as_uri())["overview"])
    tree = page.locator(".tree")
    tree.scroll_into_view_if_needed()
    assert tree.bounding_box()["height"] >= 80


def test_a_long_name_on_a_chip_ends_with_a_mark(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """As seen: `l_self_modules_router_parameters_bias` went on below the edge of the view."""
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / "block.wbr")
    report.to_html(path)
    page = open_page(width=1280).page
    show(page, addresses(report, path.as_uri())["kernels"])
    page.locator(".insp .chips .chip").first.evaluate(LENGTHEN)
    chip = page.locator(".insp .chips .chip").first
    assert chip.evaluate("one => getComputedStyle(one).textOverflow") == "ellipsis"
    assert chip.evaluate("one => getComputedStyle(one).display") == "block"
    assert chip.evaluate("one => one.scrollWidth > one.clientWidth")


LENGTHEN = "one => { one.textContent = 'l_self_modules_router_parameters_weight_'.repeat(3) }"


def test_what_is_said_below_a_line_goes_up_to_the_edge(
    open_page: Callable[..., Any], tmp_path: Path, sample_report: Report
) -> None:
    """As seen: "Set…" with half of the row empty behind it, as a long name follows."""
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    page = open_page(width=900).page
    show(page, f"{path.as_uri()}#pane=overview")
    said = page.locator(".tree-note .says").first
    said.evaluate("one => one.append('Set ', one.querySelector('wbr') ?? '', 'it so. '.repeat(40))")
    assert said.evaluate("one => one.clientHeight") < 24
    assert said.evaluate("one => one.scrollWidth > one.clientWidth")


@pytest.mark.parametrize("record", ["block", "norm_h100"])
def test_the_selected_phase_is_seen_whole_in_a_narrow_view(
    open_page: Callable[..., Any], tmp_path: Path, record: str
) -> None:
    """As seen at 900 px: of the table of phases one row and the halves of two."""
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / f"{record}.wbr")
    report.to_html(path)
    page = open_page(width=899).page
    page.set_viewport_size({"width": 899, "height": 620})
    show(page, addresses(report, path.as_uri())["timeline"])
    row, table = page.locator(".tr.sel").bounding_box(), page.locator(".table").bounding_box()
    assert row["y"] + row["height"] <= table["y"] + table["height"]
    assert table["height"] >= 84  # the head and three rows


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_the_unit_of_an_axis_stands_clear_of_its_numbers(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    """As seen: "TFLOP/s" and "1000" at one place."""
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / "norm_h100.wbr")
    report.to_html(path)
    page = open_page(width=width).page
    show(page, addresses(report, path.as_uri())["roofline"])
    unit = page.locator(".roof-unit").first.bounding_box()
    numbers = page.locator(".roof-y span").all()
    assert numbers
    for number in numbers:
        assert number.bounding_box()["y"] >= unit["y"] + unit["height"] - 3  # of the leading


def test_code_in_a_sentence_of_the_sandbox_stays_in_its_line(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """As seen: `target="host"` on a line of its own, between two halves of a sentence."""
    path = tmp_path / "report.html"
    Report.load(RECORDS / "norm_h100.wbr").to_html(path)
    page = open_page(width=900).page
    show(page, f"{path.as_uri()}#pane=breaks")
    code = page.locator(".sandbox p code").first
    assert code.evaluate("one => getComputedStyle(one).display") == "inline"
