"""A number that several places tell of one record is the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from big_report import big_report

from workbench.analysis.cost.identical_kernels import list_identical_kernels
from workbench.analysis.quantities.quantities import read_quantity
from workbench.number_text import format_seconds
from workbench.report import Report
from workbench.report.measures import count_guards, measure_compile_seconds
from workbench.views.document import document
from workbench.views.pages.report_page import count_guards as count_shown_guards
from workbench.views.words.record_words import count_captured

RECORDS = Path(__file__).parent / "records"
NAMES = ("block", "layers", "norm_h100", "training", "torch_2.12", "torch_2.15", "big")


@pytest.fixture(params=NAMES)
def report(request: pytest.FixtureRequest) -> Report:
    if request.param == "big":
        return big_report(200)
    return Report.load(RECORDS / f"{request.param}.wbr")


def find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None, (pattern, text)
    return found[1]


def test_kernels_are_as_many_in_every_place(report: Report) -> None:
    made = document(report)
    figure = next(each for each in made["figures"] if each["label"] == "Kernels")
    count, different = len(report.kernels), len(list_identical_kernels(report))
    assert int(figure["value"]) == count == len(made["kernels"])
    assert sum(map(int, re.findall(r"(\d+) (?:Triton|C\+\+|library)", figure["note"]))) == count
    assert find(r"(\d+) kernels?,", repr(report)) == str(count)
    said = find(r"^kernels +(.*)$", str(report))
    assert said.split(",")[0] == str(count)
    if different < count:
        assert f"{different} different" in figure["note"]
        assert f"{different} different" in said
    pane = next(each for each in made["panes"] if each["id"] == "kernels")
    assert (pane["count"] or 0) == count


def test_guards_are_as_many_in_every_place(report: Report) -> None:
    counts, made = count_guards(report.guards.columns.get("kept", ())), document(report)
    assert find(r"(\d+) guards?\)", repr(report)) == str(counts.kept + counts.dropped)
    assert find(r"^guards +(.*)$", str(report)) == counts.words
    facts = dict(fact for group in made["artifact"] for fact in group["facts"])
    assert facts["Guards"] == counts.words
    note = next(each["note"] for each in made["figures"] if each["label"] == "Artifact")
    if "kept" in note:
        assert (
            note == f"{counts.kept} guard{'s' * (counts.kept != 1)} kept, {counts.dropped} dropped"
        )
    shown = count_shown_guards(made)
    assert re.findall(r"\d+", shown)[:2] == [str(counts.kept), str(counts.dropped)]


def test_what_was_captured_and_how_long_it_took(report: Report) -> None:
    figures = {each["label"]: each["value"] for each in document(report)["figures"]}
    graphs, ops = count_captured(report)
    assert re.findall(r"\d+", figures["Captured"]) == [str(graphs), str(ops)]
    assert find(r"^captured +(.*)$", str(report)) == f"graphs: {graphs}, ops: {ops}"
    assert read_quantity(report, "graphs").value in (None, graphs)
    took = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    assert figures["Compile time"] == ("–" if took is None else format_seconds(took))
    assert read_quantity(report, "compile_s").value == took


def test_threads_side_by_side_count_once() -> None:
    main, worker_1, worker_2, later = (1.0, 4.0), (2.0, 3.0), (2.0, 2.5), (7.0, 1.0)
    assert measure_compile_seconds([main, worker_1, worker_2, later]) == 5.0
    assert measure_compile_seconds(()) is None


def test_the_chip_and_the_details_name_the_same_work_of_compiling(report: Report) -> None:
    made = document(report)
    note = next(each["note"] for each in made["figures"] if each["label"] == "Compile time")
    chips = [chip for chip in made["answer"]["chips"] if chip["pane"] == "timeline"]
    told = ["".join(piece["text"] for piece in chip["pieces"]) for chip in chips]
    assert all(text.endswith(f", {note}") for text in told)
    assert bool(told) == (note != "not recorded")
