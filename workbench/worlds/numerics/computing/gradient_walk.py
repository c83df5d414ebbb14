"""The backward of a training step: each operator's gradient beside autograd's, and every pass.

The joint graph of forward and backward is run once as eager rounds it. Where the gradient of an
operator is there, autograd computes it again from the same inputs: by eager's own formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import CapturedNode, NodeRef, filled
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.worlds.numerics.computing.cones import (
    CannotCompute,
    Chain,
    IndexedGraph,
    is_random,
    name_operator,
)
from workbench.worlds.numerics.computing.distances import Place, TwoWays, list_noisy, measure_off
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.recorded_stages import (
    BACKWARD,
    FORWARD,
    JOINT_PASSES,
    LOWERED,
    RecordedStages,
    StageGraph,
)
from workbench.worlds.numerics.computing.stage_walk import (
    DECOMPOSITIONS,
    Check,
    Checks,
    StageWalk,
    run_checks,
)
from workbench.worlds.numerics.findings.causes import GRADIENT, classify_decomposition
from workbench.worlds.numerics.rows import Deviation

Values = Mapping[str, Any]
_MOST_ORDERS = 24
"""Ways in which gradients are given to outputs of one shape that are tried: all of four."""


class Learning(Chain):
    """The same with autograd's history."""

    mode = torch.enable_grad

    def _computed_or_selected(self, node: CapturedNode, held: Values) -> Any:
        return self.compute(node, held)  # a selection from an input has a gradient, too


def walk_gradients(
    stages: RecordedStages,
    joint_inputs: Values,
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> StageWalk:
    """Check the gradient of every operator and every pass behind the joint graph.

    `joint_inputs` are what the step was given and the gradients of its outputs, by placeholder.
    Raises `CannotCompute` where the joint graph cannot be run node by node.
    """
    backward, joint = stages.backward, stages.aten
    assert backward is not None
    assert joint is not None
    lost: list[str] = []
    listed = list(_list_gradients(stages, joint, lost))
    own = {name: name for name, node in joint.nodes.items() if node.op != "output"}
    checks = Checks(joint, own, joint_inputs)
    for graphs in (stages.by_stage, backward.by_stage):
        passed = graphs.get(JOINT_PASSES, joint)
        if graphs is stages.by_stage:
            listed += checks.of_passes(joint, passed)
        parted = next((graphs[name] for name in (FORWARD, BACKWARD) if name in graphs), None)
        if parted is not None:
            listed += checks.of_passes(passed, parted, with_outputs=False)
            listed += checks.of_passes(parted, graphs[LOWERED])
    random = frozenset(name for name, node in joint.nodes.items() if is_random(node))
    walk = run_checks(joint, joint_inputs, listed, random, tell)
    walk.not_compared += lost
    return walk


def _list_gradients(stages: RecordedStages, joint: StageGraph, lost: list[str]) -> Iterator[Check]:
    """A check for each gradient that the nodes of one operator's backward give to others."""
    captured = stages.captured
    given_inputs = pair_inputs(captured, joint)
    known = dict(stages.aten_pairs) | given_inputs
    fixed = _find_fixed(joint, given_inputs)
    groups: dict[str, list[str]] = {}
    for name, origin in joint.graph.gradient_of.items():
        groups.setdefault(origin, []).append(name)
    late = _find_late(joint)
    drawn = stages.list_random()
    for origin, names in groups.items():
        group = set(names)
        sources = {
            source for name in names for source in joint.reads[name] if source in late - group
        }
        ends = [
            name
            for name in names
            if name in late and any(name in joint.reads[n] for n in joint.nodes if n not in group)
        ]
        reads = captured.reads.get(origin, ())
        inputs = {source: known[source] for source in reads if source in known}
        mask = _find_mask(stages, joint, origin) if origin in drawn else ""
        if not sources or origin not in captured.nodes:
            lost.append(f"the gradient of {origin}: its inputs are unknown")
        elif mask is None:
            lost.append(
                f"the gradient of {origin}: it draws random numbers for something other than a mask"
            )
        elif len(inputs) < len(reads):
            lost.append(f"the gradient of {origin}: one of its inputs is unknown")
        else:
            place = captured.position[origin]
            before = {node for name, node in known.items() if captured.position[name] < place}
            for end in ends:
                leaves = joint.find_leaves(end, before | sources | {mask})
                own = tuple(name for name in joint.nodes if name in sources & leaves)
                step = Step(captured.nodes[origin], captured, inputs, own, mask, fixed=fixed)
                needs = frozenset({*leaves, *inputs.values(), *own, *filter(None, [mask])})
                yield Check(needs, _check_gradient(step, joint, end, leaves))


def _find_mask(stages: RecordedStages, joint: StageGraph, origin: str) -> str | None:
    """The node that holds which elements a dropout kept; None of another random operator."""
    if name_operator(stages.captured.nodes[origin]).rpartition(".")[2] != "dropout":
        return None
    shape = stages.captured.rows[origin].shape
    masks = [
        name
        for name in stages.groups.get(origin, ())
        if (joint.rows[name].dtype, joint.rows[name].shape) == ("bool", shape)
    ]
    return masks[0] if len(masks) == 1 else None


def pair_inputs(captured: StageGraph, joint: StageGraph) -> dict[str, str]:
    """By input of the captured graph that of the joint graph, where they are the same in turn."""
    own = captured.placeholders
    later = [name for name in joint.placeholders if not name.startswith("tangents")]
    if len(own) != len(later):
        return {}
    pairs = dict(zip(own, later, strict=True))
    alike = (captured.rows[name].shape == joint.rows[other].shape for name, other in pairs.items())
    return pairs if all(alike) else {}


def _find_fixed(joint: StageGraph, inputs: Mapping[str, str]) -> frozenset[str]:
    """The inputs of the captured graph that the joint graph has no gradient of."""
    grads = tp.TREE_LEAVES.get()(joint.outputs)[-len(inputs) :] if inputs else ()
    pairs = zip(inputs, grads, strict=False)
    return frozenset(name for name, grad in pairs if not isinstance(grad, NodeRef))


def _find_late(joint: IndexedGraph) -> frozenset[str]:
    """The nodes that are computed from the gradients of the outputs, these among them."""
    late: set[str] = {name for name in joint.placeholders if name.startswith("tangents")}
    for name in joint.nodes:
        if late & set(joint.reads[name]):
            late.add(name)
    return frozenset(late)


@dataclass(frozen=True)
class Step:
    """One operator of eager's with the nodes of the joint graph that have what it is given.

    `given` have the gradients of its outputs, of which `places` says which each is of. `mask` has
    the elements that a dropout kept. Inputs that are `fixed` have no gradient: some operators take
    none that asks for it, as of the mean that a batch norm keeps.
    """

    node: CapturedNode
    graph: StageGraph
    inputs: Mapping[str, str]
    given: tuple[str, ...]
    mask: str = ""
    places: tuple[int, ...] = ()
    fixed: frozenset[str] = frozenset()

    @property
    def known(self) -> tuple[str, ...]:
        """The nodes of the joint graph that it is computed from."""
        return (*self.inputs.values(), *self.given, *filter(None, [self.mask]))

    def list_orders(self, values: Values) -> Iterator[Step]:
        """The same for each way in which gradients may belong to outputs, that of torch first.

        Raises `CannotCompute`.
        """
        _, outputs = self._compute(values, Precision.SAME)
        shapes = [values[name].shape for name in self.given]
        orders = islice(permutations(range(len(outputs)), len(shapes)), _MOST_ORDERS)
        for places in orders:
            if all(outputs[at].shape == shape for at, shape in zip(places, shapes, strict=True)):
                yield replace(self, places=places)

    def differentiate(self, values: Values, precision: Precision) -> list[torch.Tensor]:
        """The gradients that autograd gives each place of an input; raises `CannotCompute`."""
        leaves, outputs = self._compute(values, precision)
        results = [outputs[at] for at in self.places]
        grads = [
            precision.fit(values[name]).to(result.dtype)
            for name, result in zip(self.given, results, strict=True)
        ]
        gradients = torch.autograd.grad(results, leaves, grads, allow_unused=True)
        return [one for one in gradients if one is not None]

    def _compute(
        self, values: Values, precision: Precision
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The places of inputs that have a gradient, and the outputs that have one."""
        leaves: list[torch.Tensor] = []

        def place(value: Any) -> Any:
            if not isinstance(value, NodeRef):
                return filled(value, {}, precision.leaf) if not _has_parts(value) else _each(value)
            held = precision.fit(values[self.inputs[value.name]])
            is_float = isinstance(held, torch.Tensor) and held.is_floating_point()
            if is_float and value.name not in self.fixed:
                leaves.append(held.detach().clone().requires_grad_())
                return leaves[-1]
            return held

        def _each(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: place(part) for key, part in value.items()}
            return type(value)(place(part) for part in value)

        # each place of an input is a leaf of its own: autograd adds them up behind the operator
        args, kwargs = place(self.node.args), place(self.node.kwargs)
        node = CapturedNode(self.node.name, self.node.op, self.node.target, args, kwargs)
        with torch.enable_grad(), torch.random.fork_rng():
            if self.mask:
                result = _drop(values[self.mask], *args, **kwargs)
            else:
                result = Learning(self.graph, precision).compute(node, {})
        return leaves, [one for one in list_tensor_leaves(result) if one.requires_grad]


def _drop(
    mask: torch.Tensor, input: torch.Tensor, p: float = 0.5, *_: Any, **__: Any
) -> torch.Tensor:
    """What eager's dropout gives where it keeps these elements."""
    return input * mask.to(input.dtype).div(1 - p)


def _has_parts(value: Any) -> bool:
    return type(value) in (tuple, list, dict)


@dataclass(frozen=True)
class Gradient(Place):
    """A gradient as autograd gives it: of the places of an operator's inputs the one in question.

    `number` counts these; see `Step.differentiate`.
    """

    step: Step | None = None
    number: int = 0

    def compute(self, precision: Precision) -> Any:
        """The gradient by eager's own formula in one precision; raises `CannotCompute`."""
        return self._differentiated(self.known, precision)

    def _differentiated(self, values: Values, precision: Precision) -> torch.Tensor:
        assert self.step is not None
        return self.step.differentiate(values, precision)[self.number]

    def measure_noise(
        self, exact: torch.Tensor, dtype: torch.dtype, scale: float = 0.0
    ) -> float | None:
        """The same for a gradient."""
        return max(
            measure_off(self._differentiated(noisy, Precision.WIDE), exact, dtype, scale)
            for noisy in list_noisy(self.known, is_wide=True)
        )


def _check_gradient(
    step: Step, joint: StageGraph, end: str, leaves: frozenset[str]
) -> Callable[[Values], Deviation | None]:
    def check(held: Values) -> Deviation | None:
        after = Place(
            DECOMPOSITIONS,
            f"{GRADIENT}{step.node.name}",
            joint,
            end,
            {leaf: held[leaf] for leaf in leaves},
        )
        known = {name: held[name] for name in step.known}
        wide = after.compute(Precision.WIDE)
        fits = [
            (measure_off(wide, one, torch.float64), number, order)
            for order in step.list_orders(known)
            for number, one in enumerate(order.differentiate(known, Precision.WIDE))
            if one.shape == wide.shape
        ]
        if not fits:
            raise CannotCompute(f"{end}: no autograd gradient has the shape of {step.node.name}")
        # of several inputs or outputs of one shape it is the nearest: a wrong one is far from all
        _, number, order = min(fits, key=lambda fit: fit[0])
        before = Gradient(DECOMPOSITIONS, after.part, joint, end, known, step=order, number=number)
        measured = TwoWays(before, after).measure()
        if measured is None:
            return None
        return after.row(classify_decomposition(measured[0], (), is_random=False), **measured[1])

    return check


def differentiate_graph(
    captured: StageGraph,
    inputs: Values,
    learned: Sequence[str],
    tangents: Sequence[torch.Tensor],
    precision: Precision,
) -> list[torch.Tensor | None]:
    """The gradients of the `learned` inputs by autograd through the captured graph.

    `tangents` are those of the outputs that have one, in turn. Raises `CannotCompute`.
    """
    values = {name: precision.fit(value) for name, value in inputs.items()}
    values |= {name: values[name].detach().clone().requires_grad_() for name in learned}
    with torch.enable_grad():
        results = tp.TREE_LEAVES.get()(Learning(captured, precision).outputs(values))
        outputs = [o for o in results if isinstance(o, torch.Tensor) and o.requires_grad]
        if len(outputs) != len(tangents):
            raise CannotCompute("outputs that require gradients do not match the step's")
        pairs = zip(outputs, tangents, strict=True)
        try:
            return list(
                torch.autograd.grad(
                    outputs,
                    [values[name] for name in learned],
                    [tangent.to(output.dtype) for output, tangent in pairs],
                    allow_unused=True,
                )
            )
        except RuntimeError as error:
            raise CannotCompute(f"autograd: {error}") from error
