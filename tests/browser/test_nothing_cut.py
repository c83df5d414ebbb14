"""No text of any pane is cut without a way to see it whole: a tip, or a scroll."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import workbench as wb
from tests.browser.panes import addresses, show, visit_tabs
from tests.worlds.sessions.rows.sample import session
from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.report import Report
from workbench.report.table import Table
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sweeps.sweep import Sweep

RECORDS = Path(__file__).parents[1] / "records"
TRACE = RECORDS.parent / "gpu" / "traces" / "h100" / "patches_step_eager.json.gz"
CLIPPED = Path(__file__).with_name("clipped.js").read_text()


@pytest.mark.parametrize("width", [900, 1280, 1600])
@pytest.mark.parametrize(
    "record", ["block", "norm_h100", "layers", "accesses", "numerics", "checks", "program_checks"]
)
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
    for tab in visit_tabs(page):
        page.wait_for_timeout(200)
        found[tab] = page.locator(".wb").evaluate(CLIPPED) + wider_tables(page)
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
    for words in page.locator(".steps-chart > span").all():
        assert words.evaluate(LEFT_OF_BARS), words.inner_text()
    page.get_by_role("tab", name="Recompiles").click()
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


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light")])
def test_the_values_of_an_axis_stand_clear_of_lines(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    """As seen: the lines of settings crossed "1", "2" and "32" of the axes between."""
    sweep().to_html(tmp_path / "sweep.html")
    page = open_page(width=width, scheme=scheme).page
    page.goto((tmp_path / "sweep.html").as_uri())
    page.get_by_role("tab", name="Axes").click()
    values = page.locator(".sweep-chart text.on").all()[2:-2]
    assert [each.text_content() for each in values] == ["1", "2", "1", "8", "32"]
    for value in values:
        x, y, width, height = value.evaluate(LETTERS)
        for left in (x - 2, x + width + 1):
            edge = {"x": left, "y": y + 3, "width": 1, "height": height - 6}
            assert len(colours(page, edge)) == 1, value.text_content()


LETTERS = """text => {
    const { x, y, width, height } = text.getBBox(), around = text.closest("svg");
    const { left, top } = around.getBoundingClientRect();
    return [left + x, top + y, width, height];
}"""


def colours(page: Any, clip: dict[str, float]) -> list[Any]:
    """The colours in a part of what is seen, with how often each is."""
    found = Image.open(BytesIO(page.screenshot(clip=clip))).convert("RGB").getcolors()
    assert found is not None
    return found


def test_numbers_alone_stand_beside_one_another(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """As seen: *Compiling* of a session's steps took the room that no other column needs."""
    session().to_html(tmp_path / "session.html")
    page = open_page(width=1280).page
    page.goto((tmp_path / "session.html").as_uri())
    page.get_by_role("tab", name="Steps").click()
    ends = [
        box["x"] + box["width"]
        for box in (each.bounding_box() for each in page.get_by_role("columnheader").all())
    ]
    assert len(ends) == 6
    assert max(b - a for a, b in pairwise(ends)) < 120


@pytest.mark.parametrize(
    ("record", "pane", "width"), [("numerics", "numerics", 1280), ("layers", "memory", 900)]
)
def test_a_place_that_is_too_long_keeps_its_line(
    open_page: Callable[..., Any], tmp_path: Path, record: str, pane: str, width: int
) -> None:
    """As seen: "record_numeri…" and "record_layers.py…"; which line it is was cut off."""
    path = tmp_path / "report.html"
    Report.load(RECORDS / f"{record}.wbr").to_html(path)
    page = open_page(width=width).page
    show(page, f"{path.as_uri()}#pane={pane}")
    cells = page.locator(".td[data-tip-of=Line]", has_text=".py:").all()
    assert cells
    assert any(cell.evaluate("one => one.scrollWidth > one.clientWidth") for cell in cells)
    assert all(cell.evaluate(SEES_END) for cell in cells)


SEES_END = """cell => {
    const text = cell.lastChild, end = document.createRange(), box = cell.getBoundingClientRect();
    end.setStart(text, text.length - 2);
    end.setEnd(text, text.length);
    const { left, right } = end.getBoundingClientRect();
    return left >= box.left && right <= box.right + 1;
}"""
SEEN_ROWS = """table => {
    let [top, bottom] = [0, innerHeight];
    for (let at = table; at; at = at.parentElement) {
        if (getComputedStyle(at).overflowY === 'visible') continue;
        const box = at.getBoundingClientRect();
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    top = Math.max(top, table.querySelector('.thead').getBoundingClientRect().bottom);
    return [...table.querySelectorAll('.tbody .tr')].filter(row => {
        const box = row.getBoundingClientRect();
        return box.top >= top - 1 && box.bottom <= bottom + 1;
    }).length;
}"""


@pytest.mark.parametrize(("record", "pane"), [("numerics", "numerics"), ("layers", "memory")])
def test_a_low_pane_keeps_rows_of_its_table(
    open_page: Callable[..., Any], tmp_path: Path, record: str, pane: str
) -> None:
    """As seen at 900 × 700 with a row selected: one row of the storages, no differing value."""
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / f"{record}.wbr")
    report.to_html(path)
    page = open_page(width=900).page
    page.set_viewport_size({"width": 900, "height": 700})
    show(page, addresses(report, path.as_uri())[pane])
    assert page.locator(".table:visible").evaluate(SEEN_ROWS) >= 3


@pytest.mark.parametrize("is_selected", [False, True])
def test_a_low_profile_keeps_rows_of_its_table(
    open_page: Callable[..., Any], tmp_path: Path, is_selected: bool
) -> None:
    """As seen at 900 × 700: one kernel of 76."""
    wb.read_profile(TRACE).to_html(tmp_path / "profile.html")
    page = open_page(width=900).page
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto((tmp_path / "profile.html").as_uri())
    page.locator(".prof-tracks canvas").wait_for()
    if is_selected:
        page.locator(".tbody .tr").first.click()
    assert page.locator(".table:visible").evaluate(SEEN_ROWS) >= (4 if is_selected else 5)
    assert page.locator(".prof-change:visible").count() >= 2
    assert page.get_by_role("group", name="Inspector").is_visible() == is_selected
