"""What the report in a file adds to what the file itself says."""

from __future__ import annotations

from pathlib import Path

import sample_report

from workbench.artifacts.inspect.file_facts import report_facts
from workbench.report import Report

BLOCK = Path(__file__).parents[2] / "records" / "block.wbr"


def test_guards_and_the_sources_of_kernels_come_from_the_report() -> None:
    report = sample_report.make()
    facts = report_facts("model", report.to_bytes())
    assert [(row.kind, row.name, row.kept) for row in facts.guards] == [
        (row.kind, row.source, row.kept) for row in report.guards
    ]
    titles = {text.name: text for text in facts.texts}
    kernel = next(kernel for kernel in report.kernels if kernel.text)
    assert titles[kernel.name].text == str(report.texts[kernel.text])
    assert titles[kernel.name].language == kernel.language
    assert titles["wrapper w0"].language == "python"
    assert facts.notes == ()


def test_outputs_are_what_the_traced_graph_returns() -> None:
    facts = report_facts("model", BLOCK.read_bytes())
    (end,) = [
        node for node in Report.load(BLOCK).nodes if node.op == "output" and node.graph == "g0"
    ]
    assert [row.name for row in facts.values] == [f"output {n}" for n in range(len(end.inputs))]
    assert {(row.model, row.direction, row.kind) for row in facts.values} == {
        ("model", "output", "Tensor")
    }


def test_a_file_without_a_report_and_a_damaged_one_are_notes() -> None:
    assert report_facts("model", None).notes == ["the file holds no report"]
    (note,) = report_facts("model", sample_report.make().to_bytes()[:-9]).notes
    assert note.startswith("the report of model cannot be read: ")
