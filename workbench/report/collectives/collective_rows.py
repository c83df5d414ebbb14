"""Rows of collectives: those of a program, and whether two ranks start the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol

from workbench.report.measures import describe, number

CLUSTER = "cluster"
"""Where `Report.extra` says which rank was compiled; a record of no cluster has none.

`rank` of `world_size`, and `is_fake`: whether the process group sends nothing; `mesh`: the
dimensions of a virtual cluster, each with its number of ranks; `gpus_per_node`, and where they were
given `nvlink_gb_s` and `nic_gb_s`.
"""


NETWORK = "a collective, which waits for other GPUs: see the table `collectives`"
"""Why a collective has no cost among kernels."""

ERRORS = (0.15, 0.3)
"""The relative error that holds for four of five published times of nccl-tests, on one node (49)
and on several (45); the rates here were chosen by them."""
MOST_CHECKED_NODES, LEAST_CHECKED, LEAST_CHECKED_BYTES = 4, "64 KiB", 2**16
"""The most nodes and the smallest transfer for which they were validated."""

NOTHING_SENT = (
    "Collectives of a virtual cluster send nothing, so results cannot be compared. Verify all "
    "ranks of a small cluster with ranks= and build=, or compile in a real process group, such as "
    "torchrun's."
)
"""Why numbers of a program are not checked that holds collectives of a fake group."""


class Compiled(Protocol):
    """A record of a compilation, as far as it is asked here."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """What the record knows beside its tables."""

    @property
    def collectives(self) -> Sized:
        """The collectives of its programs."""

    @property
    def graphs(self) -> Iterable[Any]:
        """Its graphs, of every stage."""

    @property
    def nodes(self) -> Any:
        """The table of their nodes."""


def has_fake_collectives(report: Compiled) -> bool:
    """Whether its programs hold collectives of a process group that sends nothing, or may.

    Where torch's caches or another backend left nothing of what a graph became, the nodes tell, and
    a graph that only Dynamo has seen may hold what is one later, as tensors on a mesh.
    """
    if not report.extra.get(CLUSTER, {}).get("is_fake", False):
        return False
    targets = report.nodes.columns.get("target", ())
    is_lowered = any(graph.stage != "dynamo" for graph in report.graphs)
    return len(report.collectives) > 0 or not is_lowered or any(map(is_collective, targets))


def is_collective(target: str) -> bool:
    """Whether a node that calls this starts or awaits a collective."""
    return "c10d_functional" in target


PASSES = "collective passes"
"""What a record calls the part that says what torch's passes did with collectives."""
_KINDS = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter", "broadcast")


def name_kind(operator: str) -> str:
    """NCCL's word for a collective, of which torch has several operators; else the operator's."""
    return next((kind for kind in _KINDS if operator.startswith(kind)), operator)


BLOCKS = "blocks"
"""Where `Report.extra` has the block of each scheduler node, by the ids of both.

Only of a model whose blocks run as programs of their own, with hooks between them, and which was
compiled at once: nothing is fused over their edges.
"""
GRAPH, HOOK = "graph", "hook"
"""Whether a collective is in the generated program, or made by a hook around it."""


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of a generated program: its size, its group, its start and its wait.

    `kernel` is the library call that starts it, `wait_kernel` the one that waits for it; `order`
    and `wait_order` are their positions among all kernels of the program, from 0. The kernels of
    `hidden_by` run between the two. `mesh_dims` is the group's name in the mesh, `group_nodes` the
    number of nodes that it spans. `called_from` are the lines that called its function, nearest
    first. `merged_from` are the collectives that torch's passes merged into it; its lines are
    theirs. `moves` has a text for each pass that tried to move it: `reorder: 3, data dependency
    detected …` is 3 positions and torch's reason to stop; `async TP: 0, …` why it was not fused.
    """

    id: str  # its id, such as `c3`
    graph: str  # the lowered graph, by its id
    is_backward: bool  # whether it belongs to the backward pass
    op: str  # the collective, such as `all_reduce`
    bytes: int | None = number(
        "Message",
        "B",
        "Output bytes of an all-gather, input bytes of others (as NCCL counts)",
        source="counted",
        meaning="Bytes as NCCL counts them: output of an all-gather, input of others.",
    )
    dtype: str | None = None  # its dtype
    group: str = ""  # the process group, by torch's name
    mesh_dims: str = ""
    group_size: int | None = field(
        default=None, metadata=describe("Ranks", meaning="Ranks in the group.")
    )
    group_nodes: int | None = field(
        default=None, metadata=describe("Nodes", meaning="Nodes that the group spans.")
    )
    kernel: str | None = None  # the library call that starts it, by its id
    wait_kernel: str | None = None  # the library call that waits for it
    order: int | None = None
    wait_order: int | None = None
    hidden_by: tuple[str, ...] = ()  # the kernels between the two, by their ids
    node: str | None = None  # the FX node that starts it
    wait_node: str | None = None  # the FX node that waits for it
    lines: tuple[str, ...] = ()  # the user's lines that cause it, by their `L:` ids
    called_from: tuple[str, ...] = ()  # the lines that called its function, nearest first
    est_us: float | None = number(
        "Modelled",
        "us",
        "Time modelled with NCCL's cost model, for the links of the group",
        source="model",
    )
    exposed_us: float | None = number(
        "Exposed",
        "us",
        "Exposed time (modelled)",
        source="model",
        meaning="Modelled µs that kernels stall on the collective.",
    )
    algorithm: str | None = None  # NCCL's modelled algorithm and protocol, such as `ring/LL128`
    why: str | None = None  # why it has no modelled time
    bucket: int | None = None  # the bucket of its program, from 0; None for a single one
    merged_from: tuple[str, ...] = ()  # the FX nodes that it replaced, by their ids
    moves: tuple[str, ...] = ()  # by pass: how many positions it was moved, and why not farther
    torch_est_us: float | None = number(
        "By torch",
        "us",
        "Time estimated by torch's formula, which its passes use",
        source="model",
        meaning="µs estimated by torch's formula, which its passes use.",
    )
    torch_exposed_us: float | None = number(
        "Exposed by torch",
        "us",
        "Exposed time that torch's passes expect",
        source="model",
        meaning="Exposed µs that torch's passes expect; None if no such pass ran.",
    )
    origin: str = GRAPH  # "graph", or "hook": computed from what a hook will send
    block: str | None = None  # the module whose hook it is, where its place in the call is known


def is_unplaced(row: Collective) -> bool:
    """Whether its concurrent kernels are unknown: a hook of a block by itself, or of DDP."""
    return row.origin == HOOK and row.block is None


@dataclass(frozen=True, slots=True)
class CollectiveOrder:
    """The collectives of one group on two of its ranks, in the order in which they start.

    A group waits until all of its ranks have started the same collective. `place` is the first
    that differs, from 0, and `here` and `there` are those that the ranks start then; None if all
    are the same. Sizes of an all-to-all may differ between ranks, and are not compared.
    """

    group: str  # the group's name in the mesh
    group_size: int | None  # ranks in the group; not known from a log
    rank: int  # the rank, from 0
    other: int  # the rank that it is compared with
    collectives: int  # collectives that both start alike
    place: int | None = None
    here: str | None = None
    there: str | None = None
    note: str = ""  # the consequence
    compile_id: str = ""  # the compile in logs; empty for ranks that were compiled here
