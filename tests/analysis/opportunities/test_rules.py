"""Each rule on a real compilation where doing what it says helps, and on one where it is silent."""

from __future__ import annotations

import inspect
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from opportunity_cases import (
    CASES,
    GPU,
    HOST,
    ROWS,
    Case,
    Pictures,
    activated,
    attended,
    attended_by_library,
    averaged,
    columns,
    copied,
    found_in,
    lists,
    run,
    scaled,
    turned,
)

import workbench as wb
from tests.older_releases import since
from workbench.analysis.gpu_model.launches import LaunchCosts
from workbench.analysis.opportunities.opportunity import SURE, read_cost
from workbench.analysis.opportunities.rules import RULES, opportunities
from workbench.report import Kernel, Report, Table
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.report.rows import Recompile

OLD = MeasuredCall(1000.0, 0.0, None, 50)
"""As an earlier version kept it: without the least times."""
COPY_US = LaunchCosts().library_us + LaunchCosts().shortest_us
"""One launch copies the inputs of a CUDA graph."""
TRACES = Path(__file__).parents[2] / "records" / "traces"
QUICK = ("copy before a product", "topk of one", "attention", "bfloat16, H100")
SOME = [
    pytest.param(case, marks=[] if case.name in QUICK else pytest.mark.slow, id=case.name)
    for case in CASES
    if case.compile is HOST or case.name in ("epilogue, H100", "TF32, H100", "bfloat16, H100")
]


@pytest.mark.parametrize("case", SOME)
def test_doing_what_a_rule_says_saves_what_it_says(case: Case) -> None:
    done = run(case)
    low, high = done.predicted
    assert 0 < done.measured <= 2 * high
    assert done.measured >= max(low, high / 2) * 0.99
    assert done.agrees is not False
    assert done.opportunity.sure in SURE
    assert done.opportunity.source
    assert done.opportunity.text.endswith(".")


def rules_of(found: Any) -> list[str]:
    return [each.rule for each in found]


def test_a_copy_that_is_the_result_is_left_alone() -> None:
    def turned(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous()

    assert rules_of(found_in(turned, (torch.randn(64, 32),))) == []


def test_images_that_are_in_channels_last_already_are_left_alone() -> None:
    there = Pictures().eval().to(memory_format=torch.channels_last)
    image = torch.randn(2, 8, 16, 16).to(memory_format=torch.channels_last)
    assert rules_of(found_in(there, (image,))) == []


def test_topk_of_three_is_left_alone() -> None:
    def three(x: torch.Tensor) -> torch.Tensor:
        return torch.topk(torch.relu(x), 3, -1)[0] * 2

    assert rules_of(found_in(three, (torch.randn(16, 100),))) == []


def test_attention_by_the_library_and_softmax_alone_are_left_alone() -> None:
    inputs = tuple(torch.randn(2, 32, 16) for _ in range(3))
    assert rules_of(found_in(attended_by_library, inputs)) == []
    assert rules_of(found_in(columns, (torch.randn(64, 16),))) == []


def attended_in_steps(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.T / 8
    kept = torch.ones(1200, 1200, dtype=torch.bool, device=q.device).tril()
    scores = scores.masked_fill(~kept, float("-inf"))
    return scores.softmax(-1) @ v


def test_attention_of_one_head_in_several_lines_is_tried_as_it_is_written() -> None:
    found = found_in(attended_in_steps, tuple(torch.randn(1200, 64) for _ in range(3)))
    tried = found["attention-by-hand"].try_()
    assert tried.agrees
    assert tried.saved_bytes is not None
    assert tried.saved_bytes > 0
    assert "scaled_dot_product_attention" in found["attention-by-hand"].after[0]


def scaled_by_a_tensor(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    scores = q @ k.mT * scale.exp()
    return scores.softmax(-1) @ v


def over_queries(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.mT, -2) @ v


def with_a_cap(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.tanh(q @ k.mT / 10) * 10, -1) @ v


def with_dropout(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.dropout(torch.softmax(q @ k.mT / 8, -1), 0.1, True) @ v


def heads() -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(2, 4, 512, 16) for _ in range(3))


def test_the_factor_of_the_library_is_a_number() -> None:
    inputs = *heads(), torch.zeros(4, 1, 1)
    found = found_in(scaled_by_a_tensor, inputs)["attention-by-hand"].opportunity
    assert found.before == ()
    assert "(q * scale, k, v, scale=1.0)" in found.after[0]


@pytest.mark.parametrize("function", [over_queries, with_a_cap])
def test_what_the_library_does_not_compute_is_left_alone(function: Any) -> None:
    assert "attention-by-hand" not in rules_of(found_in(function, heads()))


def test_dropout_between_the_products_is_a_part_of_the_call() -> None:
    (after,) = found_in(with_dropout, heads())["attention-by-hand"].opportunity.after
    assert "dropout_p=p" in after


def added_up(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dtype=torch.float64)


def test_a_sum_that_is_asked_for_in_float64_is_left_alone() -> None:
    assert "float64-creeps-in" not in rules_of(found_in(added_up, (torch.randn(512, 512),)))


def test_scores_that_a_cache_holds_are_left_alone_on_a_cpu() -> None:
    inputs = tuple(torch.randn(8, 128, 64) for _ in range(3))
    assert rules_of(found_in(attended, inputs)) == []


@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
def test_large_complex_numbers_are_left_alone_on_a_cpu() -> None:
    inputs = torch.randn(32, 128, 64), torch.randn(128, 32), torch.randn(128, 32)
    assert rules_of(found_in(turned, inputs)) == []


def test_float64_that_comes_in_is_left_alone() -> None:
    assert rules_of(found_in(scaled, (torch.randn(8, 16, dtype=torch.float64),))) == []


def doubled(x: torch.Tensor) -> torch.Tensor:
    steps = torch.arange(x.shape[-1], dtype=torch.float64, device=x.device)
    wide = torch.relu(x * steps)
    return torch.sin(wide.to(torch.float64) + x.double()) @ wide.T


def test_a_change_of_one_line_is_not_offered_where_others_ask_for_float64_too() -> None:
    found = found_in(doubled, (torch.randn(32, 32),))["float64-creeps-in"]
    first = doubled.__code__.co_firstlineno + 1
    assert found.before == ()
    assert f"Use float32 in lines {first}, {first + 2}." in found.text
    assert "up to half the time of" in found.text


def test_float64_on_a_gpu_is_said_in_time() -> None:
    found = found_in(scaled, (torch.randn(64, 128),), target="h100")["float64-creeps-in"]
    assert found.saved_us_high
    assert " µs" in repr(found).split("\n")[0] or " ns" in repr(found).split("\n")[0]


def test_a_rule_names_the_line_and_shows_the_change() -> None:
    found = found_in(copied, (torch.randn(64, 32), torch.randn(64, 48)))
    (line,) = found[0].before
    assert found[0].file.endswith("opportunity_cases.py")
    assert line.strip() == "return torch.relu(x.t().contiguous() @ y) + 1"
    assert found[0].after == (line.replace(".contiguous()", ""),)
    assert found[0].kernels == ("k0",)


@pytest.fixture(scope="module")
def many_updates() -> Report:
    inputs = lists(12)()
    return wb.aot_compile(averaged, inputs, **GPU).report


@pytest.mark.slow
def test_small_independent_kernels_are_joined_or_recorded(many_updates: Report) -> None:
    found = {each.rule: each for each in opportunities(many_updates)}
    assert set(found) == {"independent-kernels", "cuda-graphs"}
    joined = wb.aot_compile(averaged, lists(12)(), **GPU, options={"combo_kernels": True})
    fewer = found["independent-kernels"].fewer_kernels
    assert len(many_updates.kernels) - len(joined.report.kernels) == fewer
    assert rules_of(opportunities(joined.report)) == []  # two kernels are few


def test_what_cuda_graphs_are_advised_for_can_be_recorded(many_updates: Report) -> None:
    advised = next(each for each in opportunities(many_updates) if each.rule == "cuda-graphs")
    assert advised.sure == "measured elsewhere"
    recorded = wb.aot_compile(averaged, lists(12)(), **GPU, **dict(advised.settings)).report
    assert [part.verdict for part in recorded.cuda_graphs] == ["recorded"]
    assert "cuda-graphs" not in rules_of(opportunities(recorded))


def small_model(x: torch.Tensor, w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w) @ v


SMALL = (torch.randn(8, 64), torch.randn(64, 128), torch.randn(128, 64))


@pytest.mark.parametrize("sizes", [None, {**ROWS, "w": {}, "v": {}}])
def test_three_kernels_bound_by_launches_are_recorded_whatever_the_sizes(sizes: Any) -> None:
    """As seen: "none of 23 rules applies" where launches take twenty times the work."""
    small = wb.aot_compile(small_model, SMALL, **GPU, dynamic_shapes=sizes).report
    (found,) = [each for each in opportunities(small) if each.rule == "cuda-graphs"]
    assert "launches take 22.8 µs, kernels " in found.text
    assert ("one graph for each set of sizes" in found.text) == (sizes is not None)


def test_what_is_too_small_to_propose_is_said() -> None:
    one = wb.aot_compile(torch.relu, (torch.randn(1024),), **GPU)
    assert rules_of(wb.opportunities(one)) == []
    said = str(wb.opportunities(one))
    assert "A CUDA graph would save nothing, because it first copies the inputs" in said
    assert "rules applies" not in said


def test_a_slow_host_gains_what_its_measured_call_leaves_to_the_gpu(many_updates: Report) -> None:
    """An H100's host took 16 to 22 µs a launch, three times what the model takes it for."""
    advised = next(each for each in opportunities(many_updates) if each.rule == "cuda-graphs")
    assert "several times higher" in advised.source
    profiled = add_measured_call(many_updates, OLD)  # of 1 ms
    then = next(each for each in opportunities(profiled) if each.rule == "cuda-graphs")
    graph_us = wb.forecast(many_updates).graph_us + COPY_US
    assert "Kernels modelled, ± " in advised.source
    assert (then.saved_us_low, then.saved_us_high) == (0.0, pytest.approx(1000 - graph_us))
    assert then.source.startswith("measured: at most the time of the call")
    noisy = add_measured_call(many_updates, replace(OLD, notes=("noisy: other programs",)))
    unsure = next(each for each in opportunities(noisy) if each.rule == "cuda-graphs")
    assert unsure.saved_us_high == advised.saved_us_high


@pytest.mark.slow
@since("2.13", "sizes that vary cost no kernel")
def test_sizes_that_vary_cost_kernels_on_a_gpu() -> None:
    x = (torch.randn(1000, 256),)
    flexible = wb.aot_compile(columns, x, **GPU, dynamic_shapes=ROWS)
    (found,) = [each for each in wb.opportunities(flexible) if each.rule == "fixed-sizes"]
    assert found.saved_bytes_high == pytest.approx(1000 * 256 * 4, rel=0.01)
    tried = found.try_()
    assert tried.fewer_kernels == 2
    assert tried.saved_bytes is not None
    assert tried.saved_bytes > 900_000
    assert rules_of(wb.opportunities(tried.compiled)) == ["cuda-graphs"]  # it is small


def test_a_gpu_with_one_large_kernel_of_narrow_numbers_has_nothing_to_change() -> None:
    large = torch.empty(4096, 4096, dtype=torch.bfloat16, device="meta")
    assert rules_of(found_in(torch.relu, (large,), **GPU)) == []


@pytest.mark.slow
def test_products_that_memory_bounds_or_that_were_tuned_are_left_alone() -> None:
    def reduced(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w).softmax(-1).sum(0)

    thin = tuple(torch.empty(s, dtype=torch.bfloat16, device="meta") for s in ((64, 64), (64, 64)))
    assert "product-epilogue" not in rules_of(found_in(reduced, thin, **GPU))
    inputs = torch.empty(2048, 1024, device="meta"), torch.empty(1024, 2048, device="meta")
    tuned = rules_of(found_in(activated, inputs, **GPU, mode="max-autotune"))
    assert "product-epilogue" not in tuned


def multiplied(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w)


def padded_by_hand(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(x, (0, 1)) @ w


def narrow(*shapes: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in shapes)


@pytest.mark.slow
def test_sizes_that_matrix_units_take_save_the_copies_that_pad() -> None:
    odd = wb.aot_compile(multiplied, narrow((4096, 4095), (4095, 4096)), **GPU).report
    even = wb.aot_compile(multiplied, narrow((4096, 4096), (4096, 4096)), **GPU).report
    (found,) = opportunities(odd)
    assert (found.rule, found.kind, found.fewer_kernels) == ("padded-matrix", "padding", 2)
    saved = read_cost(odd).bytes - read_cost(even).bytes
    assert found.saved_bytes_high == pytest.approx(saved, rel=0.01)
    assert found.why_not is not None
    assert "where the model is built" in found.why_not
    assert rules_of(opportunities(even)) == []


def test_padding_that_a_line_asks_for_is_left_alone() -> None:
    inputs = narrow((4096, 4095), (4096, 4096))
    assert rules_of(found_in(padded_by_hand, inputs, **GPU)) == []


def timed(report: Report, median: float, least: float) -> Report:
    """The report as after a profile in which every kernel took so many µs."""
    kernels = [replace(kernel, time_us=median) for kernel in report.kernels]
    tables = {**report.tables, "kernels": Table.of(Kernel, kernels)}
    call = MeasuredCall(1000.0, 0.0, None, 50, least_us={kernel.id: least for kernel in kernels})
    return add_measured_call(replace(report, tables=tables), call)


def test_a_measured_copy_saves_half_its_least_time_to_all_of_its_median() -> None:
    report = wb.aot_compile(copied, (torch.randn(64, 32), torch.randn(64, 48)), **HOST).report
    (found,) = opportunities(timed(report, 30.0, 20.0))
    assert (found.saved_us_low, found.saved_us_high) == (10.0, 30.0)
    (earlier,) = opportunities(add_measured_call(timed(report, 30.0, 20.0), OLD))
    assert (earlier.saved_us_low, earlier.saved_us_high) == (15.0, 30.0)


@pytest.mark.slow
def test_what_turns_the_results_of_convolutions_round_is_the_high_end_of_channels_last() -> None:
    report = wb.aot_compile(Pictures().eval(), (torch.randn(2, 8, 32, 32),), **HOST).report
    (found,) = opportunities(timed(report, 30.0, 20.0))
    copies = len(found.kernels)
    assert found.saved_us_low == pytest.approx(20.0, rel=0.02)  # the weights are small
    assert found.saved_us_high == pytest.approx(30.0 + 30.0, rel=0.02)
    assert "the kernels that convert outputs to eager's memory format" in found.source
    assert copies == 1


@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
def test_of_complex_operators_the_views_are_what_surely_goes() -> None:
    inputs = torch.randn(8, 64, 64), torch.randn(64, 32), torch.randn(64, 32)
    report = wb.aot_compile(turned, inputs, **HOST).report
    (found,) = opportunities(timed(report, 30.0, 20.0))
    assert found.saved_us_low == 2 * 20.0
    assert found.saved_us_high == pytest.approx(4 * 30.0)
    assert "the views, which compute nothing" in found.source


def test_complex_numbers_are_found_by_their_operators_only() -> None:
    def waves(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x) + torch.sin(x)

    assert rules_of(found_in(waves, (torch.randn(64),))) == []


def with_branch(x: torch.Tensor) -> torch.Tensor:
    y = x + 1 if x.sum() > 0 else x - 1
    return y * 2


def with_where(x: torch.Tensor) -> torch.Tensor:
    y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y * 2


def with_where_alone(x: torch.Tensor) -> torch.Tensor:
    (rows,) = torch.where(x > 0)
    return x[rows] * 2


def test_a_break_with_an_option_of_dynamo_shows_it_and_says_where_it_is_tried() -> None:
    """As seen: torch's hint, and that it names no lines, above a break with a cure to try."""
    report = wb.explain(with_where_alone, (torch.randn(8),)).report
    (found,) = opportunities(report)
    assert found.kind == "break cure"
    assert "as a symbol" in found.text
    assert found.action == "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    assert "Breaks & guards" in str(found.why_not)


def test_a_break_with_a_rewrite_shows_it_and_the_rewritten_code_is_one_graph() -> None:
    x = (torch.randn(8),)
    (found,) = wb.opportunities(wb.explain(with_branch, x))
    assert (found.rule, found.kind) == ("break-rewrite", "rewrite")
    assert "torch.where" in "\n".join(found.after)
    assert found.saved_us_high is None
    assert found.why_not is None
    tried = found.try_()
    assert tried.agrees
    assert (tried.before.breaks, tried.after.breaks) == (1, 0)
    assert "1 fewer graph break" in repr(tried.diff)
    assert rules_of(wb.opportunities(wb.explain(with_where, x))) == []


def with_message(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    logging.getLogger("mix").warning("mixed")
    return y + 1


def test_breaks_of_one_line_that_one_rewrite_mends_are_one_change() -> None:
    """As seen: two rows "Keep the message out of compiled code", both of line 38."""
    explained = wb.explain(with_message, (torch.rand(3),))
    assert len(explained.breaks) == 2
    (found,) = wb.opportunities(explained)
    assert all(item.kind in found.text for item in explained.breaks)


def test_a_cause_that_was_compiled_away_since_is_no_advice() -> None:
    """As seen: "Compiled again, since len(self.seen) was 6", and below it "dimension 0 differs"."""
    size = "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8"
    reasons = (size, "0/1: len(L['log']) == 1")
    rows = [Recompile("0/2", "scaled", reason) for reason in reasons]

    def rules_with(rows: list[Recompile]) -> list[str]:
        return rules_of(opportunities(Report(tables={"recompiles": Table.of(Recompile, rows)})))

    assert "recompiled" not in rules_with(rows)
    assert "recompiled" in rules_with(rows[:1])


def test_a_recompilation_names_its_cause() -> None:
    found = wb.opportunities(wb.read_trace(TRACES / "recompiles.log.gz"))
    texts = [each.text for each in found if each.rule == "recompiled"]
    assert any("dimension 0 of x had a different size" in text for text in texts)
    assert any("the number factor had a different value" in text for text in texts)
    assert all(
        "which the report lacks" in each.why_not for each in found if each.rule == "recompiled"
    )
    assert "recompiled" not in rules_of(wb.opportunities(wb.read_trace(TRACES / "gpu.log.gz")))


def test_what_saves_most_comes_first_and_the_table_has_every_field() -> None:
    inputs = tuple(torch.empty(s, device="meta") for s in ((2048, 1024), (1024, 2048)))
    report = wb.aot_compile(activated, inputs, **GPU).report
    table = report.frame("opportunities")
    assert table.rule.to_list()[0] == "half-precision"
    assert table.saved_us_high.is_monotonic_decreasing
    assert {"text", "sure", "source", "settings", "saved_bytes_low"} <= set(table)


def test_float64_that_nobody_timed_is_not_said_in_bytes() -> None:
    found = found_in(scaled, (torch.randn(8, 16),))["float64-creeps-in"]
    assert found.saved_us_high is None
    assert "saving unknown" in repr(found)


def attended_and_weights(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    weights = torch.softmax((q @ k.transpose(-1, -2)) * 0.125, -1)
    return weights @ v, weights


def learning_parts() -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(8, 512, 64, requires_grad=True) for _ in range(3))


@pytest.mark.slow
def test_attention_of_a_training_step_is_tried_with_its_gradients() -> None:
    found = found_in(attended, learning_parts(), grad=True)["attention-by-hand"]
    tried = found.try_()
    assert tried.agrees
    assert tried.checked.startswith("Outputs and all effects of")
    assert tried.after.kernels < tried.before.kernels


@pytest.mark.slow
def test_attention_whose_weights_are_returned_is_left_alone() -> None:
    assert rules_of(found_in(attended_and_weights, learning_parts(), grad=True)) == []


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return x * self.seen


def test_a_number_that_changed_is_one_entry_with_its_line_and_values() -> None:
    torch._dynamo.reset()
    counts = Counts()
    call = torch.compile(counts, backend="eager")
    with wb.session() as session:
        for _ in range(4):
            call(torch.ones(3))
    report = session.report(3)
    assert len(report.recompiles) == 3
    (found,) = [each for each in wb.opportunities(report) if each.rule == "recompiled"]
    assert "had a different value, after 0 → 1 → 2." in found.text
    assert "`self.seen += 1` changes it." in found.text
    assert found.line == Counts.forward.__code__.co_firstlineno + 1
    assert found.line_id is not None
    torch._dynamo.reset()


def test_no_rule_recommends_coordinate_descent() -> None:
    sources = (Path(inspect.getfile(rule)).read_text() for rule in RULES)
    assert not any("coordinate_descent" in source for source in sources)
