"""What a notebook keeps of a view: short, whole, readable without a style sheet."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from sample_report import make

import workbench
from tests.big_report import big_report
from workbench.report import Capability, Outcome, Report
from workbench.report import Table as Rows
from workbench.views.document import document
from workbench.views.kit.blocks import PAGE, SUMMARIES, SUMMARY_BYTES, Table
from workbench.views.parts.fusion_part import build_pairs_part
from workbench.views.presenters import VIEWS
from workbench.views.tables.column import Column

RECORDS = Path(__file__).parents[2] / "records"


def words(html: str) -> str:
    """What is read of a piece of HTML."""
    return unescape(re.sub(r"<[^>]+>", "", html.partition('class="wb-record"')[0]))


@pytest.mark.parametrize("name", ["block.wbr", "v0_1_0/block.wbr", "norm_h100.wbr"])
def test_a_summary_takes_at_most_ten_kilobytes(name: str) -> None:
    report = Report.load(RECORDS / name)
    text = VIEWS.fragment(report)
    assert SUMMARY_BYTES == 10_000
    assert len(text.encode()) <= SUMMARY_BYTES
    shown = words(text)
    answer = document(report)["answer"]
    for pieces in (answer["sentence"], *(chip["pieces"] for chip in answer["chips"])):
        assert "".join(piece["text"] for piece in pieces).strip() in shown
    assert "Not fused with" in shown or not build_pairs_part(report)["rows"]
    assert "data:image/svg+xml;base64," in text


@pytest.mark.parametrize("nodes", [200, 20_000])
def test_it_stays_short_whatever_the_report(nodes: int) -> None:
    report = big_report(nodes)
    text = VIEWS.fragment(report)
    assert len(text.encode()) <= SUMMARY_BYTES
    left = re.search(r"… and (\d+) more: report.frame\('costs'\)", words(text))
    assert left is not None
    assert len(report.kernels) > int(left[1]) > len(report.kernels) - 30


@pytest.mark.parametrize("html", [VIEWS.fragment, VIEWS.page])
def test_breaks_stand_with_reason_and_remedy(html: Callable[[Report], str]) -> None:
    shown = words(html(make()))
    assert "~/models/block.py:14 in block · met 2 times" in shown
    assert "Detected data-dependent branching" in shown
    assert "Use `torch.cond` to express dynamic control flow." in shown
    assert "tensor 'x' size mismatch at index 0" in shown
    assert "2 guards kept, 2 dropped; 2: differs in every process" in shown


@pytest.mark.parametrize("html", [VIEWS.fragment, VIEWS.page])
def test_lines_stand_with_their_kernels_bytes_and_remarks(html: Callable[[Report], str]) -> None:
    shown = words(html(make()))
    assert re.search(r"✓ +13 k0 +182 µs │     h = torch.relu\(x \+ 1\) \* 2", shown)
    assert "↯ Graph break: Data-dependent branching." in shown
    assert "↗ Fallback. aten.topk has no Inductor lowering" in shown
    assert "– Ran while tracing" in shown
    assert "= Constant-folded" not in shown  # the record proves it of no line


@pytest.mark.parametrize("html", [VIEWS.fragment, VIEWS.page])
def test_what_could_not_be_captured_says_why(html: Callable[[Report], str]) -> None:
    absent = Rows.of(Capability, [Capability("kernels", False, "torch lacks the hook")])
    shown = words(html(Report(tables={"capabilities": absent})))
    assert "kernels torch lacks the hook" in shown
    assert "No kernels. Torch lacks the hook." in shown
    failed = replace(Report(), outcome=Outcome(False, "capture", "Unsupported"))
    assert "The compilation failed in capture before this part was reached." in words(html(failed))


def test_rows_that_were_only_counted_are_counted_among_those_left_out() -> None:
    report = make()
    counted = replace(report.tables["kernels"], omitted=7)
    more = replace(report, tables={**report.tables, "kernels": counted})
    assert "… and 7 more: report.frame('costs')" in words(VIEWS.page(more))


def test_a_page_has_what_each_pane_lists() -> None:
    shown = words(VIEWS.page(make()))
    assert re.search(r"k1\s*255\s*128\s*96", shown)  # registers on three GPUs
    assert re.search(r"k1\s*25 %\s*50 %\s*63 %", shown)
    assert "Ranked by a model, not timed" in shown
    assert "spills 12 registers" in shown
    assert re.search(r"k2 mm.*?compute.*?2.17 µs", shown, re.S)
    assert "Roofline time of each kernel (estimate)" in shown
    assert "(vectorised)" not in shown
    assert "<vectorised>" in shown  # the source of a kernel


def test_every_link_of_a_page_leads_to_a_section() -> None:
    linked = set()
    for path in sorted(RECORDS.glob("*.wbr")):
        html = VIEWS.page(Report.load(path)).partition('class="wb-record"')[0]
        sections = re.findall(r'<section id="([^"]+)">', html)
        links = re.findall(r'<a href="#([^"]+)">', html)
        assert links == sections
        linked |= set(links)
    assert {"overview", "memory", "accesses", "absent"} <= linked


def test_a_column_without_a_value_is_left_out_and_prose_has_its_own_line() -> None:
    columns = (
        Column("Kernel", "id", "code"),
        Column("Time", "us", "us"),
        Column("Moved", "bytes", "B"),
        Column("Why", "why", "prose"),
    )
    rows = [{"id": f"k{n}", "bytes": 1000 * n, "why": "It is so."} for n in range(3)]
    made = Table("Kernels", columns, rows, "f()").cut(replace(SUMMARIES[0], rows=2))
    assert made is not None
    assert made.head == "Kernel    Moved"
    assert made.lines == [
        "k0          0 B",
        "    It is so.",
        "k1      1.00 kB",
        "    It is so.",
    ]
    assert made.more == 1
    assert Table("Kernels", columns, []).cut(PAGE) is None


def test_markup_stands_in_templates() -> None:
    package = Path(workbench.__file__).parent
    around = {"static_html/render.py"}  # the element around what is rendered
    found = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"[\"'(]<(div|table|pre|span|details|p|b)[ >]", file.read_text("utf-8"))
    ]
    assert {file.removeprefix("views/") for file in found} == around
