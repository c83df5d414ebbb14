"""What hooks are said to send is what they send, counted while the module runs in eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parallel.distributed import _MixedPrecision
from torch.utils._python_dispatch import TorchDispatchMode

import workbench as wb
from tests.views.panes.said import read_first
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.views.document import document
from workbench.worlds.clusters.hooks.hook_collectives import read_hooks

X = torch.ones(4, 30)
OPS = {
    "_allgather_base_": ("all_gather", 0),  # the output
    "_reduce_scatter_base_": ("reduce_scatter", 1),  # the input
    "allreduce_": ("all_reduce", 0),
    "broadcast_": ("broadcast", 0),
}
"""By torch's name of a collective: ours, and the place of the tensor that NCCL counts."""


class Counter(TorchDispatchMode):
    """Notes the collectives that a process starts: what, bytes, dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int, str]] = []

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if operator.namespace == "c10d":
            op, place = OPS[operator._opname]
            leaves = torch.utils._pytree.tree_leaves(args)
            tensor = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)][place]
            dtype = str(tensor.dtype).removeprefix("torch.")
            self.seen.append((op, tensor.numel() * tensor.element_size(), dtype))
        return operator(*args, **(kwargs or {}))


def count_step(module: torch.nn.Module, x: torch.Tensor) -> list[tuple[str, int, str]]:
    """The collectives of the fourth step, sorted: DDP makes its buckets in the second or third."""
    for _ in range(3):
        module(x).sum().backward()
    with Counter() as counter:
        module(x).sum().backward()
    return sorted(counter.seen)


def list_rows(module: torch.nn.Module, x: torch.Tensor, target: str = "h100") -> list[Any]:
    hooked = read_hooks(CompileRequest.of(module, (x,), None, CompileOptions(target=target)))
    assert hooked is not None
    rows = [*hooked.forward, *hooked.backward]
    assert all(row.origin == "hook" for row in rows)
    assert not any(row.is_backward for row in hooked.forward)
    return [(row.op, row.bytes, row.dtype) for row in rows]


def make_block() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(30, 33), torch.nn.Linear(33, 30))


@pytest.mark.parametrize(
    ("mesh", "more", "frozen"),
    [
        ({"dp": 4}, {}, ()),
        ({"dp": 4}, {"reshard_after_forward": False}, ()),
        ({"dp": 4}, {"reshard_after_forward": 2}, ()),
        (
            {"dp": 4},
            {"mp_policy": MixedPrecisionPolicy(torch.bfloat16, reduce_dtype=torch.float32)},
            (),
        ),
        ({"dp": 4}, {"mp_policy": MixedPrecisionPolicy(torch.bfloat16)}, ("0.weight", "0.bias")),
        ({"replicas": 2, "dp": 4}, {}, ()),
    ],
)
def test_groups_of_fully_shard_send_what_is_said(
    mesh: dict[str, int], more: dict[str, Any], frozen: tuple[str, ...]
) -> None:
    with wb.virtual_cluster(mesh) as devices:
        model = torch.nn.Sequential(make_block(), make_block())
        for block in model:
            for name in frozen:
                block.get_parameter(name).requires_grad_(False)
            fully_shard(block, mesh=devices, **more)
        fully_shard(model, mesh=devices)
        said = sorted(row for block in model for row in list_rows(block, X))
        assert said == count_step(model, X)


@pytest.mark.parametrize("policy", [None, MixedPrecisionPolicy(torch.bfloat16)])
def test_a_replicated_block_only_sums_its_gradients(policy: MixedPrecisionPolicy | None) -> None:
    more: Any = {} if policy is None else {"mp_policy": policy}
    with wb.virtual_cluster({"dp": 4}) as mesh:
        model = torch.nn.Sequential(make_block(), make_block())
        for block in model:
            replicate(block, mesh=mesh, **more)
        replicate(model, mesh=mesh)
        said = sorted(row for block in model for row in list_rows(block, X))
        assert said == count_step(model, X)
        assert {op for op, _, _ in said} == {"all_reduce"}


class Gated(torch.nn.Module):
    """A block whose class takes arguments."""

    def __init__(self, width: int, *, hidden: int):
        super().__init__()
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.nn.functional.silu(self.up(x)))


@pytest.mark.parametrize(
    ("make", "mesh"),
    [
        (lambda: torch.nn.Linear(30, 30), {"dp": 4}),
        (lambda: Gated(30, hidden=64), {"replicas": 2, "dp": 4}),
        pytest.param(
            lambda: torch.nn.TransformerEncoderLayer(30, 2, 64, dropout=0.0),
            {"dp": 4},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_block_compiles_whatever_its_class_is_called_with(
    make: Callable[[], torch.nn.Module], mesh: dict[str, int]
) -> None:
    with wb.virtual_cluster(mesh) as devices:
        block = make()
        kind = type(block)
        fully_shard(block, mesh=devices)
        compiled = wb.aot_compile(block, (X,), target="h100")
    assert compiled.report.request.name == kind.__name__
    assert compiled.report.kernels
    assert {row.origin for row in compiled.report.collectives} == {"hook"}


def make_parallel_block(mesh: Any) -> torch.nn.Module:
    """A block of width 32 that is tensor parallel on `tp`, then sharded on `dp`."""
    plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
    block = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Linear(64, 32))
    return fully_shard(parallelize_module(block, mesh["tp"], plan), mesh=mesh["dp"])


def test_a_block_that_is_tensor_parallel_too_sends_its_part_of_each_parameter() -> None:
    x = torch.ones(4, 32)
    with wb.virtual_cluster({"dp": 4, "tp": 2}) as mesh:
        model = torch.nn.Sequential(make_parallel_block(mesh))
        fully_shard(model, mesh=mesh["dp"])
        said = list_rows(model[0], x)
        assert sorted(said) == count_step(model, x)
        compiled = wb.aot_compile(model[0], (x,), target="h100")
    rows = [(row.op, row.bytes, row.mesh_dims, row.origin) for row in compiled.report.collectives]
    part = 4 * (32 * 64 // 2 + 64 // 2 + 64 * 32 // 2 + 32)
    assert rows == [
        ("all_reduce", 4 * 4 * 32, "tp", "graph"),
        ("all_gather", part, "dp", "hook"),
        ("all_gather", part, "dp", "hook"),
        ("reduce_scatter", part, "dp", "hook"),
    ]


@pytest.fixture
def one_rank() -> Iterator[None]:
    """A real group, since DDP's reducer asserts in a fake one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"bucket_cap_mb": 1.2},
        {"find_unused_parameters": True, "bucket_cap_mb": 0.5},
        {"find_unused_parameters": True, "static_graph": True},
        {"gradient_as_bucket_view": True},
        {"broadcast_buffers": False},
    ],
)
def test_buckets_of_ddp_are_as_said(one_rank: None, more: dict[str, Any]) -> None:
    layers = [torch.nn.Linear(300, 300) for _ in range(6)]
    model = torch.nn.Sequential(*layers, torch.nn.BatchNorm1d(300))
    x = torch.ones(4, 300)
    wrapped = DistributedDataParallel(model, **more)
    said = sorted(list_rows(wrapped, x, "host"))
    assert said == count_step(wrapped, x)


def test_ddp_sums_nothing_of_parameters_it_was_told_to_ignore(one_rank: None) -> None:
    model = make_block()
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, ["0.weight"])
    wrapped = DistributedDataParallel(model)
    said = list_rows(wrapped, X, "host")
    assert said == count_step(wrapped, X) == [("all_reduce", 4 * (33 + 33 * 30 + 30), "float32")]


def test_a_sparse_gradient_is_named_and_not_counted(one_rank: None) -> None:
    table = torch.nn.Embedding(100, 16, sparse=True)
    wrapped = DistributedDataParallel(torch.nn.Sequential(table, torch.nn.Linear(16, 16)))
    x = torch.arange(8)
    hooked = read_hooks(CompileRequest.of(wrapped, (x,), None, CompileOptions()))
    assert hooked is not None
    assert "Not counted: the sparse gradient of 0.weight" in hooked.request.options.notes[-1]
    dense = [(row.op, row.bytes, row.dtype) for row in hooked.backward]
    assert dense == [("all_reduce", 4 * (16 * 16 + 16), "float32")]
    assert dense[0] in count_step(wrapped, x)


def test_mixed_precision_of_ddp_is_refused_for_a_gpu_that_is_not_here(one_rank: None) -> None:
    precision = _MixedPrecision(param_dtype=torch.bfloat16)
    wrapped = DistributedDataParallel(make_block(), mixed_precision=precision)
    with pytest.raises(wb.UsageError, match="Omit mixed_precision and compile under"):
        wb.aot_compile(wrapped, (X,), target="h100")


def test_the_record_has_them_after_those_of_the_graph() -> None:
    with wb.virtual_cluster({"dp": 4}) as mesh:
        block = make_block()
        policy = MixedPrecisionPolicy(torch.bfloat16)
        fully_shard(block, mesh=mesh, mp_policy=policy)
        compiled = wb.aot_compile(block, (X,), target="h100")
        forward = wb.aot_compile(block, (X,), target="h100", grad=False)
        assert isinstance(block, torch.distributed.fsdp.FSDPModule)  # as it was
    report = compiled.report
    rows = list(report.collectives)
    assert [row.op for row in rows] == ["all_gather", "all_gather", "reduce_scatter"]
    assert {(row.id, row.origin, row.graph) for row in rows} >= {("c0", "hook", "")}
    assert all(row.est_us and row.exposed_us is None for row in rows)
    assert [row.op for row in forward.report.collectives] == ["all_gather"]
    shown = read_first(document(report), "streams")
    assert shown == "Hooks around the program start 3 collectives with unknown overlap."
    assert report.request.inputs == ("input: bfloat16 [4, 30] on cuda",)  # as the hook casts it
    assert "unsharded parameters and without its hooks" in report.request.notes[0]
    assert wb.Report.from_bytes(report.to_bytes()).collectives == report.collectives


def test_a_hook_that_sends_something_else_is_not_guessed(one_rank: None) -> None:
    wrapped = DistributedDataParallel(make_block())
    wrapped.register_comm_hook(None, lambda state, bucket: torch.futures.Future())
    hooked = read_hooks(CompileRequest.of(wrapped, (X,), None, CompileOptions()))
    assert hooked is not None
    assert hooked.backward == ()
    assert "its collectives are unknown" in hooked.request.options.notes[-1]


def test_without_a_group_or_hooks_nothing_is_read() -> None:
    request = CompileRequest.of(make_block(), (X,), None, CompileOptions())
    assert read_hooks(request) is None
    with wb.virtual_cluster({"dp": 2}):
        assert read_hooks(request) is None
