"""What it takes to see what costs most: the Overview, the table of kernels, a profile in place."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.figure import Figure
from tests.bench.view_pages import UNTIL, open_page, whole_page
from tests.big_report import NODES_PER_KERNEL, NODES_PER_LAYER, big_report
from tests.browser.driving import running_chromium
from tests.browser.panes import open_pane

CONDITIONS = "Headless Chromium without a GPU, 1280 × 800. Profile: 2 cores, float32"
LAYERS = 24
KERNELS = 10_000
HEADS = "#sorted"
SORTED = """([selector]) => new Promise((done) => {
    const start = performance.now();
    document.querySelector(selector).click();
    requestAnimationFrame(() => done(performance.now() - start));
})"""
"""Milliseconds from a click on a head to the frame that shows the rows in their new order."""


def figures(quick: bool = False) -> Iterator[Figure]:
    repeats = 3 if quick else 7
    with TemporaryDirectory() as folder, running_chromium() as browser:
        yield from _overview(browser, Path(folder), repeats)
        yield from _table(browser, Path(folder), repeats)
    yield _profile(1 if quick else 3)


def _overview(browser: Any, folder: Path, repeats: int) -> Iterator[Figure]:
    from workbench.views.document import document

    report = big_report(LAYERS * NODES_PER_LAYER)
    made = []
    for _ in range(repeats):
        start = time.perf_counter()
        document(report)
        made.append(time.perf_counter() - start)
    name = f"Overview of {LAYERS} layers: its document in Python (s)"
    yield Figure(name, statistics.median(made), None, statistics.median(made), 0.1, "s")
    page = open_page(browser, whole_page(report, folder / "overview.html"))
    shown = "() => document.querySelectorAll('.tree .crow').length > 10"
    times = []
    for _ in range(repeats):
        open_pane(page, "Compile time")
        page.wait_for_function("() => !document.querySelector('.tree')")
        tab = "[role=tab][id$=-overview]"
        times.append(float(page.evaluate(UNTIL, [tab, shown])) / 1e3)
    page.close()
    middle = statistics.median(times)
    yield Figure("  drawn, from the click on its tab (s)", middle, None, middle, 0.1, "s")


def _table(browser: Any, folder: Path, repeats: int) -> Iterator[Figure]:
    report = big_report(KERNELS * NODES_PER_KERNEL)
    page = open_page(browser, whole_page(report, folder / "kernels.html"))
    open_pane(page, "Kernels")
    slowest, titles = 0.0, []
    for head in page.locator(".th button").all():
        titles.append(head.inner_text())
        head.evaluate("(e) => { e.id = 'sorted' }")
        times = [float(page.evaluate(SORTED, [HEADS])) for _ in range(repeats)]
        head.evaluate("(e) => { e.id = '' }")
        slowest = max(slowest, statistics.median(times))
    page.close()
    name = f"table of {len(report.kernels):,} kernels sorts, slowest column (ms)"
    yield Figure(name, slowest, None, slowest, 50, "ms", f"{len(titles)} columns, to the frame")


def _profile(repeats: int) -> Figure:
    import workbench as wb
    from tests.bench.bench_load import gpt2
    from workbench.handles.running.profile import start_profile

    case = gpt2()
    compiled = wb.aot_compile(case.model, (), dict(case.inputs), grad=False)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        start_profile(compiled).result(60)
        times.append(time.perf_counter() - start)
    middle = statistics.median(times)
    return Figure("profile of the 6-layer GPT-2 in place (s)", middle, None, middle, 3, "s")
