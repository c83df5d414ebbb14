from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Report, Table
from workbench.views.document import document
from workbench.views.pages.redaction import redact
from workbench.views.pages.report_page import build_document
from workbench.views.panes.pane import ViewContext
from workbench.views.presenters import VIEWS
from workbench.views.static_html import render as static
from workbench.views.widgets import display as displays
from workbench.views.wire.codec import pack
from workbench.views.wire.table_messages import INFINITE
from workbench.worlds.numerics.rows import Deviation

RECORDS = Path(__file__).parents[3] / "records"
REPORT = Report.load(RECORDS / "numerics.wbr")


def test_rows_stand_by_their_cause_and_are_linked() -> None:
    shown = document(REPORT)
    assert [row["value"] for row in shown["deviations"]] == [
        "sum_1",
        "amax_default_1",
        "mul_2",
        "amax_default",
        "convert_element_type_1",
    ]
    row = shown["deviations"][2]
    assert (row["id"], row["kernel"], row["line"]) == ("deviation.2", "k0", "L:s0:18")
    assert row["node"] in row["cone"]
    assert set(row["never_rounded"]) < set(row["cone"])
    assert row["write"].splitlines()[2:] == [
        "compiled = wb.aot_compile(chain, args, grad=False)  # x: bfloat16 [64, 256] on cpu, "
        "w: bfloat16 [256] on cpu",
        'wb.numerics(compiled, args).repro("k0", "k0.py", node="mul_2")',
    ]
    assert row["cures"] == [cure["id"] for cure in shown["numerics"]["cures"]] == ["n0", "n1"]
    assert [cure["title"] for cure in shown["numerics"]["cures"]] == [
        "emulate_precision_casts=True",
        "compiled.with_fusion(unfused=['k0'])",
    ]
    assert shown["deviations"][4]["cures"] == []
    assert shown["deviations"][4]["write"] == ""  # a stage of graphs has no kernel to write


def test_what_is_alive_writes_its_kernel_in_one_line_and_one_of_a_gpu_its_nodes() -> None:
    alive = ViewContext("made", is_record=False)
    assert document(REPORT, alive)["deviations"][2]["write"] == (
        'wb.numerics(made).repro("k0", "k0.py", node="mul_2")'
    )
    kernels = REPORT.kernels
    table = replace(kernels, columns={**kernels.columns, "language": ["triton"] * len(kernels)})
    on_gpu = replace(REPORT, tables={**REPORT.tables, "kernels": table})
    assert document(on_gpu, alive)["deviations"][2]["write"] == (
        'wb.numerics(made).subgraph("k0", node="mul_2")'
    )


def test_each_stage_has_a_bar_of_the_value_that_departs_most() -> None:
    found = document(REPORT)["numerics"]
    assert [bar["stage"] for bar in found["stages"]] == ["decompositions", "passes", "kernels"]
    none, _, kernels = found["stages"]
    assert (none["own_off"], none["said"]) == (None, "no difference")
    assert kernels["row"] == found["first"] == "deviation.0"
    assert kernels["said"] == "k0 sum_1 and 3 more"
    assert kernels["words"].startswith(
        "4 values, largest k0 sum_1: error 2.7 eps, eager 170000 eps, noise"
    )
    assert kernels["own_off"] < kernels["eager_off"] < kernels["noise"]


def test_a_distance_without_end_travels_as_json() -> None:
    rows = [replace(row, own_off=math.inf, noise=math.nan) for row in REPORT.numerics]
    tables = {**REPORT.tables, "numerics": Table.of(Deviation, rows)}
    shown = document(replace(REPORT, tables=tables))
    assert pack(shown)
    assert {row["own_off"] for row in shown["deviations"]} == {INFINITE}
    assert {row["noise"] for row in shown["deviations"]} == {None}
    assert "∞" in VIEWS.fragment(replace(REPORT, tables=tables))


def test_what_was_not_compared_says_how_and_an_older_record_opens() -> None:
    shown = document(Report.load(RECORDS / "block.wbr"))
    head = next(pane for pane in shown["panes"] if pane["id"] == "numerics")
    assert head["empty"]["title"] == "Not compared with eager."
    assert "`wb.numerics(compiled, args)`" in head["empty"]["text"]
    assert (shown["numerics"], shown["deviations"]) == (None, [])


def test_the_summary_and_a_page_to_share_have_the_answers() -> None:
    said = REPORT.extra["numerics"]
    for text in (VIEWS.fragment(REPORT), VIEWS.fragment(redact(REPORT)[0])):
        assert "What does that cost?" in text
        assert "Values that differ from eager" in text
    assert said["compared"] > 0


def test_a_saved_output_of_the_numbers_opens_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    monkeypatch.setattr(
        displays, "display_record", lambda found, make, keep: kept.append((make(), keep))
    )
    from workbench.worlds.numerics.findings.numerics_record import read_numerics

    VIEWS.display(read_numerics(REPORT))
    ((view, keep),) = kept
    assert view.pane == "numerics"
    whole = keep(embed="full", carries_bundle=False)
    opened = build_document(REPORT, ViewContext("compiled", pane="numerics"))
    assert whole == static.keep(opened, carries_bundle=False)
    overview = build_document(REPORT, ViewContext("compiled"))
    assert whole != static.keep(overview, carries_bundle=False)
