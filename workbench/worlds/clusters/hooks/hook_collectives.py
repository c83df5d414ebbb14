"""What hooks around a module send: collectives of DDP and of `fully_shard`, computed, not compiled.

DistributedDataParallel sums the gradients of a bucket at a time, torch's own rule for buckets says
which: the first of 1 MiB, the others up to the cap, from the last parameter to the first. What a
block of `fully_shard` sends is in `sharded_module`; of a model with several blocks the place of
each in the call is known, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import torch

from workbench.analysis.blocks.block_calls import list_programs, name_kernels
from workbench.analysis.collectives.streams import time_collectives
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import Cluster, find_cluster
from workbench.compiler.request.callables import uncompiled
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError
from workbench.number_text import join_words, number_text, plural
from workbench.report import Report
from workbench.report.collectives.collective_rows import Collective
from workbench.report.collectives.shard_groups import ShardedModel, ShardedParameter, ShardGroup
from workbench.report.table import Table
from workbench.specs import Gpu
from workbench.worlds.clusters.hooks.sharded_module import (
    Block,
    Sharded,
    cast,
    make_rows,
    read_sharded,
)


@dataclass(frozen=True)
class Hooked:
    """What is compiled instead of a module with hooks, and what these send in a step.

    `blocks` are those of a model with several, whose rows are in neither `forward` nor `backward`.
    """

    request: CompileRequest
    forward: tuple[Collective, ...]
    backward: tuple[Collective, ...]
    blocks: tuple[Block, ...] = ()

    def choose_repeated(self, request: CompileRequest) -> CompileRequest:
        """The whole model where it has blocks, whose groups are found again; else this request."""
        return request if self.blocks else self.request

    def add_rows(self, report: Report, gpu: Gpu | None) -> Report:
        """The record with a row for each of them; those of the backward where there is one."""
        trains = any(kernel.is_backward for kernel in report.kernels)
        if self.blocks:
            whole = _add_rows(report, _place_rows(report, self.blocks))
            return whole if gpu is None else time_collectives(whole, gpu)
        sent = [*self.forward, *(self.backward if trains else ())]
        if gpu is not None and sent:
            alone = Report(extra=report.extra, tables={"collectives": Table.of(Collective, sent)})
            sent = list(time_collectives(alone, gpu).collectives)
        return _add_rows(report, sent)


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


def _add_rows(report: Report, rows: Sequence[Collective]) -> Report:
    known = list(report.collectives)
    own = [replace(row, id=f"c{len(known) + place}") for place, row in enumerate(rows)]
    if not own:
        return report
    table = Table.of(Collective, [*known, *own])
    return replace(report, tables={**report.tables, "collectives": table})


def _place_rows(report: Report, blocks: Sequence[Block]) -> list[Collective]:
    """The rows of blocks in the programs that run them, with the kernels that they are beside."""
    made = [
        replace(row, graph=program.graph, block=block.name)
        for program in list_programs(report)
        for block in blocks
        for row in (block.backward if program.is_backward else block.forward)
    ]
    return name_kernels(_add_rows(report, made))


def _read_ddp(request: CompileRequest, ddp: Any, cluster: Cluster) -> Hooked:
    if ddp.mixed_precision is not None and request.options.gpu is not None:
        raise UsageError(
            "DistributedDataParallel with mixed_precision casts parameters in hooks, on a GPU "
            "stream that a virtual GPU lacks. Omit mixed_precision and compile under "
            "torch.autocast, or compile the inner module."
        )
    row = make_rows(cluster, ddp.process_group)
    buffers = list(ddp.modules_buffers) if ddp.will_sync_module_buffers() else []
    forward = [
        row("broadcast", _count(part), part[0].dtype, is_backward=False)
        for part in _split(buffers, [ddp.broadcast_bucket_size])
    ]
    has_own = tp.has_comm_hook(ddp)
    if has_own or ddp.mixed_precision is not None:
        how = "a custom communication hook" if has_own else "mixed precision"
        note = f"DistributedDataParallel uses {how}, so its collectives are unknown."
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
        f"DistributedDataParallel's hooks all-reduce {size} of gradients in "
        f"{plural(len(backward), 'bucket')}, as in every step after warm-up. The table collectives "
        "lists them with origin 'hook'; they are not in any graph. If a parametrization "
        "replicated the parameters as DTensors, Inductor could order and bucket them."
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
    """Of what `fully_shard` made; None for what is left to be refused."""
    if request.options.gpu is None:
        return None
    sharded = read_sharded(module, cluster)
    if sharded is None:
        return None
    if sharded.dtype is not None:
        args, kwargs = cast((request.args, dict(request.kwargs)), sharded.dtype)
        request = replace(request, args=args, kwargs=kwargs)
    name = type(sharded.module).__name__
    if sharded.is_alone:
        note = (
            f"{name} was sharded by fully_shard. The module's own code was compiled with unsharded "
            "parameters and without its hooks. The table collectives lists the collectives that "
            "the hooks start in a larger model, with origin 'hook'. With a parametrization into "
            "DTensors, Inductor could bucket and overlap this communication."
        )
        (block,) = sharded.blocks
        return _tell(request, sharded.module, note, block.forward, block.backward)
    return _tell_blocks(request, sharded, name)


def _tell_blocks(request: CompileRequest, sharded: Sharded, name: str) -> Hooked:
    """A model with several blocks: compiled at once, with nothing fused over their edges."""
    note = (
        f"{name} has {plural(len(sharded.blocks), 'fully_shard block')}, compiled with unsharded "
        "parameters. Nothing is fused across blocks, because the hooks run between them. The table "
        "collectives lists the hooks' collectives with origin 'hook' and their block. Not "
        "included: copies into and out of communication buffers, casts and scaling in hooks, and "
        "one launch per block."
    )
    options = replace(
        request.options,
        notes=(*request.options.notes, note, *sharded.notes),
        capture="full",  # torch's cache has programs without edges, and is to have none with them
        # what is around the outermost block is a program of its own, too
        blocks=tuple(
            dict([("", ""), *((p, b.name) for b in sharded.blocks for p in b.paths)]).items()
        ),
        shards=read_shard_groups(sharded.module, sharded.blocks, sharded.whole),
    )
    made = replace(request, target=sharded.module, options=options)
    return Hooked(made, (), (), sharded.blocks)


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


_OFFLOADED = "{} keeps its shards on the CPU (CPUOffloadPolicy)"
_EXTENDED = "{} gathers its parameters with an extension (fsdp_pre_all_gather)"
_ACCUMULATED = "{} accumulates gradients without a reduction, in another dtype since torch 2.15"


def read_shard_groups(
    module: torch.nn.Module, blocks: Sequence[Block], whole: Mapping[int, Any]
) -> ShardedModel:
    """The groups of a module with whole parameters, `whole` by the ids of what they were made of.

    The first block is the outermost.
    """
    names: dict[int, list[str]] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for name, parameter in part._parameters.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(f"{path}.{name}".lstrip("."))
    states = {id(block.state): block.name for block in blocks}
    groups, known, unknown = [], set(), []
    keeps = tp.keeps_parameters(blocks[0].state)
    for block in blocks:
        ahead = [
            [states.get(id(state), "") for state in part]
            for part in tp.prefetch_lists_of(block.state)
        ]
        for group in block.groups:
            own = []
            for each in group.fsdp_params:
                forms = [id(whole[id(form)]) for form in tp.forms_of_parameter(each)]
                paths = tuple(path for form in forms for path in names.get(form, ()))
                known.update(forms)
                own.append(_read_parameter(each, group, paths))
            unknown += list(_list_unknown(group, block.name))
            groups.append(
                _read_group(block, group, tuple(own), ahead, keeps=keeps and block is blocks[0])
            )
    others = [path for key, paths in names.items() if key not in known for path in paths]
    buffers = max((tp.count_reduce_buffers(g) for block in blocks for g in block.groups), default=1)
    why = f"{unknown[0]}, which is not counted." if unknown else ""
    early = any(tp.frees_before_copies(group) for block in blocks for group in block.groups)
    return ShardedModel(tuple(groups), blocks[0].name, tuple(others), buffers, why, early)


def _list_unknown(group: Any, block: str) -> Iterator[str]:
    name = block or "The outermost module"
    if any(each.offload_to_cpu for each in group.fsdp_params):
        yield _OFFLOADED.format(name)
    if any(tp.has_own_gather(each) for each in group.fsdp_params):
        yield _EXTENDED.format(name)
    if not group.reduce_grads and any(map(_is_widened, group.fsdp_params, repeat(group))):
        yield _ACCUMULATED.format(name)


def _is_widened(parameter: Any, group: Any) -> bool:
    """Whether torch keeps a gradient in another dtype than the gathered parameter: since 2.15."""
    reduced = tp.reduced_dtype_of(parameter, group)
    return tp.frees_before_copies(group) and reduced != tp.gathered_dtype_of(parameter, group)


def _read_parameter(each: Any, group: Any, names: tuple[str, ...]) -> ShardedParameter:
    """Its sizes, with the dtypes that torch's `init_dtype_attrs` gives it before the first call."""
    kept = each.sharded_param.dtype
    gathered = tp.gathered_dtype_of(each, group)
    return ShardedParameter(
        names=names,
        elements=each.padded_sharded_param_size.numel(),
        kept_item=kept.itemsize,
        gathered_item=gathered.itemsize,
        reduced_item=tp.reduced_dtype_of(each, group).itemsize,
        learns=each.sharded_param.requires_grad,
        is_cast=gathered != kept,
        is_along_first=each.fsdp_placement.dim == 0,
    )


def _read_group(
    block: Block,
    group: Any,
    parameters: tuple[ShardedParameter, ...],
    ahead: Sequence[Sequence[str]],
    *,
    keeps: bool,
) -> ShardGroup:
    info, after = group.mesh_info, group.post_forward_mesh_info
    part = _count_shards(after)
    return ShardGroup(
        block=block.name,
        parameters=parameters,
        size=_count_shards(info),
        after_forward="kept" if keeps or after is None else "freed" if after == info else "parted",
        part_size=part,
        is_replicated=hasattr(info, "replicate_process_group"),
        sums_replicas=group.all_reduce_grads,
        reduces=group.reduce_grads,
        gathers_in_backward=group.unshard_in_backward,
        frees_after_backward=group.reshard_after_backward,
        is_async=group.unshard_async_op,
        is_divided=group.gradient_divide_factor is not None,
        forward_prefetch=tuple(ahead[0]),
        backward_prefetch=tuple(ahead[1]),
    )


def _count_shards(info: Any) -> int:
    """How many ranks hold shards; of `replicate` each holds the whole."""
    group = getattr(info, "shard_process_group", None)
    return 1 if group is None else int(group.size())
