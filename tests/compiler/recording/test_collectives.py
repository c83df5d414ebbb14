"""Collectives of a rank: what is sent and awaited, and what is known of the kernels around."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._inductor.utils import run_and_get_code
from torch.distributed import _functional_collectives as functional

import workbench as wb
from tests.worlds.clusters.parallel_models import (
    Block,
    Experts,
    shard_parameters,
    split_columns_and_rows,
    split_sequence,
)
from workbench.analysis.cost.costs import list_costs
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.recorder import Recorder
from workbench.report.collectives.collective_rows import has_fake_collectives

WIDTH, HIDDEN, BATCH, SEQ = 64, 256, 2, 32
X = 4 * BATCH * SEQ * WIDTH  # bytes of the inputs
SMALL, LARGE, NORM = 4 * WIDTH * WIDTH, 4 * WIDTH * HIDDEN, 4 * WIDTH  # those of the parameters


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    with wb.virtual_cluster({"dp": 8, "tp": 4}, rank=5) as mesh:
        yield mesh


def on_meta(make: Callable[[], torch.nn.Module]) -> Any:
    with torch.device("meta"):
        return make()


def block() -> Any:
    return on_meta(lambda: Block(WIDTH, HIDDEN))


def compiled(model: Any, *shape: int, grad: bool = True) -> wb.Report:
    x = torch.empty(*shape or (BATCH, SEQ, WIDTH), device="meta")
    return wb.aot_compile(model, (x,), target="h100", grad=grad).report


@pytest.fixture(scope="module")
def kinds(mesh: Any) -> wb.Report:
    group, operators = (mesh, 1), torch.ops._c10d_functional

    def each(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        start = operators.all_gather_into_tensor(x, 4, mesh.get_group("tp").group_name)
        product = w @ w
        gathered = operators.wait_tensor(start)
        scattered = functional.reduce_scatter_tensor(gathered, "sum", 0, group)
        summed = functional.all_reduce(scattered @ product, "sum", group)
        return functional.all_to_all_single(summed, None, None, group)

    x, w = torch.empty(8, 16, device="meta"), torch.empty(16, 16, device="meta")
    in_order = {"reorder_for_locality": False}  # it would move the product behind the wait
    return wb.aot_compile(each, (x, w), target="h100", grad=False, options=in_order).report


def test_bytes_are_those_that_nccl_counts(kinds: wb.Report) -> None:
    x = 8 * 16 * 4
    assert [(row.op, row.bytes) for row in kinds.collectives] == [
        ("all_gather", 4 * x),
        ("reduce_scatter", 4 * x),
        ("all_reduce", x),
        ("all_to_all", x),
    ]
    assert {(row.mesh_dims, row.group_size, row.group_nodes) for row in kinds.collectives} == {
        ("tp", 4, 1)
    }


def test_what_runs_between_a_start_and_its_wait(kinds: wb.Report) -> None:
    rows = list(kinds.collectives)
    product = next(k.id for k in kinds.kernels if k.ops == ("aten.mm.default",))
    assert [row.hidden_by for row in rows] == [(product,), (), (), ()]
    assert all(
        row.wait_order is not None and row.order is not None and row.order < row.wait_order
        for row in rows
    )
    ids = {node.id: node.target for node in kinds.nodes}
    assert {ids[str(row.wait_node)] for row in rows} == {"_c10d_functional.wait_tensor.default"}


def test_a_product_before_a_sum_in_place_is_a_product(kinds: wb.Report) -> None:
    names = {k.name: k.ops for k in kinds.kernels if k.language == "extern"}
    assert names["extern_kernels.mm"] == ("aten.mm.default",)
    prefix = "torch.ops._c10d_functional."
    of_torch = {name: ops for name, ops in names.items() if name.startswith(prefix)}
    assert len(of_torch) == 5
    assert all(ops == (name.removeprefix("torch.ops."),) for name, ops in of_torch.items())


def test_a_wait_moves_nothing_and_a_collective_what_it_takes_and_gives(kinds: wb.Report) -> None:
    moved = {
        k.name.removeprefix("torch.ops._c10d_functional."): (k.bytes_read, k.bytes_written)
        for k in kinds.kernels
    }
    x = 8 * 16 * 4
    assert moved["wait_tensor.default"] == (0, 0)
    assert moved["all_gather_into_tensor.default"] == (x, 4 * x)
    assert moved["reduce_scatter_tensor.default"] == (4 * x, x)


def test_a_record_says_which_rank_it_is_of(kinds: wb.Report) -> None:
    said = {"rank": 5, "world_size": 32, "is_fake": True, "gpus_per_node": 8}
    said |= {"mesh": {"dp": 8, "tp": 4}}
    assert kinds.extra["cluster"] == said
    assert has_fake_collectives(kinds)


def test_a_mesh_among_the_inputs_hides_no_kernel_of_the_backward(mesh: Any) -> None:
    report = compiled(split_columns_and_rows(block(), mesh["tp"]))
    assert [row.name for row in report.capabilities if not row.available] == []
    sums = [(row.is_backward, row.op, row.bytes) for row in report.collectives]
    assert Counter(sums) == {(False, "all_reduce", X): 2, (True, "all_reduce", X): EACH_INPUT}
    assert {kernel.is_backward for kernel in report.kernels} == {False, True}
    lines = {line for row in report.collectives if not row.is_backward for line in row.lines}
    ends = (line_of("return self.o("), line_of("return self.down("))
    assert sorted(line.rpartition(":")[2] for line in lines) == sorted(ends)


def test_code_that_asks_for_the_gpu_is_captured_as_without_a_cluster(mesh: Any) -> None:
    def branching(x: torch.Tensor) -> torch.Tensor:
        is_new = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9
        return torch.relu(x + 1) if is_new and torch.cuda.device_count() == 8 else x

    report = compiled(branching, 8, grad=False)
    assert [kernel.ops for kernel in report.kernels] == [("aten.add.Tensor", "aten.relu.default")]


EACH_INPUT = 5
"""Sums of the backward of tensor parallel: of each product in columns, what its input gets."""


def line_of(text: str) -> str:
    """The number of the line of the models that has a text."""
    from tests.worlds.clusters import parallel_models

    lines = Path(parallel_models.__file__).read_text(encoding="utf-8").split("\n")
    return str(next(n for n, line in enumerate(lines, 1) if text in line))


PROGRAMS: dict[
    str, tuple[Callable[[Any], Any], tuple[int, ...], Counter[tuple[bool, str, int]]]
] = {
    "sequence": (
        lambda mesh: split_sequence(block(), mesh["tp"]),
        (BATCH, SEQ // 4, WIDTH),
        Counter(
            {
                (False, "all_gather", X): 2,
                (False, "reduce_scatter", X): 2,
                (True, "all_gather", X): 2,
                (True, "reduce_scatter", X): 2,
            }
        ),
    ),
    "fsdp": (
        lambda mesh: shard_parameters(block(), mesh["dp"]),
        (BATCH, SEQ, WIDTH),
        Counter(
            {
                (is_backward, op, bytes): count
                for is_backward, op in ((False, "all_gather"), (True, "reduce_scatter"))
                for bytes, count in ((SMALL, 4), (LARGE, 3), (NORM, 2))
            }
        ),
    ),
    "fsdp and tensor parallel": (
        lambda mesh: shard_parameters(split_columns_and_rows(block(), mesh["tp"]), mesh["dp"]),
        (BATCH, SEQ, WIDTH),
        Counter(
            {
                (is_backward, op, bytes): count
                for is_backward, op in ((False, "all_gather"), (True, "reduce_scatter"))
                for bytes, count in ((SMALL // 4, 4), (LARGE // 4, 3), (NORM, 2))
            }
        )
        + Counter({(False, "all_reduce", X): 2, (True, "all_reduce", X): EACH_INPUT}),
    ),
    "experts": (
        lambda mesh: on_meta(lambda: Experts(WIDTH, mesh["tp"])),
        (SEQ, WIDTH),
        Counter(
            {(False, "all_to_all", 4 * SEQ * WIDTH): 2, (True, "all_to_all", 4 * SEQ * WIDTH): 1}
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way_to_be_parallel_has_the_collectives_of_its_formula(name: str, mesh: Any) -> None:
    make, shape, expected = PROGRAMS[name]
    report = compiled(make(mesh), *shape)
    assert [row.name for row in report.capabilities if not row.available] == []
    assert all(kernel.nodes for kernel in report.kernels)
    assert Counter((r.is_backward, r.op, r.bytes) for r in report.collectives) == expected
    assert all(row.kernel and row.wait_kernel and row.group_size for row in report.collectives)


OVERLAP = {
    "aten_distributed_optimizations.enable_overlap_scheduling": True,
    "aten_distributed_optimizations.collective_bucketing": True,
    "aten_distributed_optimizations.compute_estimator": "analytical",
}


@pytest.fixture(scope="module")
def merged(mesh: Any) -> wb.Report:
    """A sharded block whose parameters torch gathers in one go."""
    x = torch.empty(BATCH, SEQ, WIDTH, device="meta")
    model = shard_parameters(block(), mesh["dp"]).requires_grad_(False)
    return wb.aot_compile(model, (x,), target="h100", options=OVERLAP).report


def test_an_operator_that_torch_only_orders_is_recorded_as_what_it_calls(
    merged: wb.Report,
) -> None:
    """A product behind the gather of a bucket does not read the bucket, and its time is known."""
    report = merged
    assert "control_deps" in report.texts[report.graphs[-1].text or ""]
    nodes = {node.id: node for node in report.nodes}
    assert not any("control_deps" in node.target for node in nodes.values())
    products = [kernel for kernel in report.kernels if kernel.name.endswith(".mm")]
    assert len(products) == 7
    for kernel in products:
        (product,) = (nodes[id] for id in kernel.nodes if nodes[id].target == "aten.mm.default")
        assert kernel.bytes_read == sum(nodes[id].bytes or 0 for id in product.inputs)
    told = wb.forecast(report)
    (bound,) = (cost for cost in list_costs(report) if cost.kind == "bound")
    assert told.bound_us == pytest.approx(bound.total)  # the view and the forecast say the same
    rows = told.rows
    assert {row.source for row in rows if row.name.startswith(("extern", "torch"))} == {
        "modelled",
        "network",
    }


@pytest.mark.parametrize("options", [{}, OVERLAP], ids=["plain", "ordered"])
def test_what_only_comes_after_attention_does_not_take_its_bytes(
    mesh: Any, options: dict[str, Any]
) -> None:
    """As seen: attention behind a collective wrote 0 B where torch put the two in an order."""
    group = mesh["tp"].get_group()

    def attend(x: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sent = functional.all_reduce(x, "sum", group)
        return torch.nn.functional.scaled_dot_product_attention(q, q, q) * 2, sent + 1

    q = torch.empty(2, 4, 128, 64, dtype=torch.bfloat16, device="meta")
    given = torch.empty(1024, 1024, device="meta"), q
    report = wb.aot_compile(attend, given, target="h100", grad=False, options=options).report
    (kernel,) = [row for row in report.kernels if "attention" in row.name]
    assert (kernel.bytes_read, kernel.bytes_written) == (q.nbytes, q.nbytes)


def test_a_bucket_says_which_collectives_it_was_merged_from(merged: wb.Report) -> None:
    (row,) = merged.collectives
    nodes = {node.id: node for node in merged.nodes}
    parts = [nodes[id] for id in row.merged_from]
    assert row.bucket == 0
    assert [part.target for part in parts] == [
        "_c10d_functional.all_gather_into_tensor.default"
    ] * 9
    stages = {graph.id: graph.stage for graph in merged.graphs}
    assert {stages[part.graph] for part in parts} == {"before_post_grad"}
    assert sum(part.bytes or 0 for part in parts) == row.bytes == 4 * SMALL + 3 * LARGE + 2 * NORM
    own = {str(part.line) for part in parts}
    assert own <= {line.rpartition(":")[2] for line in row.lines}


def test_times_that_torch_goes_by_are_beside_ours(merged: wb.Report, kinds: wb.Report) -> None:
    (row,) = merged.collectives
    assert row.torch_est_us is not None
    assert row.est_us is not None
    assert row.torch_exposed_us is not None
    assert 0 < row.torch_exposed_us <= row.torch_est_us
    # torch takes dp, of stride 4, for one node; its 8 ranks are on four
    assert row.group_nodes == 4
    assert row.est_us > row.torch_est_us
    for each in kinds.collectives:  # no pass ran: nothing is expected to be waited for
        assert each.torch_est_us is not None
        assert (each.torch_exposed_us, each.bucket, each.merged_from) == (None, None, ())
        assert each.moves == ()


MOVING = {
    "reorder_for_compute_comm_overlap": True,
    "reorder_for_compute_comm_overlap_passes": [
        "sink_waits_iterative",
        "reorder_communication_preserving_peak_memory",
    ],
}


def test_why_a_collective_was_not_moved_is_said_in_torchs_words(mesh: Any) -> None:
    group, operators = (mesh, 1), torch.ops._c10d_functional

    def chained(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        free = w @ w
        summed = functional.all_reduce(x @ w, "sum", group)
        gathered = operators.all_gather_into_tensor(x, 4, mesh.get_group("tp").group_name)
        return summed @ free, operators.wait_tensor(gathered)

    x, w = torch.empty(16, 16, device="meta"), torch.empty(16, 16, device="meta")
    report = wb.aot_compile(chained, (x, w), target="h100", grad=False, options=MOVING).report
    rows = {row.op: row for row in report.collectives}
    assert len(rows) == 2
    for row in rows.values():
        assert [text.partition(":")[0] for text in row.moves] == ["sink", "reorder"]
        assert row.torch_est_us is not None
        assert row.torch_exposed_us is not None
    assert any("data dependency detected" in text for text in rows["all_reduce"].moves)


def test_what_async_tp_leaves_by_itself_says_why(mesh: Any) -> None:
    options = {"_micro_pipeline_tp": True}
    model = split_sequence(block(), mesh["tp"]).requires_grad_(False)
    x = torch.empty(BATCH, SEQ // 4, WIDTH, device="meta")
    rows = wb.aot_compile(model, (x,), target="h100", options=options).report.collectives
    assert len(rows) == 4
    reasons = {row.moves for row in rows}
    assert len(reasons) == 1
    ((reason,),) = reasons
    has_nccl = torch.distributed.is_nccl_available()
    assert reason == "async TP: 0, " + (
        "its group has no symmetric memory"
        if has_nccl
        else "this torch build has no NCCL, which async TP needs"
    )


def test_hooks_on_the_passes_are_undone_after_an_error(mesh: Any) -> None:
    names = (
        tp.MERGE_COLLECTIVES,
        tp.FINISH_OVERLAP,
        tp.PIPELINE_PRODUCTS,
        *tp.COLLECTIVE_MOVERS.values(),
    )
    before = [name.get() for name in names]

    def fail() -> None:
        with Recorder():
            assert all(name.get() is not old for name, old in zip(names, before, strict=True))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [name.get() for name in names] == before


MERGING = {
    "aten_distributed_optimizations.enable_overlap_scheduling": True,
    "aten_distributed_optimizations.compute_estimator": "analytical",
    "aten_distributed_optimizations.pre_bucketing_fsdp_collectives": False,
    "bucket_all_reduces_fx": "all",
    "_micro_pipeline_tp": True,
}


def generate(mesh: Any, options: dict[str, Any]) -> list[str]:
    """Torch's own code of a program whose collectives are merged and moved, on the CPU."""
    group = (mesh, 1)

    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        whole = functional.all_gather_tensor(w, 0, group)
        left = functional.all_reduce(x @ x, "sum", group)
        right = functional.all_reduce(x.t() @ x, "sum", group)
        return functional.reduce_scatter_tensor(left @ whole @ right, "sum", 0, group)

    torch.compiler.reset()
    compiled = torch.compile(program, options={"fx_graph_cache": False, **options}, dynamic=False)
    _, codes = run_and_get_code(compiled, torch.ones(16, 16), torch.ones(4, 16))
    return [re.sub(r"# AOT ID:.*", "", code) for code in codes]


@pytest.mark.parametrize("options", ["merging", "moving"])
def test_code_is_the_same_with_and_without_the_hooks(
    options: str, mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"merging": MERGING, "moving": MOVING}[options]
    times = import_module(tp.ESTIMATE_NODE.module)  # its own are those of a GPU that is here
    monkeypatch.setattr(times, tp.ESTIMATE_NODE.attribute, lambda *_, **__: 0.01)
    alone = generate(mesh, given)
    with Recorder() as recorder:
        watched = generate(mesh, given)
    assert watched == alone
    report = recorder.report()
    assert [row.reason for row in report.capabilities if not row.available] == []
    called = [bool(row.merged_from or row.moves[1:]) for row in report.collectives]
    assert any(called)
    assert all(row.torch_exposed_us is not None for row in report.collectives)


@pytest.mark.parametrize("name", [tp.MERGE_COLLECTIVES, *tp.COLLECTIVE_MOVERS.values()])
def test_hooks_are_undone_after_an_error_inside_of_a_pass(
    name: tp.Name, mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(import_module(name.module), name.attribute, fail)
    names = (tp.MERGE_COLLECTIVES, tp.FINISH_OVERLAP, *tp.COLLECTIVE_MOVERS.values())
    before = [each.get() for each in names]
    with pytest.raises(Exception, match="ZeroDivisionError"), Recorder():
        generate(mesh, MERGING if name is tp.MERGE_COLLECTIVES else MOVING)
    assert [each.get() for each in names] == before


def test_a_release_without_the_names_says_that_nothing_was_recorded(
    mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = replace(tp.MERGE_COLLECTIVES, target=f"{tp.MERGE_COLLECTIVES.target}_gone")
    monkeypatch.setattr(tp, "MERGE_COLLECTIVES", gone)
    with Recorder() as recorder:
        pass
    lost = {row.name: row.reason for row in recorder.report().capabilities if not row.available}
    assert lost["collective passes"] == (
        "this torch has no torch._inductor.fx_passes.bucketing.process_collective_bucket_gone"
    )


@pytest.mark.slow
def test_collectives_that_torch_merges_and_moves(mesh: Any) -> None:
    """With its scheduling on, one gather of all parameters is hidden by what needs none."""
    x = torch.empty(BATCH, SEQ, WIDTH, device="meta")
    model = shard_parameters(block(), mesh["dp"])
    report = wb.aot_compile(model, (x,), target="h100", grad=True, options=OVERLAP).report
    gathers = [row for row in report.collectives if row.op == "all_gather"]
    assert sum(row.bytes or 0 for row in gathers) == 4 * SMALL + 3 * LARGE + 2 * NORM
    assert len(gathers) < 9
    assert any(row.hidden_by for row in gathers)
    assert all(row.wait_kernel for row in report.collectives)
    assert all(kernel.nodes for kernel in report.kernels)
    assert not any("control_deps" in kernel.ops for kernel in report.kernels)
