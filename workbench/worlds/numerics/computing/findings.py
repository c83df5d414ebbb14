"""Looks at one call: every stage, every kernel, and the outputs beside eager and float64."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from workbench.compiler.call_state.reachable import same_tensor
from workbench.compiler.captured_graphs.captured import NodeRef
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.tasks.progress_events import ProgressCallback, step, tell_count
from workbench.worlds.numerics.computing.cones import (
    CannotCompute,
    Chain,
    is_in_place,
    name_operator,
)
from workbench.worlds.numerics.computing.distances import (
    describe_kind,
    is_comparable,
    list_noisy,
    measure_apart,
    measure_off,
)
from workbench.worlds.numerics.computing.gradient_walk import (
    differentiate_graph,
    pair_inputs,
    walk_gradients,
)
from workbench.worlds.numerics.computing.host_microscope import HostProgram
from workbench.worlds.numerics.computing.kernel_walk import KERNELS, KernelWalk
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.recorded_stages import (
    JOINT_PASSES,
    LOWERED,
    RecordedStages,
    StageGraph,
)
from workbench.worlds.numerics.computing.stage_walk import (
    DECOMPOSITIONS,
    PASSES,
    StageWalk,
    walk_stages,
)
from workbench.worlds.numerics.rows import (
    AFTER_CALL,
    Deviation,
    NumericsOutput,
    NumericsStage,
)

_FEWEST_CLASSES = 32
"""A last dimension of fewer is hardly one of classes whose largest is chosen."""
_PRODUCTS = ("linear", "matmul", "addmm", "mm", "bmm", "einsum")
_KEEPS_ORDER = (
    "float",
    "to",
    "contiguous",
    "getitem",
    "view",
    "reshape",
    "mul",
    "truediv",
    "div",
    "tanh",
    "squeeze",
    "unsqueeze",
    "float32",
)
_CASTS = ("float", "to", "contiguous", "view", "reshape", "float32", "squeeze", "unsqueeze")
_TOP = 5
_MUCH = 64.0  # times eager's rounding: more is none any more
_NOTHING = 2.0**-24
"""Of eager's value: float64 rounds 29 bits below float32, which leaves so little of a 0."""
DRAWN = "the call draws different random numbers each time"


@dataclass(frozen=True)
class Ends:
    """What a call gives by several ways, as flat lists of tensors and other values.

    `exact` and `noisy` are empty where they could not be computed; `why` has the reason. `names`
    are those of gradients, or of what the call leaves in its inputs: they come last. `rounded` has
    the 16 bits that an output was rounded to before it was cast to more, by its number.
    """

    eager: Sequence[Any]
    program: Sequence[Any]
    exact: Sequence[Any] = ()
    noisy: Sequence[Sequence[Any]] = ()
    why: str = ""
    names: Sequence[str] = ()
    rounded: Mapping[int, torch.dtype] = field(default_factory=dict)

    def find_rounding(self, number: int) -> torch.dtype:
        """The type whose roundings an output has."""
        own: torch.dtype = self.eager[number].dtype
        return self.rounded.get(number, own)

    def name(self, number: int) -> str:
        """What an output, or what has a name behind them, is called."""
        count = len(self.eager) - len(self.names)
        if number >= count:
            return self.names[number - count]
        return f"output[{number}]" if count > 1 else "output"


def compute_ends(
    stages: RecordedStages,
    inputs: Callable[[], Mapping[str, Any]],
    eager: Any,
    program: Any,
    *,
    with_noise: bool = True,
) -> Ends:
    """Eager's outputs and the program's, with the same in float64 and under noise on all inputs."""
    captured = stages.captured
    own = ((n, _find_rounding(captured, out)) for n, out in enumerate(_list_given(captured)))
    rounded = {number: dtype for number, dtype in own if dtype is not None}
    ends = Ends(_flatten(eager), _flatten(program), rounded=rounded)
    if stages.list_random():
        return replace(ends, why=DRAWN)
    try:
        with torch.random.fork_rng():
            exact = Chain(captured, Precision.WIDE).outputs(inputs())
            noisy = [
                tp.TREE_LEAVES.get()(Chain(captured, Precision.SAME).outputs(moved))
                for moved in (list_noisy(inputs()) if with_noise else ())
            ]
    except CannotCompute as error:
        return replace(ends, why=f"no float64 value ({error})")
    return replace(ends, exact=tp.TREE_LEAVES.get()(exact), noisy=noisy)


def _flatten(value: Any) -> list[Any]:
    leaves = tp.TREE_LEAVES.get()(value)
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def add_gradients(
    ends: Ends,
    stages: RecordedStages,
    inputs: Callable[[], Mapping[str, Any]],
    joint_inputs: Mapping[str, Any],
    program: Any,
) -> Ends:
    """The same with the gradients of the inputs behind the outputs; `program` has the compiled.

    They are left out where they are others than those of the captured graph, and where it cannot be
    differentiated as a whole.
    """
    captured, joint = stages.captured, stages.aten
    pairs = {} if joint is None else pair_inputs(captured, joint)
    got = _flatten(program)
    if ends.why == DRAWN or len(pairs) != len(got):
        return ends
    names = [name for name, one in zip(pairs, got, strict=True) if one is not None]
    tangents = [value for name, value in joint_inputs.items() if name.startswith("tangents")]

    def differentiate(values: Mapping[str, Any], precision: Precision) -> list[Any]:
        gradients = differentiate_graph(captured, values, names, tangents, precision)
        by_name = dict(zip(names, gradients, strict=True))
        return [by_name.get(name) for name in pairs]

    try:
        eager = differentiate(inputs(), Precision.SAME)
        exact = differentiate(inputs(), Precision.WIDE) if ends.exact else ()
        noisy = [differentiate(moved, Precision.SAME) for moved in list_noisy(inputs())]
    except CannotCompute:
        return ends
    return replace(
        ends,
        eager=(*ends.eager, *eager),
        program=(*ends.program, *got),
        exact=(*ends.exact, *exact),
        noisy=[(*a, *b) for a, b in zip(ends.noisy, noisy, strict=False)],
        names=[f"gradient of {_name_input(name)}" for name in pairs],
    )


def compute_written(
    stages: RecordedStages,
    inputs: Callable[[], Mapping[str, Any]],
    program: Mapping[str, torch.Tensor],
) -> Ends:
    """What eager and the `program` leave in the inputs that one of them writes to."""
    captured = stages.captured
    if stages.list_random():
        return Ends((), (), why=DRAWN)
    before = inputs()
    places = [name for name, value in before.items() if isinstance(value, torch.Tensor)]
    try:
        eager = _leave(captured, inputs(), Precision.SAME, places)
        places = [
            name for name in places if name in program or not same_tensor(before[name], eager[name])
        ]
        noisy = [_leave(captured, moved, Precision.SAME, places) for moved in list_noisy(before)]
    except CannotCompute as error:
        return Ends((), (), why=f"inputs that the call writes to: {error}")
    exact: dict[str, Any] = {}
    # what an operator of higher order writes inside is not seen in float64
    if any(map(is_in_place, captured.graph.nodes)):
        with suppress(CannotCompute):  # then its rows say of no distance from float64
            exact = _leave(captured, inputs(), Precision.WIDE, places)
    return Ends(
        [eager[name] for name in places],
        [program.get(name, before[name]) for name in places],
        [exact[name] for name in places if exact],
        [[draw[name] for name in places] for draw in noisy],
        names=[f"{_name_input(name)}{AFTER_CALL}" for name in places],
    )


def _leave(
    captured: StageGraph, inputs: Mapping[str, Any], precision: Precision, names: Sequence[str]
) -> dict[str, Any]:
    """What the graph leaves in some of its inputs."""
    until = dict.fromkeys(names, len(captured.graph.nodes))
    steps = Chain(captured, precision).walk(inputs, until)
    held = next(held for _, node, _, held in steps if node.op == "output")
    return {name: held[name].detach() for name in names}


def _name_input(name: str) -> str:
    """What the user calls an input of the captured graph, as far as its name says it."""
    first = r"^[Ll]_+(self_(modules_|parameters_|buffers_)?)?"
    ends = rf"{first}|_modules_|_(parameters|buffers)_|_+$"
    return re.sub(ends, _dot, name).strip(".")


def _dot(match: re.Match[str]) -> str:
    return "." if match[0].strip("_") in ("modules", "parameters", "buffers") else ""


def list_unlike(ends: Ends) -> Iterator[str]:
    """Which outputs are not what eager gives, by their number, sizes and types, in sentences."""
    count, got = len(ends.eager), len(ends.program)
    if count != got:
        yield f"The program returns {plural(got, 'value')}; eager returns {count}."
    for number, pair in enumerate(zip(ends.eager, ends.program, strict=False)):
        if any(isinstance(one, torch.Tensor) for one in pair) and not is_comparable(*pair):
            eager, own = map(describe_kind, pair)
            yield f"{ends.name(number).capitalize()} is {own}; eager's is {eager}."


def list_outputs(ends: Ends, logits: Collection[int] = frozenset()) -> Iterator[NumericsOutput]:
    """A row for each output that is a tensor; `logits` are places of those that may be some."""
    for number, (eager, got) in enumerate(zip(ends.eager, ends.program, strict=False)):
        if not is_comparable(eager, got) or ends.why == DRAWN:
            continue
        apart, dtype = measure_apart(got, eager), eager.dtype
        rounded = ends.find_rounding(number)
        exact = ends.exact[number] if number < len(ends.exact) else None
        noisy = [draw[number] for draw in ends.noisy if number < len(draw)]
        off: dict[str, Any] = {"eager_off": None, "own_off": None, "noise": None}
        if isinstance(exact, torch.Tensor) and _vanishes(exact, eager, got):
            off |= {"eager_from_zero": _largest(eager), "own_from_zero": _largest(got)}
        elif isinstance(exact, torch.Tensor):
            off["eager_off"] = measure_off(eager, exact, rounded)
            off["own_off"] = measure_off(got, exact, rounded)
        if noisy and dtype.is_floating_point:
            off["noise"] = max(measure_off(one, eager, rounded) for one in noisy)
        changes = (
            _compare_logits(eager, got, noisy) if number in logits and _has_classes(eager) else {}
        )
        yield NumericsOutput(
            ends.name(number),
            str(dtype).removeprefix("torch."),
            apart.elements,
            apart.differ,
            apart.max_ulp,
            **off,
            **changes,
            rounded=str(rounded).removeprefix("torch.") if rounded is not dtype else "",
        )


def _vanishes(exact: torch.Tensor, eager: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether the exact value is 0 but for rounding in float64: there is no scale to weigh by.

    So is the gradient of a bias in front of a batch norm, of which eager has rounding alone.
    """
    if not eager.dtype.is_floating_point or not eager.numel():
        return False
    true, theirs, own = map(_largest, (exact, eager, got))
    if not true:  # of what is 0, any number is infinitely many roundings off
        return math.isfinite(theirs) and math.isfinite(own) and max(theirs, own) > 0
    return math.isfinite(theirs) and true < theirs * _NOTHING and own <= theirs * _MUCH


def _largest(value: torch.Tensor) -> float:
    return float(value.detach().double().abs().max())


def find_logits(captured: StageGraph) -> frozenset[int]:
    """The outputs that a product gives, scaled or in another form at most, by their places."""
    places = set()
    for place, name in enumerate(_list_given(captured)):
        while name and _name_short(captured, name) in _KEEPS_ORDER:
            name = next(iter(captured.reads[name]), "")
        if name and _name_short(captured, name) in _PRODUCTS:
            places.add(place)
    return frozenset(places)


def _list_given(captured: StageGraph) -> list[str]:
    """The nodes that are returned, in turn; "" for what is none."""
    outputs = tp.TREE_LEAVES.get()(captured.outputs)
    return [output.name if isinstance(output, NodeRef) else "" for output in outputs]


def _find_rounding(captured: StageGraph, name: str) -> torch.dtype | None:
    """The 16 bits that an output was rounded to before it was cast to more; None of another."""
    while name and _name_short(captured, name) in _CASTS:
        name = next(iter(captured.reads[name]), "")
        row = captured.rows.get(name)
        if row is not None and row.dtype in ("float16", "bfloat16"):
            return getattr(torch, row.dtype)  # type: ignore[no-any-return]
    return None


def _name_short(captured: StageGraph, name: str) -> str:
    node = captured.nodes[name]
    return name_operator(node).rpartition(".")[2].strip("_") if node.op.startswith("call") else ""


def _has_classes(value: torch.Tensor) -> bool:
    is_wide = value.dim() >= 2 and value.shape[-1] >= _FEWEST_CLASSES
    return value.dtype.is_floating_point and is_wide and value.numel() > 0


def _compare_logits(
    eager: torch.Tensor, got: torch.Tensor, noisy: Sequence[torch.Tensor]
) -> dict[str, Any]:
    arg_max, top5, kl = _compare_rows(eager, got)
    by_noise = [_compare_rows(eager, one) for one in noisy]
    most = [max(column) for column in zip(*by_noise, strict=True)] if by_noise else [None] * 3
    return {
        "rows": eager.numel() // eager.shape[-1],
        "arg_max": arg_max,
        "top5": top5,
        "kl": kl,
        "noise_arg_max": most[0],
        "noise_top5": most[1],
        "noise_kl": most[2],
    }


def _compare_rows(one: torch.Tensor, other: torch.Tensor) -> tuple[int, int, float]:
    """Positions whose largest is another, whose five largest are others, the mean divergence."""
    first, second = (value.detach().flatten(0, -2).double() for value in (one, other))
    arg_max = int((first.argmax(-1) != second.argmax(-1)).sum())
    tops = [value.topk(_TOP, -1).indices.sort(-1).values for value in (first, second)]
    top5 = int((tops[0] != tops[1]).any(-1).sum())
    logs = [torch.log_softmax(value, -1) for value in (first, second)]
    divergence = (logs[0].exp() * (logs[0] - logs[1])).nan_to_num(0.0).sum(-1)
    return arg_max, top5, max(0.0, float(divergence.mean()))


def list_stages(
    stages: RecordedStages,
    ends: Ends,
    aten_inputs: Callable[[], Mapping[str, Any]],
    own: Mapping[str, tuple[float | None, int]],
) -> Iterator[NumericsStage]:
    """A row for each stage in order: how far its outputs are from float64, and its own part.

    `own` has, by stage, the most that it departs by itself and how many values do.
    """
    yield _stage_row("eager", ends, ends.eager, (None, 0), ends.why)
    is_training = stages.backward is not None
    passed = stages.by_stage.get(JOINT_PASSES if is_training else LOWERED)
    for graph, title in ((stages.aten, "decompositions"), (passed, "passes")):
        if graph is None:
            continue
        outputs = _run_aten(graph, aten_inputs(), ends)
        note = outputs if isinstance(outputs, str) else ends.why
        if is_training and title == "passes" and not note:
            note = "outputs taken before the post-grad passes"
        yield _stage_row(title, ends, () if isinstance(outputs, str) else outputs, own[title], note)
    yield _stage_row("kernels", ends, ends.program, own["kernels"], ends.why)


def _run_aten(graph: StageGraph, inputs: Mapping[str, Any], ends: Ends) -> Sequence[Any] | str:
    """The outputs of a graph of aten operators in the places of eager's; or why there are none."""
    try:
        with torch.random.fork_rng():
            results: list[Any] = tp.TREE_LEAVES.get()(Chain(graph, Precision.SAME).outputs(inputs))
    except CannotCompute as error:
        return str(error)
    # what is written to an input comes before the outputs
    outputs = results[max(0, len(results) - len(ends.eager)) :]
    pairs = zip(ends.eager, outputs, strict=False)
    if len(outputs) < len(ends.eager) or not all(_is_alike(a, b) for a, b in pairs):
        return "the stage's outputs do not match the call's one to one"
    return outputs


def _is_alike(one: Any, other: Any) -> bool:
    return not isinstance(one, torch.Tensor) or is_comparable(one, other)


def _stage_row(
    title: str, ends: Ends, outputs: Sequence[Any], own: tuple[float | None, int], note: str
) -> NumericsStage:
    off: list[float] = []
    apart = []
    for number, (eager, value) in enumerate(zip(ends.eager, outputs, strict=False)):
        if not is_comparable(eager, value) or ends.why == DRAWN:
            continue
        apart.append(measure_apart(value, eager))
        exact = ends.exact[number] if number < len(ends.exact) else None
        is_rounded = eager.dtype.is_floating_point or eager.dtype.is_complex
        if not isinstance(exact, torch.Tensor) or not is_rounded:
            continue
        if not _vanishes(exact, eager, value):
            off.append(measure_off(value, exact, ends.find_rounding(number)))
    total = sum(distance.elements for distance in apart)
    differ = (
        sum(distance.differ * distance.elements for distance in apart) / total if total else None
    )
    ulps = max((distance.max_ulp for distance in apart), default=None)
    return NumericsStage(title, max(off, default=None), differ, ulps, *own, note)


@dataclass(frozen=True)
class Findings:
    """What was found of one call; `compared` counts values, `not_compared` says what was not.

    `unlike` says which outputs are of other sizes or types than eager's.
    """

    deviations: tuple[Deviation, ...]
    stages: tuple[NumericsStage, ...]
    outputs: tuple[NumericsOutput, ...]
    compared: int
    not_compared: tuple[str, ...]
    unlike: tuple[str, ...] = ()


def look_at(program: HostProgram, progress: ProgressCallback | None = None) -> Findings:
    """Compare every stage and every kernel with what it was made from, and the outputs.

    Raises `UsageError` where the captured graph cannot be run node by node.
    """
    with program.running_users_code():
        return _look_at(program, progress)


def _look_at(program: HostProgram, progress: ProgressCallback | None) -> Findings:
    stages = program.stages

    tell = partial(tell_count, progress, thing="node")
    with step(progress, "decompositions and passes"):
        try:
            walked = walk_stages(stages, program.inputs(), program.aten_inputs(), tell)
        except CannotCompute as error:
            raise UsageError(
                f"The captured graph cannot run node by node: {error}. Use wb.verify to compare "
                "the whole call."
            ) from error
    walks: list[StageWalk | KernelWalk] = [walked]
    if stages.backward is not None:
        with step(progress, "decompositions and graph passes of the backward pass"):
            walks.append(_walk_backward(program, tell))
    returned = []
    for part in filter(None, (program, program.backward)):
        kernel_walk = part.start_walk(partial(tell_count, progress, thing="kernel"))
        with step(progress, "kernels" + " of the backward pass" * part.stages.is_backward):
            returned.append(part.walk_kernels(kernel_walk))
        walks.append(kernel_walk)
    with step(progress, "outputs"):
        ends = compute_ends(stages, program.inputs, walked.outputs, program.seen.outputs)
        if stages.backward is not None:
            ends = add_gradients(ends, stages, program.inputs, program.joint_inputs(), returned[-1])
        written = Ends((), ())
        if program.writes:
            written = compute_written(stages, program.inputs, program.written_inputs())
        order = (DECOMPOSITIONS, PASSES, KERNELS)
        rows = sorted(
            (row for walk in walks for row in walk.rows), key=lambda row: order.index(row.stage)
        )
        inputs = program.joint_inputs if stages.backward is not None else program.aten_inputs
        return Findings(
            deviations=tuple(rows),
            stages=tuple(list_stages(stages, ends, inputs, _find_own(rows))),
            outputs=(*list_outputs(ends, find_logits(stages.captured)), *list_outputs(written)),
            compared=sum(walk.compared for walk in walks),
            not_compared=(
                *(why for walk in walks for why in walk.not_compared),
                *([written.why] if written.why not in ("", DRAWN) else []),
            ),
            unlike=(*list_unlike(ends), *list_unlike(written)),
        )


def look_at_outputs(program: HostProgram, outputs: Any) -> Findings:
    """The outputs of other code for the same call, beside eager's and float64."""
    stages = program.stages
    try:
        eager = Chain(stages.captured, Precision.SAME).outputs(program.inputs())
    except CannotCompute as error:
        raise UsageError(f"The captured graph cannot run node by node: {error}.") from error
    ends = compute_ends(stages, program.inputs, eager, outputs)
    rows = list_stages(stages, ends, program.aten_inputs, _find_own(()))
    output_rows = tuple(list_outputs(ends, find_logits(stages.captured)))
    return Findings(
        deviations=(),
        stages=tuple(row for row in rows if row.stage in ("eager", KERNELS)),
        outputs=output_rows,
        compared=len(output_rows),
        not_compared=(),
        unlike=tuple(list_unlike(ends)),
    )


def _walk_backward(program: HostProgram, tell: Callable[[int, int], None]) -> StageWalk:
    try:
        return walk_gradients(program.stages, program.joint_inputs(), tell)
    except CannotCompute as error:
        return StageWalk(
            not_compared=[f"decompositions and graph passes of the backward pass: {error}"]
        )


def _find_own(rows: Sequence[Deviation]) -> Mapping[str, tuple[float | None, int]]:
    """By stage the most that it departs by itself, and how many values do."""
    by_stage = {}
    for stage in (DECOMPOSITIONS, PASSES, KERNELS):
        own = [row for row in rows if row.stage == stage]
        offs = [row.own_off for row in own if row.own_off is not None]
        by_stage[stage] = max(offs, default=None), len(own)
    return by_stage
