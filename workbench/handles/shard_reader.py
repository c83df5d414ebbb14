"""Reads what a rank holds and gathers of a model from the groups that `fully_shard` made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.handles.sharded_module import Block
from workbench.report.cluster.shard_groups import ShardedModel, ShardedParameter, ShardGroup

_OFFLOADED = "{} keeps its shards on the CPU (CPUOffloadPolicy)"
_EXTENDED = "{} gathers its parameters by an extension (fsdp_pre_all_gather)"


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
        ahead = [[states.get(id(state), "") for state in part] for part in
                 tp.prefetch_lists_of(block.state)]  # fmt: skip
        for group in block.groups:
            own = []
            for each in group.fsdp_params:
                forms = [id(whole[id(form)]) for form in tp.forms_of_parameter(each)]
                paths = tuple(path for form in forms for path in names.get(form, ()))
                known.update(forms)
                own.append(_read_parameter(each, group.mp_policy, paths))
            unknown += list(_list_unknown(group, block.name))
            groups.append(
                _read_group(block, group, tuple(own), ahead, keeps=keeps and block is blocks[0])
            )
    others = [path for key, paths in names.items() if key not in known for path in paths]
    buffers = max((tp.count_reduce_buffers(g) for block in blocks for g in block.groups), default=1)
    why = f"{unknown[0]}, which is not counted." if unknown else ""
    return ShardedModel(tuple(groups), blocks[0].name, tuple(others), buffers, why)


def _list_unknown(group: Any, block: str) -> Iterator[str]:
    name = block or "The outermost module"
    if any(each.offload_to_cpu for each in group.fsdp_params):
        yield _OFFLOADED.format(name)
    if any(tp.has_own_gather(each) for each in group.fsdp_params):
        yield _EXTENDED.format(name)


def _read_parameter(each: Any, policy: Any, names: tuple[str, ...]) -> ShardedParameter:
    """Its sizes, with the dtypes that torch's `init_dtype_attrs` gives it before the first call."""
    kept = each.sharded_param.dtype
    gathered = policy.param_dtype if policy.param_dtype and kept.is_floating_point else kept
    return ShardedParameter(
        names=names,
        elements=each.padded_sharded_param_size.numel(),
        kept_item=kept.itemsize,
        gathered_item=gathered.itemsize,
        reduced_item=(policy.reduce_dtype or gathered).itemsize,
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
