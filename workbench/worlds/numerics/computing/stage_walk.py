"""Decompositions and passes, each against what it was made from: one walk over the captured graph.

The captured graph is run once as eager runs it. As soon as the values are there that an operator,
or a node that a pass changed, is computed from, both sides are computed from them; what no check
needs any more is let go of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import getitem
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import NodeRef, filled
from workbench.worlds.numerics.computing.cones import CannotCompute, Chain, select_known
from workbench.worlds.numerics.computing.distances import Place, TwoWays, compare_value
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.recorded_stages import (
    BACKWARD,
    CAPTURED,
    FORWARD,
    INFERENCE,
    JOINT_PASSES,
    LOWERED,
    PRE_GRAD,
    RecordedStages,
    StageGraph,
)
from workbench.worlds.numerics.computing.users_launches import UsersLaunch, UsersReference
from workbench.worlds.numerics.findings.causes import UNKNOWN, Cause, classify_decomposition
from workbench.worlds.numerics.rows import Deviation

DECOMPOSITIONS, PASSES = "decompositions", "passes"
PASSES_OF = {
    PRE_GRAD: "pre-grad passes",
    JOINT_PASSES: "joint passes",
    LOWERED: "post-grad passes",
    FORWARD: "partitioner",
    BACKWARD: "partitioner",
}
"""What made the graph of a stage out of the one before it."""
_SEED = 31


@dataclass(frozen=True)
class Check:
    """Two ways to one value, computed once `needs` of the graph that runs are there."""

    needs: frozenset[str]
    run: Callable[[Mapping[str, Any]], Deviation | None]


@dataclass
class StageWalk:
    """What the walk found: the rows, eager's outputs, what could not be compared and why."""

    rows: list[Deviation] = field(default_factory=list)
    outputs: Any = None
    compared: int = 0
    not_compared: list[str] = field(default_factory=list)


def walk_stages(
    stages: RecordedStages,
    inputs: Mapping[str, Any],
    aten_inputs: Mapping[str, Any],
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> StageWalk:
    """Run the captured graph and check every operator and pass; both inputs are by placeholder.

    `tell` is given how many nodes are done, and of how many. Of a training step the passes behind
    the joint graph are left to a walk over that one. Raises `CannotCompute` where the captured
    graph itself cannot be run node by node.
    """
    captured, by_stage = stages.captured, stages.by_stage
    checks = Checks(captured, {a: name for name, a in stages.aten_pairs.items()}, aten_inputs)
    listed = [] if stages.aten is None else list(checks.of_operators(stages.aten))
    if PRE_GRAD in by_stage:
        own = Checks(captured, {name: name for name in captured.nodes}, aten_inputs)
        listed += own.of_passes(captured, by_stage[PRE_GRAD])
    names = [n for n in (INFERENCE, JOINT_PASSES, LOWERED) if n in by_stage]
    for first, second in pairwise(names if INFERENCE in by_stage else ()):
        listed += checks.of_passes(by_stage[first], by_stage[second])
    return run_checks(captured, inputs, listed, stages.list_random(), tell)


def run_checks(
    graph: StageGraph,
    inputs: Mapping[str, Any],
    checks: Iterable[Check],
    random: frozenset[str],
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> StageWalk:
    """Run a graph as eager rounds it, and each check as soon as what it needs is there.

    `random` are the nodes at which the generator is set anew.
    """
    by_place: dict[int, list[Check]] = {}
    later: dict[str, int] = {}
    for check in checks:
        place = max((graph.position[name] for name in check.needs), default=0)
        by_place.setdefault(place, []).append(check)
        later.update((name, max(place, later.get(name, 0))) for name in check.needs)
    result, versions = StageWalk(), {}
    walk = Chain(graph, Precision.SAME).walk(inputs, later)
    with closing(walk):  # what is cancelled half-way gives the grad mode back
        for place, node, value, held in _seeded(walk, graph, random):
            versions[node.name] = _versions(value)
            for check in by_place.get(place, ()):
                tell(place, len(graph.nodes))
                late = sorted(n for n in check.needs if _versions(held[n]) != versions[n])
                if late:
                    result.not_compared.append(
                        f"{node.name}: {late[0]} was later modified in place"
                    )
                    continue
                try:
                    row = check.run(held)
                except CannotCompute as error:
                    result.not_compared.append(str(error))
                    continue
                result.compared += 1
                result.rows += [] if row is None else [row]
            if node.op == "output":
                result.outputs = value
    return result


def _seeded(walk: Iterator[Any], graph: StageGraph, random: frozenset[str]) -> Iterator[Any]:
    """The walk, with the generator set anew before every node that draws from it."""
    names = list(graph.nodes)
    for place in range(len(names)):
        if names[place] in random:
            torch.manual_seed(_SEED)
        yield next(walk)
    next(walk, None)


def _versions(value: Any) -> tuple[int, ...]:
    """How often each tensor of a value was written to."""
    parts = value if isinstance(value, tuple | list) else (value,)
    return tuple(part._version for part in parts if isinstance(part, torch.Tensor))


class Checks:
    """Lists the checks of decompositions and of passes beside a graph that runs.

    `by_later` has for nodes of later graphs the node of it with the same value, `later_inputs` are
    the inputs of later graphs by placeholder.
    """

    def __init__(
        self, graph: StageGraph, by_later: Mapping[str, str], later_inputs: Mapping[str, Any]
    ):
        self._graph = graph
        self._by_later = by_later
        self._later_inputs = later_inputs

    def of_operators(self, aten: StageGraph) -> Iterator[Check]:
        """A check for each node that became others."""
        for became, name in self._by_later.items():
            if name in self._graph.shown:  # a kernel of the user stays what it is
                continue
            whole = self._find_whole(name)
            # what else the operator gives is inside of it, and no input of this part
            others = {
                node: origin
                for node, origin in self._by_later.items()
                if node == became or self._find_whole(origin) != whole
            }
            inside = aten.find_inside(became, others.keys() - {became})
            has_launch = any(isinstance(aten.nodes[part].target, UsersLaunch) for part in inside)
            if has_launch and not isinstance(self._graph.nodes[whole].target, UsersReference):
                continue
            leaves = self._names(aten.find_leaves(became, others.keys() - {became}), others)
            needs = leaves | {*self._graph.reads[whole], name}
            yield Check(needs, self._operator_check(name, became, aten, others))

    def _find_whole(self, name: str) -> str:
        """The operator that gives a value: of a part of several results the one behind it."""
        base = self._graph.reads[name][:1] if self._graph.nodes[name].target is getitem else ()
        return base[0] if base and base[0] not in self._by_later.values() else name

    def _names(self, leaves: frozenset[str], by_name: Mapping[str, str]) -> frozenset[str]:
        """The nodes of the captured graph behind leaves, of which inputs are always there."""
        return frozenset(by_name[leaf] for leaf in leaves if leaf in by_name)

    def _known(
        self, graph: StageGraph, node: str, by_name: Mapping[str, str], held: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The values that a node of one stage is computed from."""
        of_captured = graph.stage in (CAPTURED, PRE_GRAD)
        values = {}
        for leaf in graph.find_leaves(node, by_name.keys() - {node}):
            is_input = leaf in self._later_inputs and not of_captured
            if not is_input and leaf not in by_name:
                raise CannotCompute(f"{node}: {leaf} is unknown")
            values[leaf] = self._later_inputs[leaf] if is_input else held[by_name[leaf]]
        return select_known(graph, node, values)

    def _operator_check(
        self, name: str, became: str, aten: StageGraph, others: Mapping[str, str]
    ) -> Callable[[Mapping[str, Any]], Deviation | None]:
        graph, whole = self._graph, self._find_whole(name)

        def check(held: Mapping[str, Any]) -> Deviation | None:
            reads = {read: held[read] for read in graph.reads[whole]}
            known = self._known(aten, became, others, held)
            before = Place(DECOMPOSITIONS, "", graph, name, reads)
            part = before.operators[-1] if before.operators else name
            after = Place(DECOMPOSITIONS, part, aten, became, known)
            if any(isinstance(aten.nodes[member].target, UsersLaunch) for member in after.inside):
                return compare_value(replace(before, part=part), after.compute(Precision.SAME))
            return compare_ways(TwoWays(before, after), lambda new: (held[name], new))

        return check

    def of_passes(
        self, first: StageGraph, last: StageGraph, *, with_outputs: bool = True
    ) -> Iterator[Check]:
        """A check for each value that a pass between two stages computes otherwise."""
        for old, new in pairwise((first, *last.steps, last)):
            common = {
                name: origin
                for name, origin in self._by_later.items()
                if name in old.nodes and name in new.nodes and _is_alike(old, new, name)
            }
            signs: dict[Any, int] = {}
            before, after = (_sign(graph, common, signs) for graph in (old, new))
            pairs = [(name, name) for name in common]
            returned = zip(_list_outputs(old), _list_outputs(new), strict=False)
            for one, other in returned if with_outputs else ():
                pairs += [(one, other)] if one not in common or one != other else []
            for one, other in pairs:
                is_given = "placeholder" in (old.nodes[one].op, new.nodes[other].op)
                if is_given or before[one] == after[other]:
                    continue
                leaves = old.find_leaves(one, common.keys() - {one})
                leaves |= new.find_leaves(other, common.keys() - {other})
                check = self._pass_check(old, one, new, other, common)
                yield Check(self._names(leaves, common), check)

    def _pass_check(
        self, old: StageGraph, one: str, new: StageGraph, other: str, common: Mapping[str, str]
    ) -> Callable[[Mapping[str, Any]], Deviation | None]:
        def check(held: Mapping[str, Any]) -> Deviation | None:
            of_old = self._known(old, one, common, held)
            of_new = self._known(new, other, common, held)
            made_by = PASSES_OF[new.stage]
            if new.made_by:
                made_by = f"{made_by.removesuffix('es')} {new.made_by}"
            part = made_by + " of the backward" * new.graph.is_backward
            before = Place(PASSES, part, old, one, of_old)
            after = Place(PASSES, part, new, other, of_new)
            return compare_ways(TwoWays(before, after), None)

        return check


def compare_ways(
    ways: TwoWays, values: Callable[[Any], tuple[Any, Any]] | None
) -> Deviation | None:
    """The row of two ways to a value, None where they agree; `values` has the one that is known."""
    drawn = ways.after.is_random or ways.before.is_random
    try:
        with torch.random.fork_rng():
            torch.manual_seed(_SEED)
            new = ways.after.compute(Precision.SAME)
            if values is None:
                torch.manual_seed(_SEED)
            old, new = (ways.before.compute(Precision.SAME), new) if values is None else values(new)
            distances = ways.measure_from(old, new)
    except CannotCompute as error:
        unknown = Cause(UNKNOWN, str(error))
        cause = classify_decomposition(0.0, (), is_random=True) if drawn else unknown
        return ways.after.row(cause)
    if distances is None:
        return None
    gap, measured = distances
    if drawn:  # other numbers: how far they are apart says nothing
        measured = {name: measured[name] for name in ("elements", "differ")}
    cause = classify_decomposition(gap, ways.after.operators, is_random=drawn)
    return ways.after.row(cause, **measured)


def _is_alike(old: StageGraph, new: StageGraph, name: str) -> bool:
    one, other = old.rows[name], new.rows[name]
    return (one.shape, one.dtype) == (other.shape, other.dtype)


def _list_outputs(graph: StageGraph) -> list[str]:
    """The nodes that a graph returns, in order; those of what is no node are left out."""
    return [part.name for part in graph.outputs if isinstance(part, NodeRef)]


@dataclass(frozen=True)
class _Named:
    """Stands for the value of a node in the text of another."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _sign(graph: StageGraph, known: Mapping[str, str], signs: dict[Any, int]) -> dict[str, int]:
    """A number for each node: equal where equal operators are called with equal arguments.

    Known nodes stand for themselves, so that a change is that of one node and of no later one.
    """
    by_name: dict[str, int] = {}
    stands: dict[str, Any] = {}
    for node in graph.graph.nodes:
        text = repr(filled((node.args, node.kwargs), stands))
        key = (node.op, repr(node.target), text)
        by_name[node.name] = signs.setdefault(key, len(signs))
        is_known = node.name in known or node.op == "placeholder"
        stands[node.name] = _Named(node.name if is_known else f"%{by_name[node.name]}")
    return by_name
