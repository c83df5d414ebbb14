"""The Checks pane: findings with their lines, or why there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.records.record_checks import PATH
from tests.sample_report import make
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.report.table import Table
from workbench.views.document import document

REPORT = Report.load(Path(__file__).parents[2] / "records" / "checks.wbr")


def test_every_finding_has_its_line_and_its_programs() -> None:
    shown = document(REPORT)
    found = shown["checks"]
    assert found is not None
    assert found["sentence"].startswith("Out of bounds: line 21 writes out[37, 0]")
    (kernel,) = found["kernels"]
    assert (kernel["grid"], kernel["source"], kernel["id"]) == ([37, 1, 1], "s0", None)
    first, second = shown["check_findings"]
    assert (first["id"], first["kind"], first["line"]) == ("h0", "out of bounds", "L:s0:21")
    assert first["programs"] == [36]
    assert (second["kind"], second["tone"], len(second["programs"])) == ("race", "break", 37)
    head = next(pane for pane in shown["panes"] if pane["id"] == "checks")
    assert (head["count"], head["is_problem"], head["empty"]) == (2, True, None)


def test_what_is_not_judged_is_no_finding_of_the_tab() -> None:
    """As seen: 3 on the tab beside "2 findings" in the head, of what triton-viz said besides."""
    first = REPORT.kernel_findings[0]
    more = replace(first, kind="not judged", text="Not judged: triton-viz says otherwise.")
    rows = Table.of(KernelFinding, [*REPORT.kernel_findings, more])
    shown = document(replace(REPORT, tables={**REPORT.tables, "kernel_findings": rows}))
    assert len(shown["check_findings"]) == 3
    head = next(pane for pane in shown["panes"] if pane["id"] == "checks")
    assert (head["count"], head["is_problem"]) == (2, True)


def test_kernels_of_a_program_are_shown_as_they_were_generated() -> None:
    shown = document(Report.load(PATH))
    found, (finding,) = shown["checks"], shown["check_findings"]
    assert [each["source"] for each in found["kernels"]] == [None, None]
    softmax, shift = found["kernels"]
    assert softmax["grid"] == [37, 1, 1]
    assert (shift["name"], shift["grid"]) == ("shift_0", [58, 1, 1])
    assert finding["line"] == f"K:{shift['id']}:{finding['number']}"


def show_case(**fields: Any) -> dict[str, Any]:
    """The document of a report in which one call of a kernel was checked."""
    cases = [CheckedCase("add", "", "not checked", (), 0, **fields)]
    none = Table.of(KernelFinding, [])
    tables = {"checked_cases": Table.of(CheckedCase, cases), "kernel_findings": none}
    return document(replace(REPORT, tables=tables))


def test_what_was_not_judged_is_not_without_a_finding() -> None:
    shown = show_case(not_judged=("kernels of Gluon are not run here",))
    head = next(pane for pane in shown["panes"] if pane["id"] == "checks")
    assert (shown["checks"]["none"], head["count"]) == ("Not judged.", None)
    assert shown["checks"]["calls"] == ["add, as given: not checked"]


def test_many_calls_of_one_verdict_are_one_line() -> None:
    cases = [CheckedCase("add", f"launch {n}", "passed", (3,), 3, seconds=1.0) for n in range(5)]
    cases.append(CheckedCase("add", "launch 6", "failed", (3,), 3, seconds=1.0))
    tables = {**REPORT.tables, "checked_cases": Table.of(CheckedCase, cases)}
    assert document(replace(REPORT, tables=tables))["checks"]["calls"] == [
        "add, launch 6: failed, 3 program instances, 1.00 s on the CPU",
        "add, 5 calls: passed, 15 program instances, 5.00 s on the CPU",
    ]


def test_an_explanation_offers_no_check(sample_report: Report) -> None:
    """As seen: "Run…" beside the pane, and a method that an explanation has not."""
    request = replace(sample_report.request, kind="explanation")
    panes = document(replace(sample_report, request=request))["panes"]
    empty = next(pane["empty"] for pane in panes if pane["id"] == "checks")
    assert "action" not in empty
    assert empty["text"].startswith("wb.explain generates no kernels")


def test_the_line_to_write_is_one_that_the_record_can_run() -> None:
    def find_lines(report: Report) -> dict[str, str]:
        panes = document(report)["panes"]
        found = {pane["id"]: pane["empty"].get("action") for pane in panes if pane["empty"]}
        return {pane: action["line"] for pane, action in found.items() if action}

    host = Report.load(PATH.parent / "convolutions.wbr")
    assert find_lines(host)["checks"] == 'compiled.on("h100").check_kernels(*args)'
    gpu = Report.load(PATH.parent / "norm_h100.wbr")
    assert find_lines(gpu)["checks"] == "compiled.check_kernels(*args)"
    called = replace(next(iter(gpu.kernels)), id="k7", language="extern")
    kernels = Table.of(type(called), [called, *gpu.kernels])
    mixed = replace(gpu, tables={**gpu.tables, "kernels": kernels})
    first = next(each.id for each in gpu.kernels if each.language == "triton")
    assert find_lines(mixed)["accesses"] == f'compiled.kernel("{first}").frame("accesses")'


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (make(), "`compiled.check_kernels(*args)`"),
        (replace(REPORT, tables={}), "`k.check(reference)`"),
        (
            replace(make(), tables={**make().tables, "checked_cases": Table.of(CheckedCase, [])}),
            "launched no Triton kernel",
        ),
    ],
)
def test_without_a_check_it_says_how_to_make_one(report: Report, said: str) -> None:
    head = next(pane for pane in document(report)["panes"] if pane["id"] == "checks")
    assert said in head["empty"]["text"]
