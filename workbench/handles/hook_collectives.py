"""What hooks around a module send: collectives of DDP and of `fully_shard`, computed, not compiled.

DistributedDataParallel sums the gradients of a bucket at a time, torch's own rule for buckets says
which: the first of 1 MiB, the others up to the cap, from the last parameter to the first. Each
group of `fully_shard` gathers its parameters before the forward, again before the backward where
they were given back, and scatters its gradients: every parameter is padded to equal parts, in the
dtype of the mixed-precision policy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.analysis.cluster.streams import time_collectives
from workbench.compiler.cluster.cluster import Cluster, find_cluster
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.callables import uncompiled
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError
from workbench.number_text import join_words, number_text, plural
from workbench.report import Report
from workbench.report.cluster.cluster_rows import HOOK, Collective
from workbench.report.table import Table
from workbench.specs import Gpu

_PARTS = ("_forward_hooks", "_forward_pre_hooks")
_STATE_HOOKS = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


@dataclass(frozen=True)
class Hooked:
    """What is compiled instead of a module with hooks, and what these send in a step."""

    request: CompileRequest
    forward: tuple[Collective, ...]
    backward: tuple[Collective, ...]


def read_hooks(request: CompileRequest) -> Hooked | None:
    """What hooks around the module of a request send; None where it has none, or no group."""
    cluster = find_cluster()
    if cluster is None:
        return None
    target = request.target
    while (inner := uncompiled(target)) is not None:
        target = inner
    if isinstance(target, torch.nn.parallel.DistributedDataParallel):
        return _read_ddp(request, target, cluster)
    return _read_sharded(request, target, cluster)


def add_hook_collectives(report: Report, hooked: Hooked, gpu: Gpu | None) -> Report:
    """The record with a row for each of them; those of the backward where there is one."""
    trains = any(kernel.is_backward for kernel in report.kernels)
    made = [*hooked.forward, *(hooked.backward if trains else ())]
    rows = list(report.collectives)
    own = [replace(row, id=f"c{len(rows) + place}") for place, row in enumerate(made)]
    if not own:
        return report
    if gpu is not None:
        alone = Report(extra=report.extra, tables={"collectives": Table.of(Collective, own)})
        own = list(time_collectives(alone, gpu).collectives)
    table = Table.of(Collective, [*rows, *own])
    return replace(report, tables={**report.tables, "collectives": table})


def _read_ddp(request: CompileRequest, ddp: Any, cluster: Cluster) -> Hooked:
    if ddp.mixed_precision is not None and request.options.gpu is not None:
        raise UsageError(
            "DistributedDataParallel with mixed_precision casts the parameters of every module in "
            "hooks, on a stream of a GPU that is not here. Leave mixed_precision out and compile "
            "it under torch.autocast, or compile the module inside of it."
        )
    row = _make_rows(cluster, ddp.process_group)
    buffers = list(ddp.modules_buffers) if ddp.will_sync_module_buffers() else []
    forward = [
        row("broadcast", _count(part), part[0].dtype, is_backward=False)
        for part in _split(buffers, [ddp.broadcast_bucket_size])
    ]
    has_own = tp.has_comm_hook(ddp)
    if has_own or ddp.mixed_precision is not None:
        how = "a communication hook of its own" if has_own else "mixed precision"
        note = f"DistributedDataParallel has {how}: what it sends of gradients is not computed."
        return _tell(request, request.target, note, forward, ())
    all_learned = {
        name: each
        for name, each in ddp.module.named_parameters()
        if each.requires_grad and name not in ddp.parameters_to_ignore
    }
    # a sparse gradient has a bucket of its own, whose size is that of the rows that were looked up
    sparse = {
        id(part.weight)
        for part in ddp.module.modules()
        if isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) and part.sparse
    }
    learned = [each for each in all_learned.values() if id(each) not in sparse]
    first = tp.FIRST_BUCKET.get() if ddp.bucket_bytes_cap_default else ddp.bucket_bytes_cap
    limits = list(ddp.bucket_bytes_cap_list) or [first, ddp.bucket_bytes_cap]
    # after the first step torch makes the buckets anew, in the order in which gradients came
    is_rebuilt = ddp.static_graph or not ddp.find_unused_parameters
    parts = list(_split(learned[::-1] if is_rebuilt else learned, limits))
    backward = [row("all_reduce", _count(part), part[0].dtype) for part in parts]
    size = number_text(sum(each.bytes or 0 for each in backward), "bytes")
    note = (
        f"Hooks of DistributedDataParallel sum {size} of gradients in "
        f"{plural(len(backward), 'bucket')}, computed for steps after the first ones: the table "
        "collectives has them with origin 'hook'. They are in no graph: as DTensors that are "
        "replicated by a parametrisation, the gradients would be summed there, where Inductor can "
        "order and bucket them."
    )
    if len(learned) < len(all_learned):
        names = [name for name, each in all_learned.items() if id(each) in sparse]
        note += (
            f" Not counted: the sparse gradient of {join_words(names)}, whose size depends on "
            "the indices."
        )
    if not is_rebuilt:  # with the last bucket, which parameters were used, as one int32 of each
        backward.append(row("all_reduce", 4 * len(all_learned), torch.int32))
    return _tell(request, request.target, note, forward, backward)


def _split(tensors: Sequence[torch.Tensor], limits: list[int]) -> Iterator[list[torch.Tensor]]:
    if tensors:
        for places in tp.COMPUTE_BUCKETS.get()(list(tensors), limits)[0]:
            yield [tensors[place] for place in places]


def _count(tensors: Sequence[torch.Tensor]) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def _read_sharded(request: CompileRequest, module: Any, cluster: Cluster) -> Hooked | None:
    """Of a block that `fully_shard` made; None for what is left to be refused."""
    kind = _find_sharded_kind()
    if not isinstance(module, kind) or request.options.gpu is None:
        return None
    if sum(isinstance(part, kind) for part in module.modules()) > 1:
        return None
    state, groups = tp.parameter_groups_of(module)
    is_alone = all(len(group.modules) == 1 for group in groups)
    if not is_alone:
        return None  # with others under one hook
    forward, backward = [], []
    for group in groups:
        gathers, gradients = _list_group(group, cluster)
        forward += gathers[:1]
        backward += [*gathers[1:], *gradients]
    policy = groups[0].mp_policy if groups else None
    dtype = None if policy is None else policy.param_dtype
    meshes = {name for group in groups for name in group.mesh_info.mesh.mesh_dim_names or ()}
    block = _unshard(module, state, dtype, meshes, {})
    args, kwargs = request.args, request.kwargs
    if policy is not None and dtype is not None and policy.cast_forward_inputs:
        args, kwargs = tp.TREE_MAP.get()(
            lambda leaf: leaf.to(dtype) if _is_real(leaf) else leaf, (args, kwargs)
        )
    note = (
        f"{type(block).__name__} was sharded by fully_shard, whose hooks are in no graph: compiled "
        "is its own code, on whole parameters. What the hooks send as a part of a larger model is "
        "in the table collectives with origin 'hook'. With the parameters as DTensors by a "
        "parametrisation it would be in the graph, where Inductor can bucket and hide it."
    )
    request = replace(request, args=args, kwargs=kwargs)
    return _tell(request, block, note, forward, backward)


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def _list_group(group: Any, cluster: Cluster) -> tuple[list[Collective], list[Collective]]:
    """What one group gathers, in forward and backward, and what it does with its gradients."""
    info, policy = group.mesh_info, group.mp_policy
    if not hasattr(info, "shard_process_group"):  # of `replicate`, which only sums gradients
        learned = [each for each in group.fsdp_params if each.sharded_param.requires_grad]
        kinds = [policy.reduce_dtype or policy.param_dtype or each.sharded_param.dtype
                 for each in learned]  # fmt: skip
        count = sum(each.sharded_param.numel() for each in learned)
        row = _make_rows(cluster, info.replicate_process_group)
        return [], [row("all_reduce", count * kinds[0].itemsize, kinds[0])] if kinds else []
    size = info.shard_process_group.size()
    padded = [(each, each.padded_sharded_param_size.numel()) for each in group.fsdp_params]
    dtypes = [policy.param_dtype or each.sharded_param.dtype for each, _ in padded]
    whole = sum(n * dtype.itemsize for (_, n), dtype in zip(padded, dtypes, strict=True)) * size
    row = _make_rows(cluster, info.shard_process_group)
    gathers = [row("all_gather", whole, dtypes[0], is_backward=False)]
    if (again := group.post_forward_mesh_info) is not None:
        mate = _make_rows(cluster, again.shard_process_group)
        gathers.append(mate("all_gather", whole, dtypes[0]))
    learned = [n for each, n in padded if each.sharded_param.requires_grad]
    if not learned:
        return gathers, []
    reduced = policy.reduce_dtype or dtypes[0]
    gradients = [row("reduce_scatter", sum(learned) * size * reduced.itemsize, reduced)]
    if (other := getattr(info, "replicate_process_group", None)) is not None:
        summed = _make_rows(cluster, other)
        gradients.append(summed("all_reduce", sum(learned) * reduced.itemsize, reduced))
    return gathers, gradients


def _unshard(
    module: torch.nn.Module, state: Any, dtype: torch.dtype | None, sharded: Collection[str],
    known: dict[int, Any],
) -> torch.nn.Module:  # fmt: skip
    """The module as it is between its hooks: whole parameters, without data, and no shards."""
    if id(module) in known:
        twin: torch.nn.Module = known[id(module)]
        return twin
    twin = known[id(module)] = object.__new__(_find_own_class(module))
    # torch's own state of a sharded module holds all that shares it, and a group's streams
    composed = {key.get() for key in tp.COMPOSED}
    held = {name: value for name, value in vars(module).items() if name not in composed}
    # those of shards hold them too, and none runs in a call
    held.update({name: type(held[name])() for name in _STATE_HOOKS if name in held})
    for part in (*_PARTS, "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs"):
        own = held[part.removesuffix("_with_kwargs")]
        foreign = {key for key, hook in own.items() if getattr(hook, "__self__", None) is state}
        kept = [(key, value) for key, value in held[part].items() if key not in foreign]
        held[f"new{part}"] = type(held[part])(kept)
    for name in [name for name in held if name.startswith("new_")]:
        held[name.removeprefix("new")] = held.pop(name)
    held["_parameters"] = {
        name: None if each is None else _make_whole(each, dtype, sharded, known)
        for name, each in module._parameters.items()
    }
    held["_modules"] = {
        name: None if part is None else _unshard(part, state, dtype, sharded, known)
        for name, part in module._modules.items()
    }
    vars(twin).update(held)
    return twin


def _find_own_class(module: torch.nn.Module) -> Any:
    """The class that a module had before `fully_shard`, which puts one of its own before it."""
    kind = type(module)
    # what makes an instance of torch's class calls __init__ without what it was called with
    return kind.__bases__[-1] if isinstance(module, _find_sharded_kind()) else kind


def _find_sharded_kind() -> Any:
    """The class of modules that were sharded; an empty tuple where nobody has imported it."""
    return getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", ())


def _make_whole(
    parameter: Any, dtype: torch.dtype | None, sharded: Collection[str], known: dict[int, Any]
) -> Any:
    """A parameter before `fully_shard`; still a DTensor on the dimensions not in `sharded`."""
    from torch.distributed.tensor import distribute_tensor

    if id(parameter) not in known:
        whole = torch.empty(parameter.shape, dtype=dtype or parameter.dtype, device="meta")
        mesh = parameter.device_mesh
        if others := tuple(name for name in mesh.mesh_dim_names or () if name not in sharded):
            placements = parameter.placements[-len(others) :]
            whole = distribute_tensor(whole, mesh[others], placements, src_data_rank=None)
        known[id(parameter)] = torch.nn.Parameter(whole, requires_grad=parameter.requires_grad)
    return known[id(parameter)]


def _make_rows(cluster: Cluster, group: Any) -> Callable[..., Collective]:
    """What makes rows of one group."""
    own = cluster.by_name[group.group_name]

    def make(op: str, size: int, dtype: torch.dtype, *, is_backward: bool = True) -> Collective:
        return Collective(
            id="",
            graph="",
            is_backward=is_backward,
            op=op,
            bytes=size,
            dtype=str(dtype).removeprefix("torch."),
            group=own.name,
            mesh_dims=own.mesh_dims,
            group_size=len(own.ranks),
            group_nodes=cluster.count_nodes(own.ranks),
            origin=HOOK,
        )

    return make


def _tell(
    request: CompileRequest,
    target: Any,
    note: str,
    forward: Sequence[Collective],
    backward: Sequence[Collective],
) -> Hooked:
    options = replace(request.options, notes=(*request.options.notes, note))
    made = replace(request, target=target, options=options)
    return Hooked(made, tuple(forward), tuple(backward))
