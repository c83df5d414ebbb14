"""The collectives of each lowered graph: where its program has them, what passes did with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.compiler.process_groups.cluster import Cluster
from workbench.compiler.recording.collective_nodes import (
    NAMESPACE,
    WAIT,
    count_bytes,
    find_call,
    name_call,
    unwrap_ordered,
)
from workbench.compiler.rows.program_rows import place_collective
from workbench.report import Kernel
from workbench.report.collectives.collective_rows import Collective, name_kind

_TIMED = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
"""Those that torch has a formula for: the time of any other is 0 there."""
Places = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines by their ids, and the lines that called their functions."""
_PIPELINED = ("all_gather", "reduce_scatter")
"""Those that async TP can fuse with a product."""
NameIds = Callable[[Iterable[str]], tuple[str, ...]]
"""Names of nodes → their ids, of those that the record has."""


@dataclass(frozen=True)
class FoundCollective:
    """A node that starts a collective and those that wait for it, by the ids of the record.

    `merged_from` are the names of the nodes that passes put it in the place of.
    """

    node: str | None
    waits: tuple[str, ...]
    op: str
    bytes: int | None
    dtype: str | None
    group: str
    merged_from: tuple[str, ...] = ()
    expected: Expected | None = None
    unfused: str | None = None


@dataclass(frozen=True)
class Expected:
    """What torch takes a collective for, and what it expects to be waited for, in µs."""

    us: float
    exposed_us: float


@dataclass(frozen=True)
class Move:
    """How far a pass moved a collective, or the wait for it, and why no farther, in torch's words.

    `nodes` are the ids of its FX nodes, `expected` holds of it where it came to be.
    """

    by: str
    nodes: tuple[str, ...]
    places: int
    limit: str
    expected: Expected | None


@dataclass
class Decisions:
    """What passes did with the collectives of one graph, by the names of nodes.

    `merged` has of each that took the place of several what these were called, `expected` what the
    scheduling of overlap reckons with, `unfused` why async TP left one by itself.
    """

    merged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    expected: dict[str, Expected] = field(default_factory=dict)
    unfused: dict[str, str] = field(default_factory=dict)

    def list_merged(self, name: str) -> tuple[str, ...]:
        """What a collective was merged from in the end; nothing where it is as it was."""
        members = self.merged.get(name, ())
        return tuple(one for member in members for one in self.list_merged(member) or (member,))

    def find_expected(self, name: str) -> Expected | None:
        """What torch reckons with; of one that it merged afterwards, the sums of its parts."""
        if name in self.expected:
            return self.expected[name]
        parts = [self.find_expected(member) for member in self.merged.get(name, ())]
        estimates = [part for part in parts if part is not None]
        if not estimates or len(estimates) < len(parts):
            return None
        return Expected(sum(p.us for p in estimates), sum(p.exposed_us for p in estimates))


class DecisionRecorder:
    """Watches the passes that merge collectives and order them for overlap, graph by graph."""

    def __init__(self) -> None:
        self._by_graph: dict[int, Decisions] = {}

    def take(self, graph: Any) -> Decisions:
        """What was decided of a graph that is now lowered."""
        return self._by_graph.pop(id(graph), Decisions())

    def close(self) -> None:
        """Forget graphs that were never lowered."""
        self._by_graph.clear()

    def on_merge(self, made: Any, g: Any, bucket_nodes: Any, *_: Any, **__: Any) -> None:
        """Several collectives became one, which is among the nodes that were made."""
        names = tuple(node.name for node in bucket_nodes)
        merged = self._by_graph.setdefault(id(g), Decisions()).merged
        for node in made[0]:
            if is_start(node):
                merged[node.name] = names

    def on_overlap(self, gm: Any, collective_info: Any, *_: Any, **__: Any) -> None:
        """All nodes were ordered, and what is waited for reckoned; merging follows."""
        expected = self._by_graph.setdefault(id(gm.graph), Decisions()).expected
        for start, info in collective_info.items():
            times = info.estimated_time_ms, info.exposed_time_ms
            expected[start.name] = Expected(*(float(ms) * 1e3 for ms in times))

    def on_pipeline(self, _: Any, graph: Any) -> None:
        """Async TP is done: a collective that is still there was not fused with a product."""
        unfused = self._by_graph.setdefault(id(graph), Decisions()).unfused
        for node in filter(is_start, graph.nodes):
            kind, _, group = describe_collective(node)
            if kind in _PIPELINED:
                unfused[node.name] = _explain_unfused(group)


def _explain_unfused(group: str) -> str:
    """Why async TP did not fuse a collective with a product: torch says nothing of it."""
    if not torch.distributed.is_nccl_available():
        return "this torch build has no NCCL, which async TP needs"
    if not tp.HAS_SYMMETRIC_MEMORY.get()(group):
        return "its group has no symmetric memory"
    return "it has no adjacent matmul of the form that async TP needs"


def read_moves(
    by: str, infos: Mapping[Any, Any], name_nodes: Callable[[Any], tuple[str, ...]]
) -> Iterator[Move]:
    """What a pass over scheduler nodes says of each collective or wait; `name_nodes` gives ids."""
    for snode, info in infos.items():
        # in ms; what is exposed is below 0 where kernels are left
        us, exposed_us = float(info.comm_time) * 1e3, max(float(info.final_exposed), 0.0) * 1e3
        limit = " ".join(str(info.limiting_factor).split())
        yield Move(
            by=by,
            nodes=name_nodes(snode),
            places=int(info.moves),
            limit="" if limit == "None" else limit,
            expected=None if us < 0 else Expected(us, exposed_us),  # -1: it was not timed
        )


def is_start(node: Any) -> bool:
    """Whether a node starts a collective."""
    called = name_call(unwrap_ordered(node)[0])
    return called is not None and called[0] == NAMESPACE and called[1] != WAIT


def describe_collective(node: Any) -> tuple[str, Any, str]:
    """Of a node that starts one: NCCL's word for it, the node or nodes that it sends, its group."""
    target, args, kwargs = unwrap_ordered(node)
    called = name_call(target)
    name = "" if called is None else called[1]
    return name_kind(name), args[0], _read_group(target, args, kwargs)


def find_collectives(
    module: Any, name_ids: NameIds, decisions: Decisions | None = None
) -> Iterator[FoundCollective]:
    """Those of a graph, in its order; `name_ids` gives the ids of nodes that the record has."""
    decided = decisions or Decisions()
    for node in filter(is_start, module.graph.nodes):
        kind, sources, group = describe_collective(node)
        values = torch.fx.node.map_arg(sources, lambda arg: arg.meta.get("val"))
        tensors = list_tensor_leaves(values)
        yield FoundCollective(
            node=next(iter(name_ids([node.name])), None),
            waits=name_ids(_find_waits(node)),
            op=kind,
            # NCCL counts what an all-gather gives, and what any other takes
            bytes=count_bytes(node.meta.get("val") if kind == "all_gather" else values),
            dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else None,
            group=group,
            merged_from=decided.list_merged(node.name),
            expected=decided.find_expected(node.name),
            unfused=decided.unfused.get(node.name),
        )


def ask_torch(module: Any, name_ids: NameIds) -> Iterator[tuple[str, float]]:
    """µs of the collectives of a graph for a GPU by torch's own formula, by the ids of nodes."""
    estimate = tp.ESTIMATE_COLLECTIVE.get()
    for node in filter(is_start, module.graph.nodes):
        call = find_call(node)
        tensors = [t for t in tp.TREE_LEAVES.get()(node.meta.get("val")) if hasattr(t, "device")]
        is_known = any(kind in str(call.target) for kind in _TIMED)
        if is_known and tensors and tensors[0].device.type != "cpu":
            # not by NCCL's simulator, which a real group would be asked for
            ms = float(estimate(call, use_nccl_estimator=False))
            yield from ((id, ms * 1e3) for id in name_ids([node.name]))


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
    arguments = dict(zip(names, args, strict=False)) | dict(kwargs)
    group = arguments.get("group_name")
    return group if isinstance(group, str) else str(getattr(group, "group_name", ""))


def list_collectives(
    programs: Iterable[tuple[str, Sequence[FoundCollective], Sequence[Move], Mapping[str, float]]],
    kernels: Sequence[Kernel],
    cluster: Cluster | None,
    places_of: Callable[[str], Places],
) -> list[Collective]:
    """A row for each, from the lowered graphs by their ids, and the kernels of their programs.

    With them what moved the collectives, and torch's times of them by node. `places_of` gives the
    lines of a node by its id, and those that called their function.
    """
    groups = {} if cluster is None else cluster.by_name
    rows: list[Collective] = []
    for graph, collectives, moves, torch_us in programs:
        program = [kernel for kernel in kernels if kernel.graph == graph]
        places = {node: place for place, kernel in enumerate(program) for node in kernel.nodes}
        ends_of = {
            node for collective in collectives for node in (collective.node, *collective.waits)
        }
        silent = {places[node] for node in ends_of if node in places}
        buckets = 0
        for collective in collectives:
            start = places.get(collective.node or "")
            end = min((places[wait] for wait in collective.waits if wait in places), default=None)
            group = groups.get(collective.group)
            own = (collective.node, *collective.waits)
            moved = [move for move in moves if any(node in own for node in move.nodes)]
            expected = moved[-1].expected if moved else collective.expected
            bucket = buckets if collective.merged_from else None
            buckets += bucket is not None
            row = Collective(
                id=f"c{len(rows)}",
                graph=graph,
                is_backward=False,
                op=collective.op,
                bytes=collective.bytes,
                dtype=collective.dtype,
                group=collective.group,
                mesh_dims=group.mesh_dims if group else "",
                group_size=len(group.ranks) if group else None,
                group_nodes=cluster.count_nodes(group.ranks) if cluster and group else None,
                node=collective.node,
                wait_node=next(iter(collective.waits), None),
                bucket=bucket,
                merged_from=collective.merged_from,
                moves=tuple(_describe(move) for move in (*_list_unfused(collective), *moved)),
                torch_est_us=expected.us if expected else torch_us.get(collective.node or ""),
                torch_exposed_us=expected.exposed_us if expected else None,
            )
            row = place_collective(row, program, start, end, silent)
            parts = [*map(places_of, collective.merged_from)]
            lines = dict.fromkeys((*row.lines, *(line for own, _ in parts for line in own)))
            callers = (*row.called_from, *(line for _, from_ in parts for line in from_))
            rows.append(replace(row, lines=tuple(lines), called_from=tuple(dict.fromkeys(callers))))
    return rows


def _list_unfused(collective: FoundCollective) -> Iterator[Move]:
    if collective.unfused is not None:
        yield Move("async TP", (), 0, collective.unfused, None)


def _describe(move: Move) -> str:
    """A move as the table has it: the pass, how far it came, torch's words for why no farther."""
    return f"{move.by}: {move.places}" + (f", {move.limit}" if move.limit else "")
