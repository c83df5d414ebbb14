"""Whole models of `fully_shard`: what hooks send, in which order, and what runs beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import workbench as wb
from tests.views.panes.said import read_first
from tests.worlds.clusters.hooks.test_hook_collectives import Counter, count_step
from workbench.analysis.blocks.block_calls import list_programs
from workbench.analysis.collectives.streams import find_streams
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.views.document import document
from workbench.worlds.clusters.hooks.hook_collectives import read_hooks

TOKENS = torch.zeros(2, 16, dtype=torch.long)
HALF = MixedPrecisionPolicy(torch.bfloat16, reduce_dtype=torch.float32)
FULL = MixedPrecisionPolicy(torch.float32, output_dtype=torch.bfloat16)


class Block(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    """Three blocks between an embedding and a head, of sizes that four ranks do not divide."""

    def __init__(self, width: int = 30):
        super().__init__()
        self.table = torch.nn.Embedding(101, width)
        self.layers = torch.nn.ModuleList(Block(width) for _ in range(3))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, 101)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)) * 1.0


class Loss(torch.nn.Module):
    """What training code puts around the model that it sharded."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens).float().logsumexp(-1).mean()


def shard(mesh: Any, model: torch.nn.Module | None = None, **how: Any) -> Any:
    model = Model() if model is None else model
    for layer in model.layers:  # type: ignore[union-attr]
        fully_shard(layer, mesh=mesh, **how)
    return fully_shard(model, mesh=mesh, **how)


def shard_norms(mesh: Any, width: int = 30) -> Any:
    model = Model(width)
    for layer in model.layers:
        fully_shard(layer.norm, mesh=mesh, mp_policy=FULL)
    return shard(mesh, model, mp_policy=HALF)


def shard_as_torchtitan(mesh: Any, width: int = 30) -> Any:
    model = Model(width)
    fully_shard(model.table, mesh=mesh)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard([model.norm, model.head], mesh=mesh, reshard_after_forward=False)
    return fully_shard(model, mesh=mesh)


def shard_checkpointed(mesh: Any) -> Any:
    model = Model()
    for place, layer in enumerate(model.layers):
        model.layers[place] = checkpoint_wrapper(layer)
    return shard(mesh, model)


def shard_compiled(mesh: Any, *, in_place: bool) -> Any:
    model = Model()
    for place, layer in enumerate(model.layers):
        if in_place:
            layer.compile(backend="eager")
        else:
            model.layers[place] = torch.compile(layer, backend="eager")
    return shard(mesh, model)


def shard_frozen(mesh: Any) -> Any:
    model = Model()
    for part in (model.table, model.layers[0], model.layers[1].up):
        part.requires_grad_(False)
    return shard(mesh, model)


def shard_and_run(mesh: Any) -> Any:
    model = shard(mesh)
    model(TOKENS).sum().backward()
    with torch.no_grad():
        model(TOKENS)  # leaves the parameters of the outermost module whole
    return model


def shard_accumulating(mesh: Any) -> Any:
    model = shard(mesh)
    model.set_requires_gradient_sync(False)
    return model


@pytest.mark.parametrize(
    ("dims", "make"),
    [
        ({"dp": 4}, shard),
        ({"dp": 4}, lambda mesh: shard(mesh, mp_policy=HALF)),
        ({"replicas": 2, "dp": 4}, shard),
        ({"dp": 4}, lambda mesh: shard(mesh, reshard_after_forward=False)),
        ({"dp": 4}, lambda mesh: shard(mesh, reshard_after_forward=2)),
        ({"dp": 4}, lambda mesh: shard(mesh, reshard_after_forward=True)),
        ({"dp": 4}, lambda mesh: Loss(shard(mesh))),
        ({"dp": 4}, shard_norms),
        ({"dp": 4}, shard_as_torchtitan),
        ({"dp": 4}, shard_checkpointed),
        ({"dp": 4}, lambda mesh: shard_compiled(mesh, in_place=False)),
        ({"dp": 4}, lambda mesh: shard_compiled(mesh, in_place=True)),
        ({"dp": 4}, shard_frozen),
        ({"dp": 4}, shard_and_run),
        ({"dp": 4}, shard_accumulating),
        ({"dp": 1}, shard),
    ],
)
def test_blocks_and_root_send_what_is_said(
    dims: dict[str, int], make: Callable[[Any], torch.nn.Module]
) -> None:
    with wb.virtual_cluster(dims) as mesh:
        model = make(mesh)
        request = CompileRequest.of(model, (TOKENS,), None, CompileOptions(target="h100"))
        hooked = read_hooks(request)
        assert hooked is not None
        rows = [row for each in hooked.blocks for row in (*each.forward, *each.backward)]
        said = sorted((row.op, row.bytes, row.dtype) for row in rows)
        assert said == count_step(model, TOKENS)


def list_order(model: torch.nn.Module) -> list[tuple[str, int, str]]:
    """The collectives of the second step, in the order in which torch starts them."""
    model(TOKENS).sum().backward()
    with Counter() as counter:
        model(TOKENS).sum().backward()
    return counter.seen


def list_operators(report: wb.Report, block: str | None) -> list[list[str]]:
    """The operators of the kernels of a block, in each program; a bias may be in either kernel."""
    return [
        sorted(
            " ".join(call.kernel.ops).replace("addmm", "mm")
            for call in part.calls
            if call.block == block
        )
        for part in list_programs(report)
    ]


def test_a_whole_model_is_compiled_block_by_block() -> None:
    with wb.virtual_cluster({"dp": 4}) as mesh:
        model = shard(mesh)
        compiled = wb.aot_compile(model, (TOKENS,), target="h100")
        alone = wb.aot_compile(
            Block(30), (torch.ones(2, 16, 30, requires_grad=True),), target="h100"
        )
        order = list_order(model)
    report = compiled.report
    rows = list(report.collectives)
    assert [(row.op, row.bytes, row.dtype) for row in rows] == order
    assert [row.block for row in rows[:4]] == ["", "layers.0", "layers.1", "layers.2"]
    assert {row.origin for row in rows} == {"hook"}
    # each block runs the kernels that it runs by itself
    own = [list_operators(report, f"layers.{number}") for number in range(3)]
    assert own[0] == list_operators(alone.report, None)
    assert [[len(part) for part in each] for each in own] == 3 * [[5, 9]]
    streams = find_streams(report)
    assert streams is not None
    times = {row.kernel: row.us for row in wb.forecast(compiled).rows}
    assert streams.kernels_us == pytest.approx(sum(times.values()))
    assert streams.exposed_us == pytest.approx(sum(row.exposed_us or 0 for row in rows))
    assert wb.forecast(compiled).waits.us == pytest.approx(streams.exposed_us)
    assert rows[0].exposed_us == rows[0].est_us  # nothing runs before it
    shown = read_first(document(report), "streams")
    assert shown.endswith("fully_shard hooks start 11 of them.")
    assert wb.Report.from_bytes(report.to_bytes()).collectives == report.collectives


@pytest.mark.slow
def test_the_next_block_is_gathered_while_one_runs() -> None:
    """Of large blocks over fast links only what has nothing before it is waited for."""
    with wb.virtual_cluster({"dp": 8}) as mesh, torch.device("meta"):
        model = shard(mesh, Model(1024), mp_policy=HALF)
        tokens = torch.empty(16, 1024, dtype=torch.long)
        compiled = wb.aot_compile(model, (tokens,), target="h100")
    streams = find_streams(compiled.report)
    assert streams is not None
    rows = {(row.op, row.block, row.is_backward): row for row in compiled.report.collectives}
    waited = {key for key, row in rows.items() if row.exposed_us}
    # what the embedding, the head and the end of the backward are too short to hide
    assert waited <= {
        ("all_gather", "", False),
        ("all_gather", "layers.0", False),
        ("all_gather", "layers.2", True),
        ("reduce_scatter", "layers.0", True),
        ("reduce_scatter", "", True),
    }
    spans = {span.collective: span for span in streams.spans if span.kind == "collective"}
    first, second = (rows["all_gather", f"layers.{n}", False] for n in (0, 1))
    begin = spans[first.id].start_us + spans[first.id].us
    assert spans[second.id].start_us == pytest.approx(begin)  # with the first layer


def shard_in_two_dimensions(mesh: Any) -> Any:
    model = Model(32)
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for layer in model.layers:
        parallelize_module(layer, mesh["tp"], plan)
    return shard(mesh["dp"], model)


@pytest.mark.slow
def test_blocks_that_are_tensor_parallel_have_both_kinds_in_their_order() -> None:
    with wb.virtual_cluster({"dp": 4, "tp": 2}) as mesh:
        model = shard_in_two_dimensions(mesh)
        compiled = wb.aot_compile(model, (TOKENS,), target="h100")
        said = [
            (row.op, row.bytes, row.dtype)
            for row in compiled.report.collectives
            if row.origin == "hook"
        ]
        seen = list_order(model)
    rows = list(compiled.report.collectives)
    assert {row.mesh_dims for row in rows if row.origin == "hook"} == {"dp"}
    assert {row.mesh_dims for row in rows if row.origin == "graph"} == {"tp"}
    assert [each for each in seen if each in said] == said
    streams = find_streams(compiled.report)
    assert streams is not None
    assert len({span.lane for span in streams.spans}) == 3  # the kernels, and two groups


@pytest.mark.slow
@pytest.mark.parametrize("make", [shard_norms, shard_as_torchtitan])
def test_hooks_are_told_in_the_order_of_a_step(make: Callable[[Any], torch.nn.Module]) -> None:
    with wb.virtual_cluster({"dp": 4}) as mesh:
        model = make(mesh)
        compiled = wb.aot_compile(model, (TOKENS,), target="h100")
        order = list_order(model)
    rows = list(compiled.report.collectives)
    assert [(row.op, row.bytes, row.dtype) for row in rows] == order


@pytest.mark.slow
def test_what_is_gathered_in_vain_is_told_too() -> None:
    """Frozen layers: the one after them gathers the next ahead, whose backward never comes."""
    with wb.virtual_cluster({"dp": 4}) as mesh:
        model = shard_frozen(mesh)
        compiled = wb.aot_compile(model, (TOKENS,), target="h100")
        order = list_order(model)
    rows = list(compiled.report.collectives)
    assert sorted((row.op, row.bytes, row.dtype) for row in rows) == sorted(order)
    vain = [row for row in rows if row.block == "layers.0" and row.is_backward]
    assert [row.op for row in vain] == ["all_gather"]
    assert vain[0].exposed_us == 0


@pytest.mark.slow
def test_what_is_around_the_outermost_module_waits_for_none_of_its_hooks() -> None:
    with wb.virtual_cluster({"dp": 4}) as mesh:
        compiled = wb.aot_compile(Loss(shard(mesh)), (TOKENS,), target="h100")
    assert {row.block for row in compiled.report.collectives} == {
        "model",
        *(f"model.layers.{n}" for n in range(3)),
    }
    forward, backward = list_programs(compiled.report)
    assert forward.calls[-1].block == backward.calls[0].block == ""


def test_a_module_with_nothing_around_its_blocks_is_refused() -> None:
    with wb.virtual_cluster({"dp": 4}) as mesh:
        model = torch.nn.Sequential(Block(30), Block(30))
        for block in model:
            fully_shard(block, mesh=mesh)
        said = "^fully_shard was called on 0 and 1, but not on an enclosing module"
        with pytest.raises(wb.UsageError, match=said):
            wb.aot_compile(model, (torch.ones(2, 30),), target="h100")
