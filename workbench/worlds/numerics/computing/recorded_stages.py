"""The stages of one compiled graph, ready to be run, with what the record says of their nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import getitem
from typing import Any

from workbench.artifacts.programs import Call, Share, find_kernels, read_program, split_parts
from workbench.compiler.captured_graphs.captured import CapturedGraph, CapturedNode, NodeRef
from workbench.report import Kernel, Node, Report
from workbench.report.graph_stages import GRAPH_STAGES
from workbench.worlds.numerics.computing.cones import IndexedGraph, is_random, name_operator
from workbench.worlds.numerics.computing.users_launches import (
    BoundGraph,
    UsersCode,
    UsersLaunch,
    UsersReference,
    bind_graph,
    list_written,
    name_values,
)
from workbench.worlds.numerics.findings.causes import RANDOM, guess_rounding

CAPTURED = "dynamo"
PRE_GRAD = "after_pre_grad"
INFERENCE = "inference"
JOINT = "joint"
FORWARD = "forward"
BACKWARD = "backward"
JOINT_PASSES = "after_joint_passes"
LOWERED = "after_post_grad"


_BEGINNINGS = {
    PRE_GRAD: "before_pre_grad",
    JOINT_PASSES: "before_joint_passes",
    LOWERED: "before_post_grad",
}
"""The stage that the passes began with which led to another."""
_OF_PRE_GRAD = (PRE_GRAD, _BEGINNINGS[PRE_GRAD])


class StageGraph(IndexedGraph):
    """One stage of a graph: its nodes as data that runs, and by name as the record has them.

    `steps` are the graphs that the passes on the way to it left, in their order, as far as all of
    them are known; each of those has the name of its pass as `made_by`. `shown` has the node of the
    record for a value that a launch of a kernel of the user gives.
    """

    def __init__(
        self,
        id: str,
        stage: str,
        graph: CapturedGraph,
        rows: Mapping[str, Node],
        *,
        made_by: str = "",
        steps: Sequence[StageGraph] = (),
    ):
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
            name
            for name in names
            if self.nodes[name].op == "call_function"
            and (row := self.rows.get(name)) is not None
            and row.dtype in ("float16", "bfloat16")
        )


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
        names = {
            name
            for name, node in nodes.items()
            if is_random(node) or not inner.isdisjoint(self.captured.reads[name])
        }
        if self.aten is not None:
            nodes = self.aten.nodes
            names |= {
                name
                for name, group in self.groups.items()
                if any(is_random(nodes[part]) for part in group)
            }
        return frozenset(names)


def _draws(graph: CapturedGraph) -> bool:
    """Whether a graph, or one inside of it, draws random numbers."""
    return any(map(is_random, graph.nodes)) or any(map(_draws, graph.parts.values()))


def say_without_numbers(stages: RecordedStages) -> str:
    """Where a program may round otherwise than eager, by its nodes alone; "" for nowhere."""
    graph, known = stages.lowered, set(stages.lowered.placeholders)
    reasons: dict[str, None] = {}
    for writes in stages.kernels:
        nodes = [node for _, node in writes.values]
        inside = {name for node in nodes for name in graph.find_inside(node, known)}
        known.update(nodes)
        calls = [graph.nodes[name] for name in inside if graph.nodes[name].op.startswith("call")]
        if not writes.kernel.is_generated or not calls:
            continue
        if any(map(is_random, calls)):
            reasons[f"{writes.kernel.id}: {RANDOM}"] = None
            continue
        low = graph.name_low(
            tuple(sorted(inside.difference(nodes), key=graph.position.__getitem__))
        )
        cause = guess_rounding(map(name_operator, calls), low)
        reasons[f"{writes.kernel.id}: {cause.name} ({cause.detail})"] = None
    return "; ".join(reasons)


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
    stages = _read_direction(report, graphs, is_backward=False)
    if stages is None:
        raise StagesMissing("the report has no generated Python program")
    if JOINT in stages.by_stage:
        stages = replace(stages, backward=_read_direction(report, graphs, is_backward=True))
    return stages


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
            raise StagesMissing(f"the graph of stage {needed} was not recorded")
    pairs, groups = _pair_with_aten(report, by_stage)
    _cover_launches(by_stage, groups)
    source = report.texts[wrapper.text]
    last = by_stage[LOWERED]
    kernels = list_writes(report, wrapper.graph, last, last.rows, source)
    lowerings = {
        row.node.rpartition(":")[
            2
        ]: f"{row.operator} by {row.lowering or 'torch'} ({', '.join(row.made)})"
        for row in report.lowerings
        if row.graph == wrapper.graph and row.node is not None
    }
    return RecordedStages(by_stage, kernels, source, pairs, groups, lowerings=lowerings)


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
    stage_graphs = []
    for step in steps:
        id = step.graph_after or ""
        rows = rows | {node.name: node for node in changed if node.graph == id}
        stage_graphs.append(StageGraph(id, stage, graphs[id], rows, made_by=step.name))
    return stage_graphs


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
            name
            for name in groups.get(origin, ())
            if want.dtype is not None
            and (aten.rows[name].shape, aten.rows[name].dtype) == (want.shape, want.dtype)
        ]
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
    parts = [name for name in group if aten.nodes[name].target is getitem]
    return next((name for name in parts if aten.nodes[name].args[1] == place), None)


_SIGNATURE = re.compile(r"'signature': (\{[^{}]*\})")
_USERS = "custom_kernel=True"
_IN_PLACE = "in_out_ptr"
_PARAMETERS = re.compile(r'(?:extern "C"\s+void\s+\w+|\ndef triton_\w+)\(([^)]*)\)')
_READS = ("loadu(", "tl.load(", " = ")
_VIEW = "reinterpret_tensor("

View = tuple[tuple[int, ...], tuple[int, ...], int]
_Left = tuple[tuple[tuple[str, str], ...], Mapping[str, View]]


@dataclass(frozen=True)
class KernelWrites:
    """One call of a kernel of the record, and what it writes: variable and node of each buffer.

    `views` has sizes, strides and offset of a part of a variable's memory that holds its node.
    """

    kernel: Kernel
    values: tuple[tuple[str, str], ...]
    views: Mapping[str, View] = field(default_factory=dict)


def find_call(
    calls: Iterable[KernelWrites], name: str, variables: Collection[str]
) -> KernelWrites | None:
    """The call that a statement with these variables is.

    Of several buffers in one place only the last has its name in the statement, and the parts of
    what a library call gives are named by the statements behind it.
    """
    alike = [call for call in calls if call.kernel.name == name]
    own = (call for call in alike if any(one in variables for one, _ in call.values))
    loose = (call for call in alike if not call.values or not call.kernel.is_generated)
    return next(own, next(loose, None))


@dataclass
class _Launches:
    """The launches of kernels of the user in a program, in the order of its calls.

    `given` has the nodes of variables that one reads and no buffer of the record names, `left` for
    each launch what it writes, as in `KernelWrites`.
    """

    given: dict[str, str] = field(default_factory=dict)
    left: list[_Left] = field(default_factory=list)

    @property
    def changed(self) -> set[str]:
        """The variables that any of them writes to."""
        return {variable for values, _ in self.left for variable, _ in values}


def list_writes(
    report: Report, program: str, graph: IndexedGraph, rows: Mapping[str, Node], source: str
) -> tuple[KernelWrites, ...]:
    """The kernels of a program, by the id of its graph of buffers, in the order of its calls.

    `graph` is what was lowered to it, with the `rows` that the record has of its nodes.
    """
    launches = _find_launches(report, program, graph, source)
    buffers = list(_list_buffers(report, program, rows, launches))
    by_node: dict[str, list[tuple[str, str]]] = {}
    for variable, node, writers in buffers:
        for writer in writers:
            by_node.setdefault(writer, []).append((variable, node))
    writes = []
    for kernel in report.kernels:
        nodes, calls = kernel.scheduler_nodes, max(1, kernel.calls)
        size = len(nodes) // calls if len(nodes) % calls == 0 else len(nodes)
        for first in range(0, len(nodes), max(1, size)):  # equal layers call one kernel in turn
            own = nodes[first : first + size]
            values = tuple(value for name in own for value in by_node.get(name, ()))
            if kernel.graph == program:
                writes.append(KernelWrites(kernel, values))
    values_of = {variable: node for variable, node, _ in buffers}
    return _in_order_of_calls(writes, source, values_of, launches)


def _list_buffers(
    report: Report, program: str, rows: Mapping[str, Node], launches: _Launches
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The buffers that hold the value of a node: the variable, the node, what writes it.

    One that is filled first and added to by a later kernel, as the gradient of a table is, holds
    it when that one has run: the later buffer has no node of its own. What a kernel of the user
    changes holds it until then.
    """
    own = [buffer for buffer in report.buffers if buffer.graph == program and buffer.written_by]
    added = {
        b.stored_in: b.written_by
        for b in own
        if b.stored_in and b.node is None and b.stored_in not in launches.changed
    }
    for buffer in own:
        node = (buffer.node or "").partition(":")[2]
        read = launches.given.get(buffer.name, "")
        if not node and read in rows and rows[read].shape == buffer.shape:
            node = read
        if node in rows:
            writers = added.get(buffer.name, buffer.written_by)
            yield buffer.stored_in or buffer.name, node, writers


def _in_order_of_calls(
    kernels: list[KernelWrites], source: str, values: Mapping[str, str], launches: _Launches
) -> tuple[KernelWrites, ...]:
    """Kernels as the program calls them, with the parts of what a library call gives.

    The record has them in the order of their making.
    """
    program, users = read_program(source, {}), _read_users_kernels(source)
    ordered: list[KernelWrites] = []
    by_result: dict[str, int] = {}
    left = iter(launches.left)
    defined = {one.name: one for one in find_kernels(source) if _IN_PLACE in one.source}
    for event in () if program is None else program.events:
        if isinstance(event, Call):
            words = frozenset(re.findall(r"\w+", f"{event.arguments} {event.result}"))
            fit = find_call(kernels, event.kernel, words)
            own = next(left, ((), {})) if event.kernel in users else None
            if fit is not None:
                kernels.remove(fit)
                if event.kernel in defined:
                    lost = list_unwritten(defined[event.kernel].source, event.split_arguments())
                    fit = replace(fit, values=tuple(v for v in fit.values if v[0] not in lost))
                by_result[event.result or ""] = len(ordered)
                ordered.append(fit if own is None else KernelWrites(fit.kernel, *own))
        elif isinstance(event, Share) and event.part is not None and event.base in by_result:
            place, node = by_result[event.base], values.get(event.name)
            one, part = ordered[place], (event.name, node or "")
            if node is not None and part not in one.values:
                ordered[place] = replace(one, values=(*one.values, part))
    return (*ordered, *kernels)


def list_unwritten(source: str, arguments: Sequence[str]) -> set[str]:
    """The variables that a kernel is passed to write in place, and only reads.

    Of a value that no other kernel reads Inductor drops the store, and still passes its memory. In
    C++ one memory may have several names: what is written by another name may be written.
    """
    match = _PARAMETERS.search(source)
    if match is None:
        return set()
    names = [
        re.split(r"[\s*&]", part.partition(":")[0].strip())[-1] for part in match[1].split(",")
    ]
    return {
        passed
        for name, passed in zip(names, arguments, strict=False)
        if name.startswith(_IN_PLACE)
        and all(
            source[: use.start()].endswith(_READS) and source[use.end()] != ";"
            for use in re.finditer(rf"\b{name}\b", source)
            if use.start() > match.end()
        )
    }


def _read_users_kernels(source: str) -> dict[str, tuple[str, list[str]]]:
    """By the name of a statement the kernel of the user behind it, and what it is passed in turn.

    Constants of the compilation are not passed.
    """
    by_statement = {}
    for kernel in find_kernels(source) if _USERS in source else ():
        if kernel.language == "triton" and _USERS in source[kernel.start : kernel.end]:
            name = ast.literal_eval(split_parts(kernel.arguments)[0])
            kinds = read_signature(kernel.evaluate_source())
            by_statement[kernel.name] = (
                name,
                [one for one, kind in kinds.items() if kind != "constexpr"],
            )
    return by_statement


def read_signature(source: str) -> dict[str, str]:
    """The types that a Triton kernel was compiled for, by argument, as its source has them."""
    match = _SIGNATURE.search(source)
    return {} if match is None else dict(ast.literal_eval(match[1]))


def _find_launches(report: Report, program: str, graph: IndexedGraph, source: str) -> _Launches:
    """Pair the calls of kernels of the user in a program with the launches in its graph."""
    waiting = [node for node in graph.graph.nodes if isinstance(node.target, UsersLaunch)]
    launches = _Launches()
    parsed = read_program(source, {}) if waiting else None
    users = _read_users_kernels(source) if waiting else {}
    named = {
        buffer.name: buffer.node.partition(":")[2]
        for buffer in report.buffers
        if buffer.graph == program and buffer.node is not None
    }
    for event in () if parsed is None else parsed.events:
        if not isinstance(event, Call) or event.kernel not in users:
            continue
        name, parameters = users[event.kernel]
        passed = dict(zip(parameters, event.split_arguments(), strict=False))
        fits = (node for node in waiting if _is_launch_of(node, name, passed, named))
        launch = next(fits, None)
        left: dict[str, str] = {}
        views: dict[str, View] = {}
        if launch is not None:
            waiting.remove(launch)
            for node in _list_values(graph, launch):
                variable, view = _read_passed(passed.get(str(node.args[1]), ""))
                if variable:
                    left[variable] = node.name
                    views |= {variable: view} if view is not None else {}
            launches.given |= {
                passed[argument]: value.name
                for argument, value in launch.kwargs["given"].items()
                if isinstance(value, NodeRef)
                and argument not in launch.target.written
                and passed.get(argument, "").isidentifier()
                and passed[argument] not in named
            }
            named |= left  # the variable holds another value from here on
        launches.left.append((tuple(left.items()), views))
    return launches


def _is_launch_of(
    node: CapturedNode, name: str, passed: Mapping[str, str], named: Mapping[str, str]
) -> bool:
    """Whether a call that is passed these may be a launch in the graph."""
    pairs = [
        (named.get(passed.get(argument, "")), value.name)
        for argument, value in node.kwargs["given"].items()
        if isinstance(value, NodeRef)
    ]
    return node.target.name == name and all(has in (None, want) for has, want in pairs)


def _list_values(graph: IndexedGraph, launch: CapturedNode) -> Iterator[CapturedNode]:
    """The nodes that have what a launch leaves in its arguments."""
    for node in graph.graph.nodes:
        if len(node.args) == 2 and node.args[0] == NodeRef(launch.name):
            yield node


def _read_passed(text: str) -> tuple[str, View | None]:
    """The variable that a statement passes, and which part of its memory; "" for what is neither.

    Of a part with symbolic sizes nothing is known.
    """
    if not text.startswith(_VIEW):
        return (text if text.isidentifier() else ""), None
    variable, *layout = split_parts(text.removeprefix(_VIEW).removesuffix(")"))
    try:
        size, stride, offset = (ast.literal_eval(part) for part in layout)
    except (ValueError, SyntaxError):
        return "", None
    return variable, (tuple(size), tuple(stride), int(offset))
