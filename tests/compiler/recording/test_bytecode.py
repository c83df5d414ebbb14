"""The bytecode that Dynamo puts in the place of a function."""

import ast
import re
import sys

import pytest
import torch

import workbench as wb
from workbench.compiler.recording import bytecode
from workbench.report import Report
from workbench.views.document import document
from workbench.views.pages.redaction import redact
from workbench.views.parts.report_parts import Parts

READ = sys.version_info[:2] <= bytecode.NEWEST_READ
by_depyf = pytest.mark.skipif(not READ, reason="depyf does not read bytecode of this Python")


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
    assert re.fullmatch(r"__compiled_fn_\d+", row.calls[0])
    assert row.calls[0] in text
    assert "'twice'" in text
    assert Report.from_bytes(compiled.report.to_bytes()).bytecode == compiled.report.bytecode


def chosen(x):
    kept = []
    if x.sum() > 0:
        kept.append(x * 2)
    return kept


@by_depyf
def test_bytecode_is_written_as_python_source() -> None:
    report = wb.explain(halved, (torch.ones(3),)).report

    first, rest = report.frame("bytecode").source_text
    begin, end = report.bytecode
    assert first.startswith("def halved(x):")
    assert f"return {begin.calls[1]}(" in first
    assert f"graph_out_0 = {end.calls[0]}(y)" in rest
    assert ast.parse(first)
    numbers = {name.id for name in ast.walk(ast.parse(first)) if isinstance(name, ast.Name)}
    assert "__temp_0" in numbers  # each source counts its own
    shown = Parts(report)(f"bytecode:{begin.id}")
    assert (shown["source"], shown["note"]) == (first, None)


def test_the_source_is_written_when_it_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    monkeypatch.setattr(bytecode, "decompiled", lambda code: written.append(code) or ("s", None))
    compiled = wb.aot_compile(doubled, (torch.ones(3),), backend="eager")
    report = compiled.report
    document(report)
    assert report.texts[report.bytecode.columns["text"][0]]
    assert not written

    assert report.frame("bytecode").source_text.tolist() == ["s"]
    assert Report.from_bytes(report.to_bytes()).texts == report.texts
    assert len(written) == 1


@by_depyf
def test_bytecode_that_no_source_is_written_of_says_where_it_stops() -> None:
    report = wb.explain(chosen, (torch.ones(3),)).report

    stopped = [row for row in report.bytecode if row.source_text is None]
    assert stopped
    for row in stopped:
        assert row.why_no_source.startswith("depyf 0.")
        assert row.why_no_source.endswith("cannot decompile this; it stopped at SWAP")
        shown = Parts(report)(f"bytecode:{row.id}")
        assert (shown["source"], shown["note"]) == (None, row.why_no_source)
        assert row.calls[0] in shown["text"]


def test_a_python_that_depyf_does_not_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "NEWEST_READ", (3, 10))
    source, why = bytecode.decompiled(doubled.__code__)
    assert source is None
    assert why.startswith("depyf 0.")
    assert why.endswith(f"does not support bytecode of Python 3.{sys.version_info.minor}")


def test_without_depyf_the_disassembly_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "depyf", None)  # as Python marks what cannot be imported

    report = wb.aot_compile(doubled, (torch.ones(3),), backend="eager").report

    (row,) = report.bytecode
    assert row.text is not None
    assert row.source_text is None
    assert "pip install 'aot-workbench[decompile]'" in row.why_no_source


def test_a_redacted_report_has_neither_text() -> None:
    report = wb.aot_compile(doubled, (torch.ones(3),), backend="eager").report

    changed, _ = redact(report)
    (row,) = changed.bytecode
    assert (row.text, row.source_text) == (None, None)
