"""The bytecode that Dynamo puts in the place of a function."""

import torch

import workbench as wb
from workbench.report import Report


def halved(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y / 2


def doubled(x):
    return {"twice": x.cos() * 2}


def test_a_break_shows_the_call_of_the_function_that_resumes() -> None:
    report = wb.explain(halved, (torch.ones(3),)).report

    first, rest = report.bytecode
    assert first.function == "halved"
    assert first.calls[0].startswith("__compiled_fn_")
    assert first.calls[1].startswith("__resume_at_")
    assert rest.function.startswith("torch_dynamo_resume_in_halved")
    captured = [graph.id for graph in report.graphs if graph.stage == "dynamo"]
    assert [first.graph, rest.graph] == captured


def test_code_compiled_ahead_of_time_has_its_bytecode_as_text() -> None:
    compiled = wb.aot_compile(doubled, (torch.ones(3),), backend="eager")

    (row,) = compiled.report.bytecode
    assert row.function == "doubled"
    assert row.graph == "g0"
    (text,) = compiled.report.frame("bytecode").text
    assert f"{row.calls[0]})" in text
    assert "'twice'" in text
    assert Report.from_bytes(compiled.report.to_bytes()).bytecode == compiled.report.bytecode
