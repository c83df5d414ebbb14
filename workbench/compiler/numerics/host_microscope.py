"""Looks at one call of a program of this machine: every stage, every kernel, the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured_nodes import HigherOrderRef
from workbench.compiler.numerics.cones import CannotCompute, is_in_place
from workbench.compiler.numerics.kernel_walk import KERNELS, KernelWalk
from workbench.compiler.numerics.observed_calls import ObservedCall, run_observed, watch_call
from workbench.compiler.numerics.output_changes import (
    compute_ends,
    list_outputs,
    list_stages,
)
from workbench.compiler.numerics.recorded_stages import RecordedStages, read_stages
from workbench.compiler.numerics.recorded_stages import StagesMissing as StagesMissing
from workbench.compiler.numerics.stage_walk import DECOMPOSITIONS, PASSES, walk_stages
from workbench.errors import UsageError
from workbench.report.numerics.numerics_rows import Deviation, NumericsOutput, NumericsStage
from workbench.tasks.progress_events import ProgressCallback, step, tell_count


@dataclass(frozen=True)
class Findings:
    """What was found of one call; `compared` counts values, `not_compared` says what was not."""

    deviations: tuple[Deviation, ...]
    stages: tuple[NumericsStage, ...]
    outputs: tuple[NumericsOutput, ...]
    compared: int
    not_compared: tuple[str, ...]


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
        """Whether a node of the captured graph writes to what it is given."""
        return any(
            is_in_place(node) or isinstance(node.target, HigherOrderRef)
            for node in self.stages.captured.graph.nodes
        )

    def call(self, call: Callable[[], object]) -> None:
        """Call the compiled code once and note what its graphs are given.

        Raises `UsageError` where no program in Python ran.
        """
        is_kept = not self.writes
        with watch_call(self.compiled, lambda value: is_kept) as seen:
            call()
        if not seen.programs:
            raise UsageError(
                "The call ran no generated program in Python, so that no kernel can be looked at: "
                "compile with backend='inductor' and without cpp_wrapper."
            )
        self.seen = seen

    def inputs(self) -> dict[str, Any]:
        """What the captured graph is given, by its placeholders."""
        return self._named(self.stages.captured.placeholders, self.seen.inputs)

    def aten_inputs(self) -> dict[str, Any]:
        """What the lowered graph, and those that it was made from, are given."""
        return self._named(self.stages.lowered.placeholders, self.seen.programs[0].inputs)

    def _named(self, names: tuple[str, ...], values: Any) -> dict[str, Any]:
        made = dict(zip(names, values, strict=True))
        if self.writes:
            made = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in made.items()}
        return made

    def walk_kernels(self, walk: KernelWalk) -> None:
        """Run the program again with its own kernels, and tell the walk of each step."""
        program, names = self.seen.programs[0], {k.kernel.name for k in self.stages.kernels}
        given = list(self.aten_inputs().values())
        run_observed(self.stages.source, program.scope, given, frozenset(names), walk)


def open_program(compiled: Any) -> HostProgram:
    """A compiled call with its stages; raises `StagesMissing` for one that was not recorded."""
    return HostProgram(compiled, read_stages(compiled.report, compiled.graphs))


def look_at(program: HostProgram, progress: ProgressCallback | None = None) -> Findings:
    """Compare every stage and every kernel with what it was made from, and the outputs.

    Raises `UsageError` where the captured graph cannot be run node by node.
    """
    stages = program.stages
    with step(progress, "decompositions and passes"):
        try:
            found = walk_stages(
                stages, program.inputs(), program.aten_inputs(),
                lambda done, of: tell_count(progress, done, of, "node"),
            )  # fmt: skip
        except CannotCompute as error:
            raise UsageError(
                f"The captured graph cannot be run node by node, so that there is nothing to "
                f"compare with: {error}. wb.verify compares the whole call."
            ) from error
    walk = KernelWalk(
        stages, program.aten_inputs(), lambda done, of: tell_count(progress, done, of, "kernel")
    )
    with step(progress, "kernels"):
        program.walk_kernels(walk)
    with step(progress, "outputs"):
        ends = compute_ends(stages, program.inputs, found.outputs, program.seen.outputs)
        order = (DECOMPOSITIONS, PASSES, KERNELS)
        rows = sorted((*found.rows, *walk.rows), key=lambda row: order.index(row.stage))
        return Findings(
            deviations=tuple(rows),
            stages=tuple(list_stages(stages, ends, program.aten_inputs, _find_own(rows))),
            outputs=tuple(list_outputs(ends, stages.captured)),
            compared=found.compared + walk.compared,
            not_compared=(*found.not_compared, *walk.not_compared),
        )


def _find_own(rows: Sequence[Deviation]) -> Mapping[str, tuple[float | None, int]]:
    """By stage the most that it departs by itself, and how many values do."""
    by_stage = {}
    for stage in (DECOMPOSITIONS, PASSES, KERNELS):
        own = [row for row in rows if row.stage == stage]
        known = [row.own_off for row in own if row.own_off is not None]
        by_stage[stage] = max(known, default=None), len(own)
    return by_stage
