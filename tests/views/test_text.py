from __future__ import annotations

import re
from dataclasses import replace

import pytest

import workbench as wb
from workbench.report import Kernel, Outcome, Report
from workbench.report.table import Table
from workbench.views.text import text


def test_the_summary_has_neither_times_nor_addresses(sample_report: Report) -> None:
    shown = text(sample_report)
    kernels = [replace(kernel, time_us=None) for kernel in sample_report.kernels]
    tables = {name: t for name, t in sample_report.tables.items() if name != "roofline"}
    unprofiled = replace(sample_report, tables={**tables, "kernels": Table.of(Kernel, kernels)})
    assert not re.search(r"\d (s|ms|µs)\b|0x[0-9a-f]{6}", text(unprofiled))
    assert shown == text(Report.from_json(sample_report.to_json()))


def test_every_section_is_there(sample_report: Report) -> None:
    shown = text(sample_report)
    for part in (
        "block (inductor, max-autotune, host)",
        "block.py:14  if h.abs().max() > 1e4:",
        "k0   cpp     add, relu, mul  line 13",
        "fusion        3 → 2 groups, 6.31 MB (estimate)",
        "−40 % vs. unfused scheduler nodes (10.5 MB)",
        "not fused, 1 pair: no shared data",
        "guards        2 kept, 2 dropped",
        "not captured  recompiles: this release",
    ):
        assert part in shown


def test_times_come_on_request(sample_report: Report) -> None:
    assert "3.00 s  C++ build" in text(sample_report, times=True)


def test_a_failure_says_where(sample_report: Report) -> None:
    failed = replace(sample_report, outcome=Outcome(False, "capture", "Unsupported: x\nhint"))
    assert "Failed in capture: Unsupported: x.\nerror\n  Unsupported: x\n  hint" in text(failed)


def test_an_empty_report_has_a_text() -> None:
    assert text(Report()).startswith("compilation (inductor, host)")


def test_print_shows_the_same_in_one_screen(sample_report: Report) -> None:
    shown = str(sample_report)
    assert shown == text(sample_report) == repr(wb.show(sample_report))
    assert shown.splitlines()[-1].startswith("next          report.frame('breaks')")


@pytest.mark.parametrize("many", [1, 9])
def test_it_fits_a_plain_terminal(sample_report: Report, many: int) -> None:
    tables = {
        name: Table.of(type(table[0]), list(table) * many)
        for name, table in sample_report.tables.items()
        if name in ("breaks", "kernels", "capabilities") and len(table)
    }
    error = "\n".join(["Unsupported: a long line " + "x" * 100] * 30)
    report = replace(
        sample_report,
        tables={**sample_report.tables, **tables},
        outcome=Outcome(False, "capture", error),
    )
    lines = text(report).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("next")


def test_the_most_expensive_kernel_comes_first() -> None:
    kernels = [
        Kernel(
            id="k0",
            graph="g",
            name="a",
            language="cpp",
            bytes_read=10,
            bytes_written=10,
            time_us=90.0,
        ),
        Kernel(
            id="k1",
            graph="g",
            name="b",
            language="cpp",
            bytes_read=70,
            bytes_written=10,
            time_us=10.0,
        ),
    ]
    by_time = text(Report(tables={"kernels": Table.of(Kernel, kernels)}))
    assert "kernels       2, by measured time\n  k0" in by_time
    untimed = [replace(kernel, time_us=None) for kernel in kernels]
    by_bytes = text(Report(tables={"kernels": Table.of(Kernel, untimed)}))
    assert "kernels       2, by bytes moved (estimate)\n  k1" in by_bytes
    assert "80 B  80 %" in by_bytes
