"""The memory of a training step and of an inference, from their records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.memory.memory import Memory, stacked
from workbench.report import Report

FLOAT = 4
RECORDS = Path(__file__).parents[2] / "records"


class Block(torch.nn.Module):
    """Its sizes are told apart by their bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(32, 96)
        self.down = torch.nn.Linear(96, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = torch.nn.functional.gelu(self.up(x))
        return x + self.down(wide)


def scaled(x: torch.Tensor) -> torch.Tensor:
    values, order = torch.sort(x, dim=-1)
    return values.cumsum(0) + order.sum()


@pytest.fixture(scope="module")
def step() -> Memory:
    return wb.aot_compile(Block(), (torch.randn(64, 32),), grad=True).memory()


@pytest.fixture(scope="module")
def inference() -> Memory:
    sizes = {"x": {0: torch.export.Dim("rows", min=2, max=512)}}
    return wb.aot_compile(scaled, (torch.randn(64, 32),), dynamic_shapes=sizes).memory()


def test_weights_and_inputs_are_held_all_the_time(step: Memory) -> None:
    weights = 2 * 32 * 96 + 96 + 32
    assert step.base == FLOAT * (weights + 64 * 32)
    assert step.at_peak("kind")["weights"] == FLOAT * weights
    held = [row for row in step.allocations if row.kind in ("weights", "input")]
    assert {row.value for row in held} == {"up.weight", "up.bias", "down.weight", "down.bias", "x"}
    assert all(row.step_to is None for row in held)


def test_the_peak_is_that_of_the_step_and_adds_up(step: Memory) -> None:
    assert [row.scope for row in step.peaks] == ["forward", "backward", "step"]
    assert step.peak == max(row.bytes for row in step.peaks)
    assert step.peak == max(step.live) == step.live[step.peaks[-1].step]
    assert step.peaks[0].step < step.peaks[1].step
    for by in ("line", "module", "kind", "value"):
        assert sum(step.at_peak(by).values()) == step.peak  # type: ignore[arg-type]


def test_a_chart_stacks_what_lives(step: Memory, inference: Memory) -> None:
    for memory in (step, inference):
        assert tuple(map(sum, zip(*stacked(memory).values(), strict=True))) == memory.live


def test_what_the_backward_needs_is_kept_by_the_forward(step: Memory) -> None:
    wide = [row for row in step.saved if row.bytes == FLOAT * 64 * 96]
    assert wide
    assert all(row.kind == "saved for backward" for row in wide)
    assert {Path(row.file or "").name for row in wide} == {Path(__file__).name}
    weights = [row for row in step.saved if row.kind == "weights"]
    assert [row.bytes for row in weights] == [0] * len(weights)
    owners = {row.id: row for row in step.allocations}
    kept = [row.bytes for row in step.allocations if row.kind == "saved for backward"]
    assert step.saved_bytes == sum(kept)
    assert all(owners[row.storage].kind == row.kind for row in step.saved)


def test_gradients_live_on_and_tangents_do_not(step: Memory) -> None:
    gradients = [row for row in step.allocations if row.kind == "gradient"]
    assert sum(row.bytes for row in gradients) == FLOAT * (2 * 32 * 96 + 96 + 32)
    assert all(row.step_to is None for row in gradients)
    tangents = [row for row in step.allocations if row.kind == "tangent"]
    assert [row.bytes for row in tangents] == [FLOAT * 64 * 32]
    assert {row.graph for row in tangents} == {step.report.wrappers[1].graph}


def test_without_a_storage_the_peak_is_lower_by_at_most_its_bytes(step: Memory) -> None:
    for row in step.allocations:
        if row.peak_without is not None:
            assert step.peak - row.bytes <= row.peak_without <= step.peak
            assert step.without(row.id) == row.peak_without
    with pytest.raises(wb.UsageError, match="Storage 'buf99' does not exist"):
        step.without("buf99")


def test_the_sentence_names_the_line_whose_tensors_are_most_of_it(step: Memory) -> None:
    """One tensor of many says little of a line that made most of the peak."""
    usage = wb.memory(Report.load(RECORDS / "training.wbr"))
    assert "part of that is 8 tensors of line 20 (saved for backward, " in usage.sentence
    assert "), with 3.79 kB." in usage.sentence
    assert usage.at_peak()["record_training.py:20"] == 3792


def test_what_has_no_line_is_listed_by_its_module() -> None:
    """As seen of nn.TransformerEncoderLayer, whose lines torch does not keep: "no line 19.4 MB"."""
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    usage = wb.aot_compile(layer, (torch.randn(2, 8, 32),), grad=True).memory()
    by_line = usage.at_peak("line")
    assert {"module linear1", "module self_attn"} <= set(by_line)
    assert by_line.get("no line", 0) < usage.peak / 20
    assert " tensors of module " in usage.sentence


def test_the_sentence_names_the_largest_and_its_line(step: Memory) -> None:
    assert "above weights and inputs" in step.sentence
    assert "saved for backward" in step.sentence
    assert "the optimizer" in step.missing


def test_steps_are_the_kernels_in_their_order(step: Memory) -> None:
    ids = [row.kernel for row in step.steps]
    assert ids == [kernel.id for kernel in step.report.kernels for _ in range(kernel.calls)]
    assert [row.is_backward for row in step.steps] == sorted(row.is_backward for row in step.steps)


def test_open_sizes_are_those_of_the_call_and_it_says_so(inference: Memory) -> None:
    assert inference.base == FLOAT * 64 * 32
    sort = [row for row in inference.allocations if row.kind == "library result"]
    assert sorted(row.bytes for row in sort) == [4 * 64 * 32, 8 * 64 * 32]
    assert "dynamic sizes other than those of the compiled call" in inference.missing
    assert "library calls" in inference.missing


def test_memory_that_is_taken_over_says_how(inference: Memory) -> None:
    reused = [words for row in inference.allocations for words in row.reused]
    assert {how for _, how, _ in reused} <= {"in place", "reuse", "view"}
    assert reused


def test_a_saved_record_says_the_same(step: Memory, tmp_path: Path) -> None:
    step.report.save(tmp_path / "step.wbr")
    again = wb.memory(tmp_path / "step.wbr")
    assert again.allocations == step.allocations
    assert again.peaks == step.peaks
    assert Report.load(tmp_path / "step.wbr").outcome == step.report.outcome


@pytest.mark.parametrize("table", ["allocations", "memory_steps", "memory_peaks", "saved"])
def test_every_table_is_a_frame(step: Memory, table: str) -> None:
    assert len(step.frame(table)) == len(step.rows(table))
    with pytest.raises(wb.UsageError, match="Table 'others' does not exist"):
        step.frame("others")


def test_a_record_without_a_program_is_refused() -> None:
    eager = wb.aot_compile(scaled, (torch.randn(4, 4),), backend="eager")
    with pytest.raises(wb.UsageError, match="has no generated program"):
        eager.memory()
    with pytest.raises(wb.UsageError, match="by is 'size'"):
        wb.aot_compile(scaled, (torch.randn(4, 4),)).memory().at_peak("size")  # type: ignore[arg-type]


def test_a_program_without_a_kernel_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="runs no kernel"):
        wb.aot_compile(lambda x: x.view(-1), (torch.randn(4, 4),)).memory()


def test_what_is_chosen_at_run_time_makes_the_peak_a_lower_bound() -> None:
    def chosen(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y @ y.t(), lambda y: y.cos() @ y.t(), (x,))

    found = wb.aot_compile(chosen, (torch.randn(8, 8),)).memory()
    assert found.sentence.startswith("At least")
    assert "branches and loops that are chosen at run time" in found.missing


def test_a_convolution_makes_no_gradient_that_nobody_asked_for() -> None:
    found = wb.aot_compile(torch.nn.Conv2d(3, 4, 3), (torch.randn(1, 3, 8, 8),), grad=True).memory()
    assert found.sentence.startswith("At least")
    assert "the backward pass of convolution allocates up to" in found.missing
    assert "unknown size" not in found.missing
    assert "allocates up to" in found.sentence
    assert "library calls" not in found.also_missing  # a view shows both beside each other
    assert found.most is not None
    assert found.most > found.peak


def test_at_most_is_said_where_nothing_is_missing() -> None:
    found = wb.aot_compile(lambda x: x @ x.relu(), (torch.randn(8, 8),), grad=False).memory()
    assert found.sentence.startswith("At most")
    assert (found.missing, found.most) == ("", found.peak)


@pytest.mark.parametrize(
    "operator", [torch.argsort, lambda x: x.median(1)[0], lambda x: torch.linalg.qr(x)[1]]
)
def test_results_that_nobody_takes_have_the_sizes_of_their_layout(operator: Any) -> None:
    found = wb.aot_compile(lambda x: operator(x * 2) + 1, (torch.randn(16, 16),)).memory()
    assert not found.timeline.walk.unknown
    untaken = next(row for row in found.allocations if row.buffer.endswith("]"))
    assert untaken.bytes in (16 * 16 * FLOAT, 16 * 8)


def attended(x: torch.Tensor) -> torch.Tensor:
    parts = (x.sin(), x.cos(), x.tanh())
    return torch.nn.functional.scaled_dot_product_attention(*parts)


@pytest.mark.parametrize(
    ("length", "grad"),
    [
        (96, False),
        pytest.param(400, True, marks=pytest.mark.slow),
        pytest.param(900, True, marks=pytest.mark.slow),
    ],
)
def test_attention_takes_no_more_than_is_said(length: int, *, grad: bool) -> None:
    x = torch.randn(1, 2, length, 32, requires_grad=grad)
    found = wb.aot_compile(attended, (x,), grad=grad).memory()
    assert "Not counted: attention allocates up to" in found.sentence
    assert "B, at k" in found.sentence
    measured = found.measure(x).measured
    assert found.most is not None
    assert found.peak - found.base < measured <= found.most - found.base


def test_a_part_of_a_tuple_is_named_by_what_gave_the_tuple() -> None:
    def chosen(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool2d(x, 2).flatten(1).topk(8)[0]

    found = wb.aot_compile(chosen, (torch.randn(2, 3, 16, 16),)).memory()
    named = {row.value for row in found.allocations}
    assert {"_low_memory_max_pool_with_offsets", "topk"} <= named
    assert not any("getitem" in name for name in named)


def test_the_bound_with_library_calls_says_at_which_of_them() -> None:
    """The convolution holds most while it runs, not the kernel whose buffers are the most."""
    layer = torch.nn.Sequential(torch.nn.Upsample(scale_factor=4), torch.nn.Conv2d(8, 8, 3))
    found = wb.aot_compile(layer, (torch.randn(2, 8, 32, 32),)).memory()
    row = max(found.scratch, key=lambda row: found.live[row.step] + (row.bytes or 0))
    assert found.timeline.kernels[row.step] != found.peaks[-1].kernel
    assert found.most == found.live[row.step] + (row.bytes or 0)
    assert found.sentence.endswith(f", at {found.timeline.kernels[row.step]}).")


def test_views_of_one_storage_are_kept_once() -> None:
    into = torch.nn.Linear(8, 24)

    def mixed(x: torch.Tensor) -> torch.Tensor:
        parts = into(x).reshape(2, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return torch.nn.functional.scaled_dot_product_attention(*parts.unbind()).sum()

    found = wb.aot_compile(mixed, (torch.randn(2, 16, 8),), grad=True).memory()
    rows = found.frame("saved")
    assert rows.storage.duplicated().any()
    assert rows.bytes.sum() == found.saved_bytes
    sizes = {row.id: row.bytes for row in found.allocations}
    owned = {row.storage for row in found.saved if row.kind not in ("weights", "input")}
    assert found.saved_bytes == sum(sizes[storage] for storage in owned)


def test_a_log_of_several_compilations_is_refused() -> None:
    for name in ("recompiles.log.gz", "ranks"):
        with pytest.raises(wb.UsageError, match="memory is counted for one"):
            wb.memory(wb.read_trace(RECORDS / "traces" / name))


def test_a_record_without_the_text_of_its_program_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="lacks the text of the generated"):
        wb.memory(RECORDS / "mlp" / "static.wbr")


def test_a_backward_that_torch_had_in_its_cache_is_a_backward() -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() @ x.t()).sum()

    for _ in range(2):
        torch.compiler.reset()
        with wb.session() as session:
            torch.compile(loss)(torch.randn(6, 5, requires_grad=True)).backward()
    report = session.report(0)
    assert [wrapper.graph for wrapper in report.wrappers] == ["c0", "c1"], "not from the cache"
    assert [wrapper.is_backward for wrapper in report.wrappers] == [False, True]
    scopes = {row.scope: row.bytes for row in wb.memory(report).peaks}
    assert scopes["step"] >= scopes["forward"] > FLOAT * 6 * 5


def test_inputs_of_tensors_on_a_mesh_are_called_by_their_names() -> None:
    """Each is two inputs of the program: what a rank has of it, and the mesh."""
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    with wb.virtual_cluster({"tp": 2}) as mesh:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        block = parallelize_module(Block(), mesh, plan)
        compiled = wb.aot_compile(block, (torch.randn(64, 32),), target="h100")
    held = {row.value: row for row in wb.memory(compiled).allocations if row.kind == "weights"}
    assert {name: row.bytes for name, row in held.items()} == {
        "up.weight": FLOAT * 48 * 32,
        "up.bias": FLOAT * 48,
        "down.weight": FLOAT * 32 * 48,
        "down.bias": FLOAT * 32,
    }
