from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.analysis.collectives.test_streams import record as record_program
from workbench.analysis.calls.call_tree import CostRow
from workbench.analysis.opportunities.rules import opportunities
from workbench.number_text import format_us
from workbench.report import Break, Graph, Kernel, Outcome, Report, Request, Source, Table
from workbench.report.paired import PairedTimes
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.views.document import document
from workbench.views.overview.answer import answer, answer_text, list_whereabouts
from workbench.views.presenters import VIEWS
from workbench.views.text import text

RECORDS = Path(__file__).parents[2] / "records"
BLOCK, LAYERS, NORM = (
    Report.load(RECORDS / f"{name}.wbr") for name in ("block", "layers", "norm_h100")
)


def timed(report: Report, call: MeasuredCall) -> Report:
    """The report with 10 µs for each kernel, and a measured call."""
    rows = [replace(kernel, time_us=10.0) for kernel in report.kernels]
    tables = {**report.tables, "kernels": Table.of(Kernel, rows)}
    return add_measured_call(replace(report, tables=tables), call)


def chips(report: Report) -> dict[str, str]:
    """By pane the words of the chip that leads to it."""
    found = answer(report)["chips"]
    return {chip["pane"]: "".join(piece["text"] for piece in chip["pieces"]) for chip in found}


def test_without_times_it_is_the_bytes_and_the_line_that_moves_most() -> None:
    said = answer_text(BLOCK)
    assert said.startswith("26.0 MB moved by 16 kernels (estimate); nothing was timed. ")
    assert "About 41 % of it is line 30, x + self.down(" in said
    link = next(piece for piece in answer(BLOCK)["sentence"] if piece["select"])
    assert (link["text"], link["select"]) == ("line 30", "L:s0:30")


def test_figures_of_a_training_step_say_that_the_backward_is_in_them() -> None:
    """As seen: without `grad=` nothing told whether they were of the forward alone."""
    assert "backward" not in answer_text(BLOCK)
    assert "moved by 42 kernels, forward and backward (estimate)" in answer_text(LAYERS)
    call = MeasuredCall(1000.0, 0.0, None, 50)
    assert " a call, forward and backward" in answer_text(timed(LAYERS, call))


def test_without_a_line_of_the_user_it_is_the_module_that_has_most() -> None:
    own = replace(LAYERS, tables={**LAYERS.tables, "sources": Table.of(Source, ())})
    assert "of it is layers.0–3. " in answer_text(own)
    shown = document(own)
    assert [row["kind"] for row in shown["calls"]] == ["rest"]
    assert len(shown["modules"]) > 3
    assert next(head for head in shown["panes"] if head["id"] == "overview")["empty"] is None


def test_a_line_that_calls_leads_to_the_line_that_has_most_of_it() -> None:
    said = answer_text(LAYERS)
    assert "About 90 % of it is line 44, layer(x), most of that line 28 of forward. " in said


def test_a_function_of_one_line_is_gone_into() -> None:
    """Seen of a module that returns the loss of another: no line was named, all of it was one."""

    def row(kind: str, id: str, name: str, bytes: float, *parts: CostRow) -> CostRow:
        return CostRow(kind, id, name, {"bytes": bytes}, {}, parts)  # type: ignore[arg-type]

    inner = (row("line", "L:s0:28", "", 80.0), row("line", "L:s0:30", "", 20.0))
    called = row("function", "s0", "forward", 100.0, *inner)
    outer = row("function", "s0", "Loss.forward", 100.0, row("line", "L:s0:44", "", 100.0, called))
    said = "".join(p["text"] for p in list_whereabouts(LAYERS, [outer], "bytes", 100.0, "it"))
    assert said.startswith("About 80 % of it is line 28, ")


def test_a_module_that_only_has_a_number_is_not_named() -> None:
    """As seen of a Sequential of blocks: "most of that 0–2"."""

    def said(name: str) -> str:
        conv = CostRow("module", f"M:{name}", name, {"bytes": 90.0}, {})
        line = CostRow("line", "L:s0:28", "", {"bytes": 100.0}, {}, (conv,))
        other = CostRow("line", "L:s0:30", "", {"bytes": 5.0}, {})
        row = CostRow("function", "s0", "forward", {"bytes": 105.0}, {}, (line, other))
        found = list_whereabouts(LAYERS, [row], "bytes", 105.0, "it")
        return "".join(piece["text"] for piece in found)

    assert "most of that conv. " in said("conv")
    assert "most of that" not in said("0–2")


def test_a_gpu_without_a_measurement_says_its_modelled_time_its_bound_and_launches() -> None:
    said = answer_text(NORM)
    told = wb.forecast(NORM)
    between = f"{format_us(told.least_us)} to {format_us(told.most_us)}"
    bound = "≥ 407 ns of work, 14.8 µs of launches. "
    assert said.startswith(f"{format_us(told.call_us)} a call, modelled ({between}); {bound}")
    other = replace(NORM, request=replace(NORM.request, target="a100"))
    assert "a call, modelled (error not measured); ≥ 407 ns" in answer_text(other)
    unknown = [replace(each, ops=("mine.op.default",), language="extern") for each in NORM.kernels]
    other = replace(NORM, tables={**NORM.tables, "kernels": Table.of(Kernel, unknown)})
    plain = "≥ 407 ns of work, 16.0 µs of launches (model): 2 kernels. "
    assert answer_text(other).startswith(plain)
    assert "About 81 % of the work is line 5" in said


def test_a_measured_call_comes_first_and_lines_are_parts_of_it() -> None:
    said = answer_text(timed(NORM, MeasuredCall(40.0, 1.0, None, repeats=50)))
    assert said.startswith("40.0 µs a call. ")
    assert " of it is line 5, " in said  # 20 of 40 µs are in kernels
    assert answer(timed(NORM, MeasuredCall(40.0, 1.5, None, 50)))["source"] == (
        "median of 50 calls, interquartile range 1.50 µs"
    )


def test_a_noisy_call_is_no_more_than_about() -> None:
    noise = ("noisy: the kernels' medians add up to more than the whole call",)
    said = answer_text(timed(NORM, MeasuredCall(10.0, 9.0, None, 50, noise)))
    assert said.startswith("About 10.0 µs a call; the measurement is noisy. ")
    assert " of it is" not in said
    assert "of the kernels' 20.0 µs is line 5" in said


def test_breaks_come_before_the_cost(sample_report: Report) -> None:
    said = answer_text(sample_report)
    assert said.startswith("1 graph break: line 14, if h.abs().max() > 1e4. 182 µs in 1 of 3")
    first = next(iter(sample_report.breaks))
    two = [replace(first, line=16, id="b1", count=1), first]
    tables = {**sample_report.tables, "breaks": Table.of(Break, two)}
    said = answer_text(replace(sample_report, tables=tables))
    assert said.startswith("2 graph breaks, above all line 14, ")


def test_pieces_of_a_call_and_the_graphs_of_all_its_variants_are_told_apart(
    sample_report: Report,
) -> None:
    ids = ("0/0", "1/0", "0/1", "1/1")
    graphs = [Graph(f"g{n}", "dynamo", id, 1, None) for n, id in enumerate(ids)]
    first = replace(next(iter(sample_report.breaks)), hints=())
    tables = {"breaks": Table.of(Break, [first]), "graphs": Table.of(Graph, graphs)}
    said = answer_text(replace(sample_report, tables={**sample_report.tables, **tables}))
    assert said.startswith(
        "1 graph break splits the call into 2 pieces, compiled as 4 graphs: line"
    )
    tables["graphs"] = Table.of(Graph, graphs[:2])
    said = answer_text(replace(sample_report, tables={**sample_report.tables, **tables}))
    assert said.startswith("1 graph break splits the call into 2 graphs: line")


def test_a_failure_says_where_and_why(sample_report: Report) -> None:
    failed = replace(sample_report, outcome=Outcome(False, "capture", "Unsupported: x\nhint"))
    assert answer_text(failed) == "Failed in capture: Unsupported: x."
    assert answer_text(Report(outcome=Outcome(False, None, None))) == "Failed."


def branch(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x
    return x + 1


def decide(x: torch.Tensor) -> torch.Tensor:
    count = x.sum().int().item()
    if count > 3:
        return x
    return x + 1


LAYER = torch.nn.Linear(3, 3)
OPTIMIZER = torch.optim.SGD(LAYER.parameters(), 0.1)


def step(x: torch.Tensor) -> torch.Tensor:
    OPTIMIZER.zero_grad()
    loss = LAYER(x).sum()
    loss.backward()
    OPTIMIZER.step()
    return loss


_DEPENDS = "which branch runs depends on the values of a tensor. "
_LOSS = (
    "the compiled function includes the optimizer or the backward pass. Compile the function that "
    "returns the loss, and call zero_grad(), backward() and step() outside it. "
)


@pytest.mark.parametrize(
    ("fn", "line", "text", "then"),
    [
        (branch, 1, "if x.sum() > 0", _DEPENDS),
        (decide, 2, "if count > 3", _DEPENDS),
        (step, 1, "OPTIMIZER.zero_grad()", _LOSS),
    ],
)
def test_what_stopped_the_capture_is_said_in_the_words_of_the_program(
    fn: Callable[[torch.Tensor], torch.Tensor], line: int, text: str, then: str
) -> None:
    """As seen: "Consider annotating your code using torch._check*()" as the headline."""
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(fn, (torch.randn(2, 3),))
    assert isinstance(caught.value.report, Report)
    said = answer_text(caught.value.report)
    number = fn.__code__.co_firstlineno + line
    assert said.startswith(f"Failed at line {number}, {text}: {then}")
    assert said.index("Torch's words: ") > said.index(then)
    if fn is step:
        assert "Compile the function that returns the loss." in str(caught.value)
        assert "Avoid calling" not in str(caught.value)


def test_a_trace_log_says_that_it_only_tells() -> None:
    log = replace(BLOCK, request=replace(BLOCK.request, kind="trace"))
    said = answer_text(log)
    assert said.startswith("A trace log of 1 graph, ")
    assert "the log has no run times. 26.0 MB moved by" in said


def test_without_any_cost_it_says_what_is_there_and_why_there_is_no_more(
    sample_report: Report,
) -> None:
    kept = {n: t for n, t in sample_report.tables.items() if n in ("graphs", "nodes", "sources")}
    kept["capabilities"] = sample_report.tables["capabilities"]
    said = answer_text(replace(sample_report, tables=kept))
    assert said.startswith("1 graph, 5 ops captured without graph breaks; no code was generated. ")
    assert said.endswith("No recompiles: this release of torch does not report them.")
    assert answer_text(Report(request=Request())) == "Nothing was captured. "


def test_three_chips_lead_to_what_else_is_remarkable(sample_report: Report) -> None:
    found = chips(BLOCK)
    assert list(found) == ["breaks", "memory", "timeline"]
    assert found["breaks"] == "No graph breaks"
    assert found["memory"] == "Peak 7.08 MB"
    assert chips(sample_report)["breaks"] == "1 graph break"
    assert chips(sample_report)["timeline"] == "Compiled in 4.42 s, 3.00 s of it C++ build"


@pytest.mark.parametrize("report", [BLOCK, LAYERS, NORM])
def test_text_and_static_html_say_the_same_sentence(report: Report) -> None:
    said = " ".join(answer_text(report).split())
    assert said in " ".join(text(report).split())
    first = answer(report)["sentence"][0]["text"]
    assert first in (VIEWS.fragment(report) or "")


def test_what_was_tried_is_no_prediction_any_more() -> None:
    report = Report.load(Path(__file__).parents[3] / "assets" / "scores_h100.wbr")
    said = answer_text(report)
    assert "One change would save at most " in said
    assert re.search(r"One change would save at most \d+ %\.$", said)
    predicted = answer(report)["sentence"]
    left = answer(report, dict.fromkeys(change.key for change in opportunities(report)))["sentence"]
    assert left == predicted[: len(left)]
    assert "change" not in "".join(piece["text"] for piece in left)


def test_what_was_tried_and_is_faster_stands_in_the_sentence_as_measured() -> None:
    report = Report.load(Path(__file__).parents[3] / "assets" / "scores_h100.wbr")
    keys = [change.key for change in opportunities(report)]
    before, after = [1000.0 + n % 3 for n in range(40)], [900.0 + n % 3 for n in range(40)]
    pairs = PairedTimes(tuple(before), tuple(after))
    assert pairs.verdict == "faster"
    said = "".join(
        piece["text"] for piece in answer(report, dict.fromkeys(keys, pairs))["sentence"]
    )
    assert "A tried change saves 100 µs (measured). " in said
    noise = PairedTimes(tuple(before), tuple(reversed(before)))
    quiet = answer(report, dict.fromkeys(keys, noise))["sentence"]
    assert "tried" not in "".join(piece["text"] for piece in quiet)


def test_where_all_lines_share_one_kernel_evenly_none_is_named() -> None:
    cost = {"bound": 3.0}
    lines = tuple(CostRow("line", f"L:s0:{n}", f"line {n}", cost, cost) for n in (30, 31, 32))
    row = CostRow("function", "s0", "scale_rows", {"bound": 9.0}, {"bound": 9.0}, lines)
    assert list(list_whereabouts(BLOCK, [row], "bound", 9.0, "it")) == []


def test_savings_are_a_share_of_the_call_with_its_collectives() -> None:
    """Two options for the same 372 µs are not added up, and their kernels hide 200 µs at most."""
    made = record_program("k", ">", "<", "k", ">", "<")
    made = replace(made, environment=replace(made.environment, torch="2.13.0"))
    said = answer_text(made)
    assert "Excludes 2 collectives; with them 572 µs, 372 µs of it exposed (modelled)." in said
    assert said.endswith("One change would save at most 45 % of 572 µs with collectives (model).")
