"""The stages of one compiled graph, ready to be run, with what the record says of their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import getitem
from typing import Any

from workbench.analysis.numerics.causes import RANDOM, guess_rounding
from workbench.compiler.captured_graphs.captured import CapturedGraph, NodeRef
from workbench.compiler.numerics.cones import IndexedGraph, is_random, name_operator
from workbench.compiler.numerics.program_writes import KernelWrites, list_writes
from workbench.compiler.numerics.users_launches import (
    BoundGraph,
    UsersCode,
    UsersLaunch,
    UsersReference,
    bind_graph,
    list_written,
    name_values,
)
from workbench.report import Node, Report
from workbench.report.graph_stages import GRAPH_STAGES

CAPTURED = "dynamo"
PRE_GRAD = "after_pre_grad"
INFERENCE = "inference"
JOINT = "joint"
FORWARD = "forward"
BACKWARD = "backward"
JOINT_PASSES = "after_joint_passes"
LOWERED = "after_post_grad"


_BEGINNINGS = {
    PRE_GRAD: "before_pre_grad", JOINT_PASSES: "before_joint_passes", LOWERED: "before_post_grad",
}  # fmt: skip
"""The stage that the passes began with which led to another."""
_OF_PRE_GRAD = (PRE_GRAD, _BEGINNINGS[PRE_GRAD])


class StageGraph(IndexedGraph):
    """One stage of a graph: its nodes as data that runs, and by name as the record has them.

    `steps` are the graphs that the passes on the way to it left, in their order, as far as all of
    them are known; each of those has the name of its pass as `made_by`. `shown` has the node of the
    record for a value that a launch of a kernel of the user gives.
    """

    def __init__(
        self, id: str, stage: str, graph: CapturedGraph, rows: Mapping[str, Node],
        *, made_by: str = "", steps: Sequence[StageGraph] = (),
    ):  # fmt: skip
        super().__init__(graph)
        self.id = id
        self.stage = stage
        values = graph.values if isinstance(graph, BoundGraph) else {}
        self.shown = {name: launch for name, (_, launch) in values.items()}
        begins = {f"{launch}.launch": launch for launch in self.shown.values()}
        own = {name: replace(rows[launch], name=name) for name, launch in begins.items()}
        for name, (base, launch) in values.items():
            at = rows[launch]
            own[name] = replace(rows[base], name=name, file=at.file, line=at.line)
        self.shown |= begins
        self.rows = {**rows, **own}
        self.made_by = made_by
        self.steps = tuple(steps)

    def find_line(self, names: Iterable[str]) -> tuple[str | None, int | None]:
        """File and line of the last of these nodes that has one: what a pass made has none."""
        shown = (self.rows[name] for name in reversed(tuple(names)) if name in self.rows)
        return next(((row.file, row.line) for row in shown if row.line), (None, None))

    def name_low(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these nodes whose values eager rounds to 16 bits."""
        return tuple(
            name for name in names
            if self.nodes[name].op == "call_function"
            and (row := self.rows.get(name)) is not None
            and row.dtype in ("float16", "bfloat16")
        )  # fmt: skip


@dataclass(frozen=True)
class RecordedStages:
    """The stages of one graph by name, and what each kernel of its program writes.

    `source` is the generated program, `aten_pairs` name for a node of the captured graph the last
    of those that it became, of the same shape and type. `lowerings` have for a node of the lowered
    graph the function that made a part of a kernel of it. Of a training step these are the stages
    of the forward, the joint graph among them, and `backward` has those behind it.
    """

    by_stage: Mapping[str, StageGraph]
    kernels: tuple[KernelWrites, ...]
    source: str
    aten_pairs: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]]
    backward: RecordedStages | None = None
    lowerings: Mapping[str, str] = field(default_factory=dict)

    @property
    def aten(self) -> StageGraph | None:
        """The graph of operators that the captured one became, with the backward if there is one.

        None where it was not recorded.
        """
        return self.by_stage.get(INFERENCE) or self.by_stage.get(JOINT)

    def list_graphs(self) -> tuple[CapturedGraph, ...]:
        """The graphs of all stages, those of a backward among them."""
        own = tuple(graph.graph for graph in self.by_stage.values())
        return own if self.backward is None else (*own, *self.backward.list_graphs())

    @property
    def is_backward(self) -> bool:
        """Whether the program is that of a backward."""
        return self.lowered.graph.is_backward

    @property
    def captured(self) -> StageGraph:
        """The graph that Dynamo captured: what eager computes."""
        return self.by_stage[CAPTURED]

    @property
    def lowered(self) -> StageGraph:
        """The graph that was lowered to kernels."""
        return self.by_stage[LOWERED]

    def list_random(self) -> frozenset[str]:
        """The nodes of the captured graph that draw random numbers, by what they became, too.

        A dropout that is off draws none; what calls a graph that draws, as a checkpoint, does.
        """
        nodes, parts = self.captured.nodes, self.captured.graph.parts
        inner = {
            name
            for name, node in nodes.items()
            if node.op == "get_attr" and node.target in parts and _draws(parts[node.target])
        }
        names = {name for name, node in nodes.items()
                 if is_random(node) or not inner.isdisjoint(self.captured.reads[name])}  # fmt: skip
        if self.aten is not None:
            nodes = self.aten.nodes
            names |= {
                name for name, group in self.groups.items()
                if any(is_random(nodes[part]) for part in group)
            }  # fmt: skip
        return frozenset(names)


def _draws(graph: CapturedGraph) -> bool:
    """Whether a graph, or one inside of it, draws random numbers."""
    return any(map(is_random, graph.nodes)) or any(map(_draws, graph.parts.values()))


def say_without_numbers(stages: RecordedStages) -> str:
    """Where a program may round otherwise than eager, by its nodes alone; "" for nowhere."""
    graph, known = stages.lowered, set(stages.lowered.placeholders)
    said: dict[str, None] = {}
    for writes in stages.kernels:
        nodes = [node for _, node in writes.values]
        inside = {name for node in nodes for name in graph.find_inside(node, known)}
        known.update(nodes)
        calls = [graph.nodes[name] for name in inside if graph.nodes[name].op.startswith("call")]
        if not writes.kernel.is_generated or not calls:
            continue
        if any(map(is_random, calls)):
            said[f"{writes.kernel.id}: {RANDOM}"] = None
            continue
        low = graph.name_low(
            tuple(sorted(inside.difference(nodes), key=graph.position.__getitem__))
        )
        cause = guess_rounding(map(name_operator, calls), low)
        said[f"{writes.kernel.id}: {cause.name} ({cause.detail})"] = None
    return "; ".join(said)


class StagesMissing(Exception):
    """A stage was not recorded, such as one that torch took from its cache."""


def read_stages(
    report: Report, graphs: Mapping[str, CapturedGraph], code: UsersCode | None = None
) -> RecordedStages:
    """The stages of a compilation; raises `StagesMissing` for one that is not there.

    Of several programs of one direction the first. `code` computes what the user wrote.
    """
    written, own = list_written(graphs), code or UsersCode()
    early = {row.id for row in report.graphs if row.stage in (CAPTURED, *_OF_PRE_GRAD)}
    graphs = {
        id: bind_graph(graph, own, written, is_lowered=id.partition(".")[0] not in early)
        for id, graph in graphs.items()
    }
    found = _read_direction(report, graphs, is_backward=False)
    if found is None:
        raise StagesMissing("the record has no generated program in Python")
    if JOINT in found.by_stage:
        found = replace(found, backward=_read_direction(report, graphs, is_backward=True))
    return found


def _read_direction(
    report: Report, graphs: Mapping[str, CapturedGraph], *, is_backward: bool
) -> RecordedStages | None:
    """The stages of forward or backward, those of both among them; None without a program."""
    lowered_as = {lowered: graph for graph, lowered in report.lowered.items()}
    wrapper = next((w for w in report.wrappers if w.is_backward is is_backward), None)
    if wrapper is None or wrapper.text is None:
        return None
    by_stage: dict[str, StageGraph] = {}
    latest: dict[tuple[str, bool], str] = {}
    for row in report.graphs:
        latest[row.stage, row.is_backward] = row.id
        is_of_program = row.stage != LOWERED or row.id == lowered_as.get(wrapper.graph)
        is_of_both = GRAPH_STAGES[row.stage].is_whole
        if (
            row.id in graphs
            and is_of_program
            and row.is_backward is (is_backward and not is_of_both)
        ):
            rows = {n.name: n for n in _list_nodes(report, row.id)}
            first = latest.get((_BEGINNINGS.get(row.stage, ""), row.is_backward), "")
            steps = list_pass_graphs(report, graphs, first, row.stage)
            graph = StageGraph(row.id, row.stage, graphs[row.id], rows, steps=steps)
            by_stage.setdefault(row.stage, graph)
    for needed in (CAPTURED, LOWERED):
        if needed not in by_stage:
            raise StagesMissing(f"the graph of the stage {needed} was not recorded")
    pairs, groups = _pair_with_aten(report, by_stage)
    _cover_launches(by_stage, groups)
    source = report.texts[wrapper.text]
    last = by_stage[LOWERED]
    kernels = list_writes(report, wrapper.graph, last, last.rows, source)
    made = {
        row.node.rpartition(":")[
            2
        ]: f"{row.operator} by {row.lowering or 'torch'} ({', '.join(row.made)})"
        for row in report.lowerings
        if row.graph == wrapper.graph and row.node is not None
    }
    return RecordedStages(by_stage, kernels, source, pairs, groups, lowerings=made)


def list_pass_graphs(
    report: Report, graphs: Mapping[str, CapturedGraph], first: str, stage: str
) -> list[StageGraph]:
    """The graphs that the passes left which led from a recorded graph, such as "g8", to a stage.

    None where one of them cannot be run: what its pass changed would be laid to the next one.
    """
    steps = report.graph_steps.get(first, ())
    if not all(step.graph_after in graphs for step in steps):
        return []
    rows = {node.name: node for node in _list_nodes(report, first)} if steps else {}
    changed = list(report.pass_nodes)
    found = []
    for step in steps:
        id = step.graph_after or ""
        rows = rows | {node.name: node for node in changed if node.graph == id}
        found.append(StageGraph(id, stage, graphs[id], rows, made_by=step.name))
    return found


def _list_nodes(report: Report, graph: str) -> list[Node]:
    columns = report.nodes.columns
    return [Node(*(columns[name][row] for name in columns)) for row in report.node_rows[graph]]


def _pair_with_aten(
    report: Report, by_stage: Mapping[str, StageGraph]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """By node of the captured graph what it became: the node with its value, and all of them."""
    aten = by_stage.get(INFERENCE) or by_stage.get(JOINT)
    if aten is None:
        return {}, {}
    captured = by_stage[CAPTURED]
    groups: dict[str, list[str]] = {}
    for before, after in report.node_pairs[aten.id]:
        origin, name = before.partition(":")[2], after.partition(":")[2]
        is_own = name not in aten.graph.gradient_of  # a node of autograd's may bear the same name
        if origin in captured.nodes and aten.nodes[name].op == "call_function" and is_own:
            groups.setdefault(origin, []).append(name)
    pairs = {}
    for node in captured.graph.nodes:
        is_part = node.target is getitem and node.name not in groups
        origin = node.args[0].name if is_part and isinstance(node.args[0], NodeRef) else node.name
        want = captured.rows[node.name]
        alike = [
            name for name in groups.get(origin, ())
            if want.dtype is not None
            and (aten.rows[name].shape, aten.rows[name].dtype) == (want.shape, want.dtype)
        ]  # fmt: skip
        users = [name for name, reads in captured.reads.items() if node.name in reads]
        used = {
            read for user in users for name in groups.get(user, ()) for read in aten.reads[name]
        }
        read = used.intersection(alike)  # of several of one size the one that is read on
        last = _find_part(aten, alike, node.args[1]) if is_part else next(reversed(alike), None)
        chosen = read.pop() if len(read) == 1 else last
        if chosen is not None:
            pairs[node.name] = chosen
    left = name_values(aten.graph)
    pairs |= {name: left[key] for key, name in name_values(captured.graph).items() if key in left}
    return pairs, {origin: tuple(names) for origin, names in groups.items()}


def _cover_launches(
    by_stage: Mapping[str, StageGraph], groups: Mapping[str, Sequence[str]]
) -> None:
    """Note the launches that belong to an operator of the user which has a reference."""
    aten, captured = by_stage.get(INFERENCE) or by_stage.get(JOINT), by_stage[CAPTURED]
    for origin, names in groups.items():
        if aten is not None and isinstance(captured.nodes[origin].target, UsersReference):
            for target in (aten.nodes[name].target for name in names):
                if isinstance(target, UsersLaunch):
                    target.code.covered.add(target.key)


def _find_part(aten: StageGraph, group: Sequence[str], place: Any) -> str | None:
    """The node of a group that takes one part of what an operator with several results gives."""
    taken = [name for name in group if aten.nodes[name].target is getitem]
    return next((name for name in taken if aten.nodes[name].args[1] == place), None)
