from __future__ import annotations

import re
from dataclasses import replace

from workbench.report import Outcome, Report
from workbench.views.text import text


def test_the_summary_has_neither_times_nor_addresses(sample_report: Report) -> None:
    shown = text(sample_report)
    assert not re.search(r"\d (s|ms|µs)\b|0x[0-9a-f]{6}", shown)
    assert shown == text(Report.from_json(sample_report.to_json()))


def test_every_section_is_there(sample_report: Report) -> None:
    shown = text(sample_report)
    for part in (
        "block (inductor, max-autotune, host)",
        "block.py:14  if h.abs().max() > 1e4:",
        "k0   cpp     add, relu, mul  line 13",
        "fusion        3 → 2 groups, 10.5 MB → 6.31 MB (−40 %, estimate)",
        "not fused, 1 pair: no shared data",
        "guards        2 kept, 2 dropped",
        "not captured  recompiles: this release",
    ):
        assert part in shown


def test_times_come_on_request(sample_report: Report) -> None:
    assert "3.00 s  C++ build" in text(sample_report, times=True)


def test_a_failure_says_where(sample_report: Report) -> None:
    failed = replace(sample_report, outcome=Outcome(False, "capture", "Unsupported: x\nhint"))
    assert "failed in capture\n  Unsupported: x\n  hint" in text(failed)


def test_an_empty_report_has_a_text() -> None:
    assert text(Report()).startswith("compilation (inductor, host)")
