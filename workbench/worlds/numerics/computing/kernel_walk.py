"""Each kernel of a program against its nodes, from the buffers that it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.report import Kernel
from workbench.worlds.numerics.computing.cones import select_known
from workbench.worlds.numerics.computing.distances import MOST_NAMED, Place, compare_value
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.recorded_stages import RecordedStages, View, find_call
from workbench.worlds.numerics.findings.causes import FALLBACK_RANDOM, RANDOM, Cause
from workbench.worlds.numerics.rows import Deviation

KERNELS = "kernels"


@dataclass(frozen=True)
class Target:
    """What runs the kernels: how it may multiply float32, and what of it was not run here.

    `why_not` gives, for a kernel and the nodes that it computes, why comparing it would say
    nothing; else "". It is None for what is compared elsewhere.
    """

    tf32: Callable[[Kernel], Precision | None] = lambda kernel: None
    why_not: Callable[[Kernel, Iterable[str]], str | None] = lambda kernel, inside: ""


class KernelWalk:
    """Told of each step of a program, it compares what the step left with its nodes.

    A kernel is judged by what was there before it ran: what it wrote itself it may hold in more
    digits than the buffer has. `rows` has what departs, `not_compared` why a kernel was not.
    """

    def __init__(
        self,
        stages: RecordedStages,
        inputs: Mapping[str, Any],
        tell: Callable[[int, int], object] = lambda done, of: None,
        target: Target | None = None,
    ):
        self._target = target or Target()
        self._stages = stages
        self._known: dict[str, Any] = dict(inputs)
        self._inputs = frozenset(inputs)
        self._tell = tell
        self._left = list(range(len(stages.kernels)))
        self._last_use = _find_last_uses(stages, self._inputs)
        self.rows: list[Deviation] = []
        self.compared = 0
        self.not_compared: list[str] = []
        self.given: dict[str, dict[str, Any]] = {}

    def __call__(self, step: str, values: Mapping[str, Any]) -> None:
        """A kernel or library call has run; `values` are the variables in its statement."""
        number = self._find(step, values)
        if number is None:
            return
        self._tell(number, len(self._stages.kernels))
        writes = self._stages.kernels[number]
        own = {
            node: shaped
            for variable, node in writes.values
            if (shaped := self._shape(node, values.get(variable), writes.views.get(variable)))
            is not None
        }
        known = self._known
        for node, got in own.items():
            self._compare(writes.kernel, node, got, known)
        self._known = {
            name: value
            for name, value in known.items()
            if name in self._inputs or self._last_use.get(name, -1) > number
        } | {
            name: value.clone()
            for name, value in own.items()
            if self._last_use.get(name, -1) > number
        }

    def _find(self, step: str, values: Mapping[str, Any]) -> int | None:
        """The kernel of the record that a step is, or belongs to."""
        calls = self._stages.kernels
        if step.endswith("[]"):  # a part of what a library call gave
            own = (n for n, call in enumerate(calls) if any(v in values for v, _ in call.values))
            return next((n for n in own if n not in self._left), None)
        call = find_call((calls[number] for number in self._left), step, values)
        if call is None:
            return None
        number = next(n for n in self._left if calls[n] is call)
        self._left.remove(number)
        return number

    def _shape(self, node: str, value: Any, view: View | None = None) -> torch.Tensor | None:
        """The value of a buffer in the shape of its node; None where it holds something else."""
        row = self._stages.lowered.rows[node]
        if view is not None and isinstance(value, torch.Tensor):
            value = value.as_strided(*view)
        if not isinstance(value, torch.Tensor) or row.dtype != str(value.dtype).removeprefix(
            "torch."
        ):
            return None
        shape = row.shape or ()
        if any(isinstance(size, str) for size in shape):
            return value
        sizes = tuple(int(size) for size in shape)
        if tuple(value.shape) != sizes and not value.is_contiguous():
            return None
        return value.reshape(sizes) if value.numel() == torch.Size(sizes).numel() else None

    def _compare(
        self, kernel: Kernel, node: str, got: torch.Tensor, known: Mapping[str, Any]
    ) -> None:
        lowered = self._stages.lowered
        leaves = lowered.find_leaves(node, known)
        lacking = [leaf for leaf in leaves if leaf not in known]
        if lacking:
            self.not_compared.append(f"{kernel.id} {node}: {lacking[0]} is unknown")
            return
        own = select_known(lowered, node, {leaf: known[leaf] for leaf in leaves})
        is_library = not kernel.is_generated
        tf32 = self._target.tf32(kernel)
        place = Place(KERNELS, kernel.name, lowered, node, own, kernel.id, is_library, tf32)
        why = self._target.why_not(kernel, place.inside)
        if why != "":
            note = f"{kernel.id} {lowered.shown.get(node, node)}: {why}"
            # of a kernel of the user that writes to several arguments it is said once
            self.not_compared += [] if why is None or note in self.not_compared else [note]
            return
        self.compared += 1
        if place.is_random:
            if not is_library:
                self.rows.append(
                    place.row(Cause(RANDOM, "", FALLBACK_RANDOM), elements=got.numel())
                )
            return
        row = compare_value(place, got)
        if row is not None:
            by_node = self._stages.lowerings
            lowerings = dict.fromkeys(by_node[name] for name in row.cone if name in by_node)
            self.rows.append(replace(row, lowerings=tuple(lowerings)[-MOST_NAMED:]))


def _find_last_uses(stages: RecordedStages, inputs: Iterable[str]) -> dict[str, int]:
    """By node the last kernel whose own values are computed from it."""
    lowered, known = stages.lowered, set(inputs)
    last: dict[str, int] = {}
    for number, writes in enumerate(stages.kernels):
        for _, node in writes.values:
            last.update(dict.fromkeys(lowered.find_leaves(node, known), number))
        known |= {node for _, node in writes.values}
    return last
