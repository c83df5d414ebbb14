"""What torch will record as CUDA graphs, as the view, the page and the text say it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from wire_types import mismatches

from workbench.report import Report, Table
from workbench.report.machine_rows import CudaGraphPart
from workbench.views.document import document
from workbench.views.presenters import VIEWS
from workbench.views.source_marks import find_cuts
from workbench.views.text import text
from workbench.views.wire import report_messages as wire
from workbench.views.words.record_words import summarize_cuda_graphs

FIRST = CudaGraphPart("g2", 0, "recorded", kernels=("k0",), lines=("L:s0:13",), copied_bytes=8192)
CUT = CudaGraphPart("g2", 1, "skipped", "cpu ops; DeviceCopy ops", ("k1",), ("L:s0:14", "L:s0:16"))
WHOLE = "skipping cudagraphs due to cpu device (arg0_1)"


def having(report: Report, *parts: CudaGraphPart) -> Report:
    return replace(report, tables={**report.tables, "cuda_graphs": Table.of(CudaGraphPart, parts)})


def test_a_cut_is_explained_under_its_line_and_in_the_table(sample_report: Report) -> None:
    made = document(having(sample_report, FIRST, CUT, replace(FIRST, part=2)))
    assert mismatches(made, wire.Document) == []
    found = made["cuda_graphs"]
    assert found is not None
    assert found["summary"] == "2 of 3 parts are recorded; skipped, 1 part: cpu ops; DeviceCopy ops"
    assert [(part["id"], part["verdict"]) for part in found["parts"]] == [
        *(("c0", "recorded"), ("c1", "skipped"), ("c2", "recorded"))
    ]
    assert found["parts"][1]["help"] == "Keep the data on the GPU until the end of the call."
    notes = {mark["id"]: mark["notes"] for source in made["sources"] for mark in source["marks"]}
    note = notes["L:s0:14"][-1]
    assert note["title"] == "Not in a CUDA graph: cpu ops; DeviceCopy ops."
    assert note["select"] == "k1"
    assert not any("CUDA graph" in note["title"] for note in notes["L:s0:16"])  # once for each cut


def test_the_overview_leads_to_the_parts(sample_report: Report) -> None:
    (note,) = (
        note
        for note in document(having(sample_report, FIRST, CUT))["notes"]
        if note["title"].startswith("CUDA graphs")
    )
    assert note["title"] == "CUDA graphs: 1 of 2 parts is recorded."
    assert note["text"] == "Skipped, 1 part: cpu ops; DeviceCopy ops."
    assert note["select"] == "c0"


def test_a_whole_program_that_is_skipped_has_no_notes_at_its_lines(sample_report: Report) -> None:
    report = having(sample_report, CudaGraphPart("g2", 0, "skipped", WHOLE, (), ("L:s0:13",)))
    assert find_cuts(report) == {}
    said = "cuda graphs   nothing is recorded\n  skipped, 1 part: cpu device (arg0_1)"
    assert said in text(report)
    shown = VIEWS.fragment(report)
    assert "CUDA graphs: nothing is recorded; skipped, 1 part: cpu device (arg0_1)" in shown
    assert "CUDA graphs need a GPU" in shown


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((FIRST,), "the whole program is recorded"),
        ((FIRST, replace(FIRST, graph="g3")), "both parts are recorded"),
        ((replace(FIRST, verdict="depends", reason="mutated inputs"),), "torch decides"),
        ((), None),
    ],
)
def test_the_headline_counts(
    sample_report: Report, parts: tuple[CudaGraphPart, ...], said: str | None
) -> None:
    found = summarize_cuda_graphs(having(sample_report, *parts))
    assert found is None if said is None else (found or "").startswith(said)


def test_without_cuda_graphs_nothing_is_said(sample_report: Report) -> None:
    assert document(sample_report)["cuda_graphs"] is None
    assert "CUDA graph" not in VIEWS.fragment(sample_report)
    notes = document(sample_report)["notes"]
    *others, note = document(having(sample_report, FIRST))["notes"]
    assert others == notes
    assert note["text"] == "torch records them at the first run."


def test_parts_of_forward_and_backward_are_called_so() -> None:
    """Seen: "i0 0" and "i1 0"."""
    report = Report.load(Path(__file__).parents[2] / "records" / "training.wbr")
    forward, backward = dict.fromkeys(kernel.graph for kernel in report.kernels)
    rows = [CudaGraphPart(forward, 0, "recorded"), CudaGraphPart(backward, 0, "recorded")]
    found = document(having(report, *rows))["cuda_graphs"]
    assert found is not None
    assert [part["name"] for part in found["parts"]] == ["forward", "backward"]
    found = document(having(report, *rows, CudaGraphPart(backward, 1, "recorded")))["cuda_graphs"]
    assert found is not None
    assert [part["name"] for part in found["parts"]] == ["forward", "backward 0", "backward 1"]
