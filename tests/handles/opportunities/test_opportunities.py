"""Opportunities of live code are tried in a copy: compiled, compared, measured."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from opportunity_cases import Copying, Pictures, best, copied, scaled

import workbench as wb
from workbench.analysis.opportunities.operator_rules import rewrite_topk
from workbench.compiler.comparison.judgement import Judge, LeafPair
from workbench.handles.opportunities import opportunity_trial
from workbench.handles.opportunities.opportunities import Opportunities
from workbench.handles.opportunities.opportunity_trial import _verdict
from workbench.handles.repeating.changed_copy import rewrite_callable
from workbench.report.paired import PairedTimes
from workbench.views.answers.alternatives_text import format_saved


@pytest.fixture(scope="module")
def product() -> Any:
    return wb.aot_compile(copied, (torch.randn(96, 64), torch.randn(96, 80)), grad=False)


def test_a_rewrite_is_compiled_in_a_copy_and_compared(product: Any) -> None:
    tried = wb.opportunities(product)[0].try_()
    assert tried.agrees
    assert "rtol" in tried.checked
    assert (tried.before.kernels, tried.after.kernels) == (3, 2)
    assert tried.saved_bytes == tried.opportunity.saved_bytes_high == 2 * 96 * 64 * 4
    assert tried.before.call_us is not None
    assert tried.after.call_us is not None
    assert "2 kernels instead of 3" in repr(tried.diff)
    assert "predicted saves" in repr(tried)
    lines = repr(wb.opportunities(product)).split("\n")
    assert max(map(len, lines[:4])) <= 80
    x, y = torch.randn(96, 64), torch.randn(96, 80)
    torch.testing.assert_close(tried.compiled(x, y), copied(x, y))


def test_a_module_shares_its_weights_with_the_copy_and_stays_as_it_was() -> None:
    module = Copying().eval()
    found = wb.opportunities(wb.aot_compile(module, (torch.randn(4, 96),), grad=False))
    copy = rewrite_callable(module, found[0].opportunity.change)
    assert type(module).forward is Copying.forward
    assert copy.weight is module.weight
    x = torch.randn(4, 96)
    torch.testing.assert_close(copy(x), module(x))
    assert found[0].try_().agrees


class Scaled(Copying):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 2


def test_a_forward_that_is_reached_through_super_is_changed_in_a_copy() -> None:
    module, x = Scaled().eval(), torch.randn(4, 96)
    found = wb.opportunities(wb.aot_compile(module, (x,), grad=False))
    tried = found["copied-matrix"].try_()
    assert tried.agrees
    assert tried.fewer_kernels == 1
    assert type(module).__mro__[1] is Copying
    torch.testing.assert_close(tried.compiled(x), module(x))


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


def calling(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(helper(x) @ y)


def test_a_line_of_a_helper_is_changed_for_the_caller_only() -> None:
    inputs = torch.randn(8, 6), torch.randn(8, 4)
    found = wb.opportunities(wb.aot_compile(calling, inputs, grad=False))
    assert found[0].line == helper.__code__.co_firstlineno + 1
    changed = rewrite_callable(calling, found[0].opportunity.change)
    assert changed.__globals__["helper"] is not helper
    assert changed.__globals__["helper"](inputs[0]).stride() == (1, 6)
    assert helper(inputs[0]).is_contiguous()


def test_a_variable_of_an_enclosing_function_is_still_read() -> None:
    factor = 3.0

    def scaled_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x.t().contiguous() @ y) * factor

    inputs = torch.randn(8, 6), torch.randn(8, 4)
    found = wb.opportunities(wb.aot_compile(scaled_product, inputs, grad=False))
    assert found[0].try_().agrees


def test_what_a_copy_would_leave_out_is_refused_in_a_sentence() -> None:
    product = lambda x, y: torch.relu(x.t().contiguous() @ y)  # noqa: E731
    inputs = torch.randn(8, 6), torch.randn(8, 4)
    found = wb.opportunities(wb.aot_compile(product, inputs, grad=False))
    with pytest.raises(wb.UsageError, match="lambda or has a decorator"):
        found[0].try_()


def test_topk_of_one_is_a_maximum_in_the_same_line() -> None:
    found = wb.opportunities(wb.aot_compile(best, (torch.randn(16, 100),), grad=False))
    assert (
        found[0].after[0].strip() == "values, places = torch.max(torch.relu(x), -1, keepdim=True)"
    )
    tried = found[0].try_()
    assert tried.agrees
    assert tried.saved_bytes == found[0].saved_bytes_high


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("    return x.topk(1)[0]", "    return x.max(-1, keepdim=True)[0]"),
        ("top = torch.topk(x, k=1, dim=0).values", "top = torch.max(x, 0, keepdim=True).values"),
        ("top = x.topk(1, largest=False)", None),
        ("top = x.topk(k)", None),
        ("top = torch.topk(", None),
    ],
)
def test_only_the_largest_one_is_a_maximum(line: str, after: str | None) -> None:
    assert rewrite_topk(line) == after


def test_numbers_that_are_meant_to_change_are_shown_and_not_judged() -> None:
    tried = wb.opportunities(wb.aot_compile(scaled, (torch.randn(8, 64),)))[0].try_()
    assert tried.agrees is None
    assert tried.checked.startswith("The values are meant to change: outputs differ by at most")
    assert tried.saved_bytes == 8 * 64 * 4


@pytest.mark.slow
def test_the_memory_format_of_model_and_input_is_changed_in_copies() -> None:
    module, image = Pictures().eval(), torch.randn(1, 8, 16, 16)
    found = wb.opportunities(wb.aot_compile(module, (image,), grad=False))
    tried = found["channels-last"].try_()
    assert tried.agrees
    assert tried.fewer_kernels > 0
    assert module.first.weight.is_contiguous()
    assert image.is_contiguous()


def test_of_a_record_nothing_can_be_tried(product: Any) -> None:
    (found,) = wb.opportunities(product.report)
    assert "not in this process" in found.why_not
    with pytest.raises(wb.UsageError, match="not in this process"):
        found.try_()
    with pytest.raises(wb.UsageError, match="expected one of copied-matrix"):
        wb.opportunities(product)["shape-padding"]


def test_measured_times_give_the_saving_in_time(product: Any) -> None:
    assert wb.opportunities(product)[0].saved_us_high is None
    measured = wb.profile(product, (torch.randn(96, 64), torch.randn(96, 80)))
    found = wb.opportunities(measured)
    (copy,) = [row for row in measured.kernels if row.kernel in found[0].kernels]
    assert found[0].saved_us_high == pytest.approx(copy.time_us)
    assert found[0].saved_us_low == pytest.approx(copy.least_us / 2)
    assert "measured share of these kernels, from minimum to median" in found[0].source
    assert "the matmul still has to read the matrix" in found[0].source


def test_identical_code_is_said_to_be_identical_and_not_timed(
    product: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opportunity_trial, "measure_in_turn", None)  # would be called
    change = replace(wb.opportunities(product)[0].opportunity, settings=(), before=())
    times = opportunity_trial._measure(product, product, (), None, change)
    assert times.verdict == "identical"
    assert not len(times)


def test_other_inputs_of_the_same_code_are_timed(
    product: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = PairedTimes((2.0,) * 20, (1.0,) * 20)
    monkeypatch.setattr(opportunity_trial, "measure_in_turn", lambda *given: found)
    alike = SimpleNamespace(run=None)
    monkeypatch.setattr(opportunity_trial, "_repeatable", lambda x, inputs: alike)
    change = replace(
        wb.opportunities(product)[0].opportunity, settings=(("dtype", "bfloat16"),), before=()
    )
    given = (torch.randn(96, 64), torch.randn(96, 80)), {}
    call: Any = SimpleNamespace(inputs=given)
    assert opportunity_trial._measure(product, product, given, call, change) is found


def test_a_tried_change_tells_its_pairs_or_why_there_is_no_verdict(product: Any) -> None:
    tried = wb.opportunities(product)[0].try_()
    assert tried.times is not None
    assert tried.times.verdict in ("faster", "slower", "no difference", "too noisy to say")
    assert len(tried.times) > 0
    assert tried.before.call_us == pytest.approx(median(tried.times.before_us))
    assert (tried.saved_us is None) == (tried.times.verdict == "too noisy to say")
    noisy = replace(tried, times=PairedTimes((2.0,) * 20, (1.0,) * 20, 15, is_disturbed=True))
    assert noisy.saved_us is None
    assert format_saved(noisy) == "too noisy to say"
    told = " ".join(repr(noisy).split())
    assert "Too noisy to say: other work disturbed 15 of 20 pairs." in told
    assert "predicted saves" in told


def test_without_any_there_is_one_sentence_and_an_empty_table() -> None:
    found: Opportunities = wb.opportunities(wb.aot_compile(torch.relu, (torch.randn(8),)))
    assert not found
    assert repr(found).startswith("No changes found for relu on host")
    assert len(found.frame()) == 0


def test_what_could_not_be_checked_is_named_and_no_agreement() -> None:
    (row,) = Judge().compare([LeafPair("a", torch.ones(2), torch.ones(2))])
    assert _verdict([row], "both")[0] is True
    unchecked = replace(row, leaf="b", verdict="not checked")
    agrees, words = _verdict([row, unchecked], "both")
    assert agrees is None
    assert "but b could not be checked" in words


def test_numbers_that_change_are_not_compared_for_a_gpu_that_is_not_here() -> None:
    compiled = wb.aot_compile(torch.mm, (torch.ones(1024, 1024),) * 2, target="h100", grad=False)
    tried = wb.opportunities(compiled)["tf32"].try_(interpret=True)
    assert tried.agrees is None
    assert "may alter values" in tried.checked
