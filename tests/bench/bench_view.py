"""How fast the view draws, in headless Chromium; the live figures in a real JupyterLab."""

from __future__ import annotations

import gzip
import re
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.figure import ROOT, Figure
from tests.bench.long_code import long_code
from tests.bench.view_pages import MOVE, PAINTED, UNTIL, open_page, whole_page
from tests.big_report import big_report
from tests.browser.driving import Lab, running_chromium, running_lab, watched_page

CONDITIONS = "Headless Chromium without a GPU, 1280 × 800. Live: JupyterLab and its kernel"
GRAPHS = "[role=tab][id$=-graphs]"
KERNELS = "[role=tab][id$=-kernels]"
ROWS = "() => document.querySelectorAll('.graph [role=row]').length > 10"
SHOWN = """
import sys; sys.path.insert(0, {root!r})
import workbench as wb
from tests.big_report import big_report
wb.options.embed = "none"
wb.show(big_report({nodes}))
"""
SELECT = """(lines) => new Promise((done) => {
    const took = [], column = document.querySelector('.cm-content');
    const next = () => {
        const line = column.querySelectorAll('.cm-line')[lines[took.length] % 25 + 1];
        const box = line.getBoundingClientRect(), start = performance.now();
        for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'])
            line.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true,
                clientX: box.left + 60, clientY: box.top + 4, detail: 1 }));
        requestAnimationFrame(() => setTimeout(() => {
            took.push(performance.now() - start);
            if (took.length < lines.length) setTimeout(next, 60); else done(took);
        }));
    };
    next();
})"""
"""Milliseconds from a click on a line to the end of the frame that shows what belongs to it."""


def figures(quick: bool = False) -> Iterator[Figure]:
    repeats = 2 if quick else 7
    yield _layout(repeats)
    yield from _bundle()
    with TemporaryDirectory() as folder, running_chromium() as browser:
        here = Path(folder)
        yield from _live(browser, here, 3 if quick else 5)
        yield from _moving(browser, here)
        yield _table(browser, here, repeats)
        yield _linked(browser, here)
        yield from _machine_code(browser, here)
        yield from _report(browser, here, repeats)


def _limit(name: str, value: float, reach: float, unit: str, note: str = "") -> Figure:
    return Figure(name, value, None, value, reach, unit, note)


def _layout(repeats: int) -> Figure:
    from workbench.views.layout import layered
    from workbench.views.parts.report_parts import build_graph_part

    inputs = build_graph_part(big_report(10_000), "g0")["inputs"]
    seconds = _median(lambda: _timed(lambda: layered(inputs)), repeats)
    return _limit("10,000-node graph: layout in Python (s)", seconds, 0.4, "s")


def _bundle() -> Iterator[Figure]:
    text = files("workbench.views").joinpath("static", "workbench.js").read_bytes()
    yield _limit("bundle, minified (kB)", len(text) / 1e3, 700, "kB")
    yield _limit("  gzip (kB)", len(gzip.compress(text, 9)) / 1e3, 240, "kB")


def _live(browser: Any, folder: Path, repeats: int) -> Iterator[Figure]:
    """From the click that sends the request, through Python, to the first paint."""
    (folder / "notebooks").mkdir()
    (folder / "home").mkdir()
    with running_lab(folder / "notebooks", folder / "home") as lab:
        for nodes, reach in ((10_000, 1.0), (50_000, 3.0)):
            times = [_first_paint(lab, browser, nodes) for _ in range(repeats)]
            name = f"{nodes:,}-node graph, live: message sent to first paint (s)"
            spread = f"{repeats} runs, {min(times):.2f} to {max(times):.2f}; layout included"
            yield _limit(name, statistics.median(times), reach, "s", spread)


def _first_paint(lab: Lab, browser: Any, nodes: int) -> float:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        name = f"n{nodes}-{time.monotonic_ns()}.ipynb"  # a session of its own
        lab.write(name, SHOWN.format(root=str(ROOT), nodes=nodes))
        watched = watched_page(context)
        watched.page.set_default_timeout(90_000)
        lab.open(watched, name)
        watched.page.wait_for_selector(GRAPHS)
        return float(watched.page.evaluate(UNTIL, [GRAPHS, PAINTED])) / 1e3
    finally:
        context.close()


def _moving(browser: Any, folder: Path) -> Iterator[Figure]:
    page = open_page(browser, whole_page(big_report(10_000), folder / "moving.html"))
    page.evaluate(UNTIL, [GRAPHS, PAINTED])
    page.get_by_role("button", name="Open all").click()
    page.wait_for_timeout(1_500)
    for kind in ("pan", "zoom"):
        gaps = sorted(page.evaluate(MOVE, kind))
        name = f"10,000 nodes, all open: {kind}, median frame (ms)"
        yield _limit(name, statistics.median(gaps), 17, "ms")
        yield _limit("  95th percentile (ms)", gaps[int(len(gaps) * 0.95)], 33, "ms")
    page.close()


def _table(browser: Any, folder: Path, repeats: int) -> Figure:
    report = big_report(100_000, kernels=400)
    page = open_page(browser, whole_page(report, folder / "table.html"))
    page.evaluate(UNTIL, [GRAPHS, PAINTED])
    button = page.get_by_role("button", name="Table", exact=True)
    button.evaluate("(e) => { e.id = 'open-table' }")
    times = []
    for _ in range(repeats):
        times.append(float(page.evaluate(UNTIL, ["#open-table", ROWS])) / 1e3)
        button.click()
        page.wait_for_function("() => !document.querySelector('.graph [role=row]')")
    page.close()
    return _limit("table of 100,000 rows opens (s)", statistics.median(times), 0.3, "s")


def _linked(browser: Any, folder: Path) -> Figure:
    report = big_report(12_000, lines=12_000, code_lines=12_000, kernels=400)
    page = open_page(browser, whole_page(report, folder / "linked.html"))
    _open_code(page, "k0")
    page.wait_for_function("() => document.querySelectorAll('.cm-content').length >= 3")
    page.wait_for_timeout(1_000)
    times = page.evaluate(SELECT, list(range(3, 24)))
    middle, most = statistics.median(times), max(times)
    note = f"21 clicks, slowest {most:.0f} ms"
    return _limit("linked selection, three 12,000-line panes (ms)", middle, 50, "ms", note)


def _open_code(page: Any, kernel: str) -> None:
    page.locator(KERNELS).click()
    page.get_by_role("row").filter(has_text=re.compile(rf"^{kernel}\\b")).first.dblclick()


def _machine_code(browser: Any, folder: Path) -> Iterator[Figure]:
    """From a click on a line of SASS, and on a Triton line that thousands of lines come from."""
    page = open_page(browser, whole_page(long_code(10_000), folder / "machine.html"))
    _open_code(page, "k1")
    page.locator(".kernels").get_by_role("button", name="SASS", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('.cm-content').length === 4")
    page.wait_for_timeout(1_000)
    # of the Triton source, the eight lines that compute
    for column, lines, name in (
        (3, "% 25 + 1", "a line of SASS"),
        (1, "% 8 + 32", "a Triton line"),
    ):
        select = SELECT.replace(
            "document.querySelector('.cm-content')",
            f"document.querySelectorAll('.cm-content')[{column}]",
        ).replace("% 25 + 1", lines)
        times = page.evaluate(select, list(range(3, 24)))
        middle, most = statistics.median(times), max(times)
        note = f"21 clicks, slowest {most:.0f} ms"
        yield _limit(f"linked selection, {name} and 10,000 of SASS (ms)", middle, 50, "ms", note)
    page.close()


def _report(browser: Any, folder: Path, repeats: int) -> Iterator[Figure]:
    import workbench as wb
    from tests.bench.bench_load import gpt2

    case = gpt2()
    report = wb.aot_compile(case.model, (), dict(case.inputs), grad=False).report
    path = folder / "report.html"
    report.to_html(path)
    name = "report.html of the 6-layer GPT-2 (MB)"
    yield _limit(name, path.stat().st_size / 1e6, 2, "MB")
    seconds = _median(lambda: _timed(lambda: open_page(browser, path).close()), repeats)
    yield _limit("  interactive (s)", seconds, 1, "s")


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _median(measure: Callable[[], float], repeats: int) -> float:
    return statistics.median(measure() for _ in range(repeats))
