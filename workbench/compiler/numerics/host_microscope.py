"""Looks at one call of a program of this machine: every stage, every kernel, the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch

from workbench.compiler.captured_graphs.captured import HigherOrderRef
from workbench.compiler.comparison.trial import compute_gradients
from workbench.compiler.interpreter.verification import Before, Products
from workbench.compiler.numerics.cones import CannotCompute, Chain, is_in_place
from workbench.compiler.numerics.gradient_walk import walk_gradients
from workbench.compiler.numerics.kernel_walk import KERNELS, KernelWalk
from workbench.compiler.numerics.observed_calls import (
    Observe,
    ObservedCall,
    copy_tensor,
    run_observed,
    watch_call,
    watch_programs,
)
from workbench.compiler.numerics.output_changes import (
    Ends,
    add_gradients,
    compute_ends,
    compute_written,
    find_logits,
    list_outputs,
    list_stages,
    list_unlike,
)
from workbench.compiler.numerics.precisions import Precision
from workbench.compiler.numerics.recorded_stages import RecordedStages
from workbench.compiler.numerics.stage_walk import DECOMPOSITIONS, PASSES, StageWalk, walk_stages
from workbench.errors import UsageError, read_first_line
from workbench.report import Kernel
from workbench.report.numerics.numerics_rows import Deviation, NumericsOutput, NumericsStage
from workbench.tasks.progress_events import ProgressCallback, step, tell_count


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


@dataclass
class HostProgram:
    """A compiled call of this machine and its inputs, ready to be looked at again and again.

    `writes` says that the call writes to what it is given: then everything is copied before.
    """

    compiled: Any
    stages: RecordedStages
    seen: ObservedCall = field(default_factory=ObservedCall)

    @property
    def writes(self) -> bool:
        """Whether a node of the captured graph writes to what it is given.

        A backward takes the memory of what the forward saved for its own values.
        """
        return self.stages.is_backward or any(
            is_in_place(node) or isinstance(node.target, HigherOrderRef)
            for node in self.stages.captured.graph.nodes
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What stood in for something else, in sentences."""
        return ()

    @property
    def products(self) -> Products:
        """How products of Triton kernels are computed here; a program of this machine has none."""
        return Products()

    def running_users_code(self) -> AbstractContextManager[None]:
        """What is to be entered where code of the user runs outside of the program."""
        return nullcontext()

    @property
    def unchecked(self) -> tuple[Kernel, ...]:
        """The calls of libraries that are not those that the program will run with."""
        return ()

    def renew(self) -> Self:
        """The same program, ready for another call of its forward."""
        return replace(self, stages=replace(self.stages, backward=None), seen=ObservedCall())

    def call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any],
        learned: Mapping[str, torch.Tensor] | None = None,
    ) -> None:  # fmt: skip
        """Call the compiled code once and note what its graphs are given.

        Of a training step the gradients of `learned` follow. Raises `UsageError` where no program
        in Python ran.
        """
        is_kept = not self.writes
        with watch_call(self.compiled, lambda value: is_kept) as seen:
            output = self.compiled(*args, **kwargs)
            if self.stages.backward is not None:
                with watch_programs(seen):
                    try:
                        compute_gradients(output, learned or {})
                    except RuntimeError as error:
                        raise UsageError(
                            f"The backward of the call cannot be run: {read_first_line(error)}"
                        ) from error
        if len(seen.programs) < 1 + (self.stages.backward is not None):
            raise UsageError(
                "The call ran no generated program in Python, so that no kernel can be looked at: "
                "compile with backend='inductor' and without cpp_wrapper."
            )
        self.seen = seen

    def call_observed(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], walk: Observe
    ) -> None:
        """Call it, and tell the walk of each step of the forward."""
        self.call(args, kwargs)
        self.walk_kernels(walk)

    def inputs(self) -> dict[str, Any]:
        """What the captured graph is given, by its placeholders."""
        return self._named(self.stages.captured.placeholders, self.seen.inputs)

    def written_inputs(self) -> dict[str, torch.Tensor]:
        """What the call left in those that it changed, by their placeholders."""
        names = self.stages.captured.placeholders
        return {names[at]: value for at, value in self.seen.written.items()}

    def aten_inputs(self) -> dict[str, Any]:
        """What the lowered graph, and those that it was made from, are given."""
        return self._named(self.stages.lowered.placeholders, self.seen.programs[0].inputs)

    @property
    def backward(self) -> HostProgram | None:
        """The backward of the same call; None of a call without one."""
        if self.stages.backward is None:
            return None
        seen = ObservedCall(programs=self.seen.programs[1:])
        return HostProgram(self.compiled, self.stages.backward, seen)

    def joint_inputs(self) -> dict[str, Any]:
        """What forward and backward together are given: no values that one saves for the other."""
        later = {} if self.backward is None else self.backward.aten_inputs()
        both, graph = {**later, **self.aten_inputs()}, self.stages.aten
        return {name: both[name] for name in (() if graph is None else graph.placeholders)}

    def find_part(self, graph: str) -> HostProgram:
        """The forward or the backward, whichever has the graph with this id."""
        ids = {kernel.kernel.graph for kernel in self.stages.kernels}
        return self if graph in ids or self.backward is None else self.backward

    def _named(self, names: tuple[str, ...], values: Any) -> dict[str, Any]:
        made = dict(zip(names, values, strict=True))
        if self.writes:
            made = {
                n: copy_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in made.items()
            }
        return made

    def start_walk(self, tell: Callable[[int, int], object]) -> KernelWalk:
        """What compares every kernel with its nodes, ready for `walk_kernels`."""
        return KernelWalk(self.stages, self.aten_inputs(), tell)

    def walk_kernels(self, walk: Observe, before: Before | None = None) -> Any:
        """Run the program again with its own kernels, and tell the walk of each step.

        `before` is told of each kernel before it runs. Returns what it returns.
        """
        program, names = self.seen.programs[0], {k.kernel.name for k in self.stages.kernels}
        given = list(self.aten_inputs().values())
        space = dict(program.scope)
        if before is not None:
            kernels = {name: space[name] for name in names if callable(space.get(name))}
            space |= {name: _telling(name, kernel, before) for name, kernel in kernels.items()}
        return run_observed(self.stages.source, space, given, frozenset(names), walk)


def _telling(name: str, kernel: Callable[..., Any], before: Before) -> Callable[..., Any]:
    """A kernel whose arguments are told before it runs."""

    def called(*args: Any) -> Any:
        before(name, args)
        return kernel(*args)

    return called


def look_at(program: HostProgram, progress: ProgressCallback | None = None) -> Findings:
    """Compare every stage and every kernel with what it was made from, and the outputs.

    Raises `UsageError` where the captured graph cannot be run node by node.
    """
    with program.running_users_code():
        return _look_at(program, progress)


def _look_at(program: HostProgram, progress: ProgressCallback | None) -> Findings:
    stages = program.stages

    def tell(done: int, of: int) -> None:
        tell_count(progress, done, of, "node")

    with step(progress, "decompositions and passes"):
        try:
            walked = walk_stages(stages, program.inputs(), program.aten_inputs(), tell)
        except CannotCompute as error:
            raise UsageError(
                f"The captured graph cannot be run node by node, so that there is nothing to "
                f"compare with: {error}. wb.verify compares the whole call."
            ) from error
    found: list[StageWalk | KernelWalk] = [walked]
    if stages.backward is not None:
        with step(progress, "decompositions and passes of the backward"):
            found.append(_walk_backward(program, tell))
    given = []
    for part in filter(None, (program, program.backward)):
        walk = part.start_walk(lambda done, of: tell_count(progress, done, of, "kernel"))
        with step(progress, "kernels" + " of the backward" * part.stages.is_backward):
            given.append(part.walk_kernels(walk))
        found.append(walk)
    with step(progress, "outputs"):
        ends = compute_ends(stages, program.inputs, walked.outputs, program.seen.outputs)
        if stages.backward is not None:
            ends = add_gradients(ends, stages, program.inputs, program.joint_inputs(), given[-1])
        written = Ends((), ())
        if program.writes:
            written = compute_written(stages, program.inputs, program.written_inputs())
        order = (DECOMPOSITIONS, PASSES, KERNELS)
        rows = sorted(
            (row for each in found for row in each.rows), key=lambda row: order.index(row.stage)
        )
        inputs = program.joint_inputs if stages.backward is not None else program.aten_inputs
        return Findings(
            deviations=tuple(rows),
            stages=tuple(list_stages(stages, ends, inputs, _find_own(rows))),
            outputs=(*list_outputs(ends, find_logits(stages.captured)), *list_outputs(written)),
            compared=sum(each.compared for each in found),
            not_compared=tuple(why for each in found for why in each.not_compared),
            unlike=(*list_unlike(ends), *list_unlike(written)),
        )


def look_at_outputs(program: HostProgram, outputs: Any) -> Findings:
    """The outputs of other code for the same call, beside eager's and float64."""
    stages = program.stages
    try:
        eager = Chain(stages.captured, Precision.SAME).outputs(program.inputs())
    except CannotCompute as error:
        raise UsageError(f"The captured graph cannot be run node by node: {error}.") from error
    ends = compute_ends(stages, program.inputs, eager, outputs)
    rows = list_stages(stages, ends, program.aten_inputs, _find_own(()))
    found = tuple(list_outputs(ends, find_logits(stages.captured)))
    return Findings(
        deviations=(),
        stages=tuple(row for row in rows if row.stage in ("eager", KERNELS)),
        outputs=found,
        compared=len(found),
        not_compared=(),
        unlike=tuple(list_unlike(ends)),
    )


def _walk_backward(program: HostProgram, tell: Callable[[int, int], None]) -> StageWalk:
    try:
        return walk_gradients(program.stages, program.joint_inputs(), tell)
    except CannotCompute as error:
        return StageWalk(not_compared=[f"the decompositions and passes of the backward: {error}"])


def _find_own(rows: Sequence[Deviation]) -> Mapping[str, tuple[float | None, int]]:
    """By stage the most that it departs by itself, and how many values do."""
    by_stage = {}
    for stage in (DECOMPOSITIONS, PASSES, KERNELS):
        own = [row for row in rows if row.stage == stage]
        known = [row.own_off for row in own if row.own_off is not None]
        by_stage[stage] = max(known, default=None), len(own)
    return by_stage
