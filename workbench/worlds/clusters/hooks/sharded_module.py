"""A module that torch's `fully_shard` took apart, as it is between its hooks, and what these send.

Each group of parameters is gathered before the forward of its modules, again before their backward
where it was given back, and its gradients are scattered after it: every parameter is padded to
equal parts, in the dtype of the mixed-precision policy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import Cluster
from workbench.compiler.request.callables import uncompiled
from workbench.errors import UsageError
from workbench.report.collectives.collective_rows import HOOK, Collective

_PARTS = ("_forward_hooks", "_forward_pre_hooks")
_STATE_HOOKS = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_COMPILED = "_orig_mod"


@dataclass(frozen=True)
class Block:
    """Modules under one hook: what it sends before the forward, and in the backward.

    `paths` are those of its modules; `name` is the first.
    """

    paths: tuple[str, ...]
    modules: tuple[torch.nn.Module, ...]
    state: Any
    groups: tuple[Any, ...]
    forward: tuple[Collective, ...] = ()
    backward: tuple[Collective, ...] = ()

    @property
    def name(self) -> str:
        """The path of its first module."""
        return self.paths[0]


@dataclass(frozen=True)
class Sharded:
    """The module with whole parameters that have no data, and its blocks, outer ones first.

    `dtype` is what hooks of the module itself cast the inputs of a call to. `whole` has its
    parameters by the ids of what they were made of.
    """

    module: torch.nn.Module
    blocks: tuple[Block, ...]
    dtype: torch.dtype | None = None
    notes: tuple[str, ...] = ()
    whole: Mapping[int, Any] = field(default_factory=dict)

    @property
    def is_alone(self) -> bool:
        """Whether the module is a block of a larger model, which is not there."""
        return len(self.blocks) == 1 and self.blocks[0].name == ""


def find_sharded_kind() -> Any:
    """The class of modules that were sharded; an empty tuple where nobody has imported it."""
    return getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", ())


def read_sharded(module: Any, cluster: Cluster) -> Sharded | None:
    """What `fully_shard` made of a module or of parts of it; None where of none.

    Raises `UsageError` where no single module is around all others: each would be gathered by
    itself, and torch refuses some.
    """
    kind = find_sharded_kind()
    if not isinstance(module, torch.nn.Module) or not kind:
        return None
    blocks = list(_list_blocks(module, kind))
    if not blocks or not all(_is_complete(block) for block in blocks):
        return None
    outermost = [b for b in blocks if not any(_is_around(o, b) for o in blocks if o is not b)]
    if len(outermost) > 1 or len(outermost[0].modules) > 1:
        names = " and ".join(path for block in outermost[:2] for path in block.paths[:1])
        raise UsageError(
            f"fully_shard was called on {names}, but not on an enclosing module: torch then "
            "prefetches nothing, or rejects the call. Call fully_shard on the enclosing module "
            "too, or compile one block."
        )
    is_whole = len(blocks) > 1 or outermost[0].name != ""
    blocks = [_list_sent(b, cluster, is_root=is_whole and b is outermost[0]) for b in blocks]
    policies = {id(part): b.state for b in blocks for part in b.modules}
    twins = _Twins(blocks)
    twin = twins.make(module)
    own = policies.get(id(module))
    policy = None if own is None else tp.policy_of(own)
    dtype = policy.param_dtype if policy is not None and policy.cast_forward_inputs else None
    return Sharded(twin, tuple(blocks), dtype, tuple(_list_notes(blocks)), twins.whole)


def _list_blocks(module: torch.nn.Module, kind: Any) -> Iterator[Block]:
    found: dict[int, list[tuple[str, torch.nn.Module]]] = {}
    states: dict[int, tuple[Any, list[Any]]] = {}
    for path, part in module.named_modules():
        if isinstance(part, kind):
            state, groups = tp.parameter_groups_of(part)
            states[id(state)] = state, groups
            # what torch.compile wrapped is one module in the twin
            names = [name for name in path.split(".") if name != _COMPILED]
            found.setdefault(id(state), []).append((".".join(names), part))
    for key, own in found.items():
        state, groups = states[key]
        paths, modules = zip(*own, strict=True)
        yield Block(paths, modules, state, tuple(groups))


def _is_complete(block: Block) -> bool:
    """Whether all modules under its hook are in the module that is compiled."""
    return all(len(group.modules) == len(block.modules) for group in block.groups)


def _is_around(outer: Block, inner: Block) -> bool:
    return all(
        any(not around or path.startswith(f"{around}.") for around in outer.paths)
        for path in inner.paths
    )


def _list_sent(block: Block, cluster: Cluster, *, is_root: bool) -> Block:
    """The block with its rows; the outermost keeps its parameters, unless it was told otherwise."""
    forward: list[Collective] = []
    backward: list[Collective] = []
    is_kept = is_root and tp.keeps_parameters(block.state)
    for group in block.groups:
        gathers, gradients = list_group(group, cluster)
        forward += [row for row in gathers if not row.is_backward]
        again = [row for row in gathers if row.is_backward]
        backward += [*(() if is_kept else again), *gradients]
    return replace(block, forward=tuple(forward), backward=tuple(backward))


def list_group(group: Any, cluster: Cluster) -> tuple[list[Collective], list[Collective]]:
    """What one group gathers, in forward and backward, and what it does with its gradients."""
    info = group.mesh_info
    if not hasattr(info, "shard_process_group"):  # of `replicate`, which only sums gradients
        learned = [each for each in group.fsdp_params if each.sharded_param.requires_grad]
        kinds = [tp.reduced_dtype_of(each, group) for each in learned]
        count = sum(each.sharded_param.numel() for each in learned)
        row = make_rows(cluster, info.replicate_process_group)
        return [], [row("all_reduce", count * kinds[0].itemsize, kinds[0])] if kinds else []
    size = info.shard_process_group.size()
    padded = [(each, each.padded_sharded_param_size.numel()) for each in group.fsdp_params]
    dtypes = [tp.gathered_dtype_of(each, group) for each, _ in padded]
    whole = sum(n * dtype.itemsize for (_, n), dtype in zip(padded, dtypes, strict=True)) * size
    row = make_rows(cluster, info.shard_process_group)
    gathers = [row("all_gather", whole, dtypes[0], is_backward=False)] if size > 1 else []
    again = group.post_forward_mesh_info if group.unshard_in_backward else None
    if again is not None and again.shard_process_group.size() > 1:
        mate = make_rows(cluster, again.shard_process_group)
        gathers.append(mate("all_gather", whole, dtypes[0]))
    learned = [(each, n) for each, n in padded if each.sharded_param.requires_grad]
    if not learned or not group.reduce_grads:  # set_requires_gradient_sync(False)
        return gathers, []
    count = sum(n for _, n in learned)
    # one buffer for the gradients of a group, so one dtype that holds each of them
    reduced = reduce(torch.promote_types, {tp.reduced_dtype_of(each, group) for each, _ in learned})
    scattered = row("reduce_scatter", count * size * reduced.itemsize, reduced)
    gradients = [scattered] if size > 1 else []
    other = getattr(info, "replicate_process_group", None)
    if other is not None and group.all_reduce_grads:
        summed = make_rows(cluster, other)
        gradients.append(summed("all_reduce", count * reduced.itemsize, reduced))
    return gathers, gradients


def make_rows(cluster: Cluster, group: Any) -> Callable[..., Collective]:
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


def _list_notes(blocks: list[Block]) -> Iterator[str]:
    """What was set on blocks that is in no figure."""
    if any(any(tp.prefetch_lists_of(block.state)) for block in blocks):
        yield (
            "Blocks have prefetch lists (set_modules_to_forward_prefetch or …_backward_prefetch). "
            "Modelled times ignore them and assume that each block is gathered while the previous "
            "one runs."
        )


@dataclass
class _Twins:
    """Makes modules as they are between their hooks: whole parameters, without data, no shards."""

    blocks: list[Block]
    known: dict[int, Any] = field(default_factory=dict)
    whole: dict[int, Any] = field(default_factory=dict)
    by_module: dict[int, Block] = field(default_factory=dict)
    root: Any = None

    def __post_init__(self) -> None:
        """Find of which group each parameter is, in either of its forms."""
        self.by_module = {id(part): block for block in self.blocks for part in block.modules}
        for block in self.blocks:
            for group in block.groups:
                names = set(group.mesh_info.mesh.mesh_dim_names or ())
                for each in group.fsdp_params:
                    for parameter in tp.forms_of_parameter(each):
                        self.whole[id(parameter)] = _make_whole(
                            parameter, tp.gathered_dtype_of(each, group), names
                        )

    def make(self, module: torch.nn.Module) -> torch.nn.Module:
        """The module as it is between its hooks."""
        self.root = module if self.root is None else self.root
        if id(module) in self.known:
            twin: torch.nn.Module = self.known[id(module)]
            return twin
        if (inner := uncompiled(module)) is not None:
            twin = self.known[id(module)] = self.make(inner)
            self._cast(module, twin)
            return twin
        twin = self.known[id(module)] = object.__new__(_find_own_class(module))
        # torch's own state of a sharded module holds all that shares it, and a group's streams
        composed = {key.get() for key in tp.COMPOSED}
        held = {name: value for name, value in vars(module).items() if name not in composed}
        if "_compiled_call_impl" in held:  # what `.compile()` made calls the hooks
            held["_compiled_call_impl"] = None
        # those of shards hold them too, and none runs in a call
        held.update({name: type(held[name])() for name in _STATE_HOOKS if name in held})
        block = self.by_module.get(id(module))
        foreign = set() if block is None else tp.hook_ids_of(block.state)
        for part in (
            *_PARTS,
            "_forward_hooks_with_kwargs",
            "_forward_pre_hooks_with_kwargs",
            "_forward_hooks_always_called",
        ):
            kept = [(key, value) for key, value in held[part].items() if key not in foreign]
            held[part] = type(held[part])(kept)
        held["_parameters"] = {
            name: None if each is None else self.whole.get(id(each), each)
            for name, each in module._parameters.items()
        }
        held["_modules"] = {
            name: None if part is None else self.make(part)
            for name, part in module._modules.items()
        }
        vars(twin).update(held)
        self._cast(module, twin)
        return twin

    def _cast(self, module: torch.nn.Module, twin: torch.nn.Module) -> None:
        """Have an inner block cast what it is given and gives, as its hooks do."""
        block = self.by_module.get(id(module))
        policy = None if block is None else tp.policy_of(block.state)
        if policy is None:
            return
        if (
            policy.param_dtype is not None
            and policy.cast_forward_inputs
            and module is not self.root
        ):
            cast = partial(_cast_inputs, policy.param_dtype)
            twin.register_forward_pre_hook(cast, prepend=True, with_kwargs=True)
        if policy.output_dtype is not None:
            twin.register_forward_hook(partial(_cast_outputs, policy.output_dtype))


def cast(values: Any, dtype: torch.dtype) -> Any:
    """What has a dtype of real numbers in that dtype, wherever it is in `values`.

    Dynamo traces it, as a hook of a block: it calls nothing of the workbench.
    """
    if isinstance(values, torch.Tensor):
        return values.to(dtype) if values.is_floating_point() else values
    if isinstance(values, tuple) and hasattr(values, "_fields"):
        return type(values)(*[cast(value, dtype) for value in values])
    if isinstance(values, tuple | list):
        return type(values)([cast(value, dtype) for value in values])
    if isinstance(values, dict):
        return {name: cast(value, dtype) for name, value in values.items()}
    return values


def _cast_inputs(
    dtype: torch.dtype, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    return cast((args, kwargs), dtype)


def _cast_outputs(dtype: torch.dtype, module: Any, args: Any, output: Any) -> Any:
    return cast(output, dtype)


def _find_own_class(module: torch.nn.Module) -> Any:
    """The class that a module had before `fully_shard`, which puts one of its own before it."""
    kind = type(module)
    # what makes an instance of torch's class calls __init__ without what it was called with
    return kind.__bases__[-1] if isinstance(module, find_sharded_kind()) else kind


def _make_whole(parameter: Any, dtype: torch.dtype | None, sharded: set[str]) -> Any:
    """A parameter before `fully_shard`; still a DTensor on the dimensions not in `sharded`."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    whole = torch.empty(parameter.shape, dtype=dtype or parameter.dtype, device="meta")
    if isinstance(parameter, DTensor):
        mesh = parameter.device_mesh
        if others := tuple(name for name in mesh.mesh_dim_names or () if name not in sharded):
            placements = parameter.placements[-len(others) :]
            whole = distribute_tensor(whole, mesh[others], placements, src_data_rank=None)
    return torch.nn.Parameter(whole, requires_grad=parameter.requires_grad)
