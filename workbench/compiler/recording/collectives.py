"""The collectives of each lowered graph, and where its program starts and awaits them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.cluster.cluster import Cluster
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.collective_nodes import (
    NAMESPACE,
    WAIT,
    count_bytes,
    name_call,
    unwrap_ordered,
)
from workbench.report import Kernel
from workbench.report.cluster.cluster_rows import Collective

_KINDS = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter", "broadcast")
"""NCCL's words for what torch has several operators of."""


@dataclass(frozen=True)
class FoundCollective:
    """A node that starts a collective and those that wait for it, by the ids of the record."""

    node: str | None
    waits: tuple[str, ...]
    op: str
    bytes: int | None
    dtype: str | None
    group: str


def find_collectives(
    module: Any, name_ids: Callable[[Iterable[str]], tuple[str, ...]]
) -> Iterator[FoundCollective]:
    """Those of a graph, in its order; `name_ids` gives the ids of nodes that the record has."""
    for node in module.graph.nodes:
        target, args, kwargs = unwrap_ordered(node)
        called = name_call(target)
        if called is None or called[0] != NAMESPACE or called[1] == WAIT:
            continue
        given = torch.fx.node.map_arg(args[0], lambda arg: arg.meta.get("val"))
        kind = next((kind for kind in _KINDS if called[1].startswith(kind)), called[1])
        tensors = [t for t in tp.TREE_LEAVES.get()(given) if isinstance(t, torch.Tensor)]
        yield FoundCollective(
            node=next(iter(name_ids([node.name])), None),
            waits=name_ids(_find_waits(node)),
            op=kind,
            # NCCL counts what an all-gather gives, and what any other takes
            bytes=count_bytes(node.meta.get("val") if kind == "all_gather" else given),
            dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else None,
            group=_read_group(target, args, kwargs),
        )


def _find_waits(node: Any) -> Iterator[str]:
    """The nodes that wait for what a node gives, also where that is one of several."""
    for user in node.users:
        target, args, _ = unwrap_ordered(user)
        if name_call(target) == (NAMESPACE, WAIT) and args[0] is node:
            yield user.name
        elif user.op == "call_function" and getattr(user.target, "__name__", "") == "getitem":
            yield from _find_waits(user)


def _read_group(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The name of the process group of a collective, or "" where it is a value of the graph."""
    names = [argument.name for argument in tp.schema_of(target).arguments]
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    group = given.get("group_name")
    return group if isinstance(group, str) else str(getattr(group, "group_name", ""))


def list_collectives(
    programs: Iterable[tuple[str, Sequence[FoundCollective]]],
    kernels: Sequence[Kernel],
    cluster: Cluster | None,
) -> list[Collective]:
    """A row for each, from the lowered graphs by their ids, and the kernels of their programs."""
    groups = {} if cluster is None else cluster.by_name
    rows: list[Collective] = []
    for graph, found in programs:
        program = [kernel for kernel in kernels if kernel.graph == graph]
        places = {node: place for place, kernel in enumerate(program) for node in kernel.nodes}
        ends_of = {node for each in found for node in (each.node, *each.waits)}
        silent = {places[node] for node in ends_of if node in places}
        for each in found:
            start = places.get(each.node or "")
            end = min((places[wait] for wait in each.waits if wait in places), default=None)
            kernel = None if start is None else program[start]
            between = () if start is None or end is None else range(start + 1, end)
            group = groups.get(each.group)
            rows.append(
                Collective(
                    id=f"c{len(rows)}",
                    graph=graph,
                    is_backward=any(kernel.is_backward for kernel in program),
                    op=each.op,
                    bytes=each.bytes,
                    dtype=each.dtype,
                    group=each.group,
                    mesh_dims=group.mesh_dims if group else "",
                    group_size=len(group.ranks) if group else None,
                    group_nodes=cluster.count_nodes(group.ranks) if cluster and group else None,
                    kernel=kernel.id if kernel else None,
                    wait_kernel=None if end is None else program[end].id,
                    order=start,
                    wait_order=end,
                    hidden_by=tuple(program[place].id for place in between if place not in silent),
                    node=each.node,
                    wait_node=next(iter(each.waits), None),
                    lines=kernel.lines if kernel else (),
                    called_from=kernel.called_from if kernel else (),
                )
            )
    return rows
