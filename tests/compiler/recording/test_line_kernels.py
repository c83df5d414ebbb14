"""Every line leads to the kernels that it ends in, and no other, forward and backward."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch

import workbench as wb
from tests.compiler.recording import labelled
from tests.older_releases import since
from workbench.report import Report

QUICK = (labelled.loop, labelled.other_file, labelled.Method, labelled.training_step)
OTHERS = (
    *(labelled.comprehension, labelled.decorated, labelled.two_calls, labelled.with_lambda),
    *(labelled.nested, labelled.conditional),
)
FUNCTIONS = [*QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)]
LABEL = re.compile(r"# (k\d+(?: k\d+)*)")


@cache
def compiled(function: Any) -> Report:
    x = torch.rand(8, 8, requires_grad=True)
    w = torch.rand(8, 8, requires_grad=True)
    target = function() if isinstance(function, type) else function
    return wb.aot_compile(target, (x, w)).report


def lines(report: Report) -> Iterator[tuple[str, str]]:
    """The ids of the source lines, with their texts."""
    for source in report.sources:
        assert source.text is not None
        for number, text in enumerate(report.texts[source.text].split("\n"), source.first_line):
            yield f"L:{source.id}:{number}", text


@since("2.12", "other kernels than those paired by hand")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_pair_of_line_and_kernel(function: Any) -> None:
    report = compiled(function)
    assert {kernel.is_backward for kernel in report.kernels} == {False, True}
    expected, found = {}, {}
    for id, text in lines(report):
        label = LABEL.search(text)
        expected[text] = set(label[1].split()) if label else set()
        found[text] = {other for other in report.linked(id) if other.startswith("k")}
    assert found == expected
    assert set().union(*found.values()) == {kernel.id for kernel in report.kernels}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_and_back_from_the_kernel(function: Any) -> None:
    report = compiled(function)
    pairs = {(id, k) for id, _ in lines(report) for k in report.linked(id) if k.startswith("k")}
    back = {
        (line, kernel.id)
        for kernel in report.kernels
        for line in report.linked(kernel.id)
        if line.startswith("L:")
    }
    assert back == pairs


def test_two_calls_of_one_helper_are_told_apart() -> None:
    report = compiled(labelled.two_calls)
    id_of = {text.split("#")[0].strip(): id for id, text in lines(report)}
    helper = id_of["return x.sin() * 2"]
    first, second = id_of["a = helper(x)"], id_of["return helper(b)"]
    last = next(graph.id for graph in report.graphs if graph.stage == "after_post_grad")
    sites = {node.name: node.called_from for node in report.nodes if node.graph == last}
    assert sites["sin"] == sites["mul"] == (first,)
    assert sites["sin_1"] == sites["mul_1"] == (second,)
    assert sites["mm"] == ()
    calls = {(link.a, link.b) for link in report.links if link.relation == "line-line"}
    assert calls == {(helper, first), (helper, second)}


def test_a_call_has_the_traffic_of_what_it_calls() -> None:
    from workbench.analysis.cost.costs import list_costs
    from workbench.analysis.cost.line_shares import LineShares

    report = compiled(labelled.nested)
    id_of = {text.split("#")[0].strip(): id for id, text in lines(report)}
    (moved,) = list_costs(report)
    lines_of = LineShares.of(report).spread(moved.by_kernel)
    inside = [lines_of[id_of[text]] for text in ("u = t.exp()", "return u + x")]
    assert lines_of[id_of["y = inside(x)"]] == pytest.approx(sum(inside))


def test_a_bare_sequential_has_no_lines_and_says_so() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    report = wb.aot_compile(module, (torch.rand(2, 4),)).report
    assert not any(kernel.lines for kernel in report.kernels)
    assert "module path" in (report.why_missing("source lines") or "")
    assert {node.module_path for node in report.nodes if node.op == "call_function"} == {"0", "1"}
    assert compiled(labelled.nested).why_missing("source lines") is None
