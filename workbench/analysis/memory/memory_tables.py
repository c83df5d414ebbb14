"""The tables of a program's memory: what was allocated, what lived in each step, what was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "weights",
    "input",
    "constant",
    "saved for backward",
    "tangent",
    "gradient",
    "output",
    "temporary",
    "library result",
    "workspace",
    "pool",
]
KINDS: tuple[Kind, ...] = (
    "weights",
    "constant",
    "input",
    "output",
    "saved for backward",
    "tangent",
    "gradient",
    "temporary",
    "library result",
    "workspace",
    "pool",
)
"""In the order in which a chart stacks them, from below."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One storage; `names` are the buffers that lived in it, in their order.

    It lives from step `step_from` to `step_to`; None: it outlives the program. `bytes` are those
    that are allocated, with the gaps of its strides. `reused` says which of its names took the
    memory over from which: "in place" by the kernel that reads the former, "reuse" after it, "view"
    and "part" of it. `peak_without` is the peak of the whole in bytes if this one took no memory;
    it is known for those that live at the peak. `value` is what a person calls it: the input's
    name, or the operator.
    """

    id: str
    graph: str
    buffer: str
    names: tuple[str, ...]
    step_from: int
    step_to: int | None
    bytes: int
    kind: Kind
    reused: tuple[tuple[str, str, str], ...]
    value: str
    node: str | None
    file: str | None
    line: int | None
    module: str | None
    at_peak: bool
    peak_without: int | None


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A kernel or library call of a program, counted over forward and backward.

    `live_bytes` are the most that live while it is prepared and runs, weights and inputs included;
    `allocated` what was allocated for it since the step before, `freed` what is freed after it.
    """

    step: int
    graph: str
    is_backward: bool
    kernel: str | None
    name: str
    live_bytes: int
    allocated: int
    freed: int
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class MemoryPeak:
    """The most bytes that live at once in a part of the call.

    `scope` is "forward", "backward", "inference", "step" (forward and backward), or "eager": the
    call without a compiler, where that was counted. `bytes` are all, `base_bytes` those of weights,
    constants and inputs among them, which the caller holds. `step` is where, `kernel` what runs
    there; eager has its operator as `name`. `missing` says what the figure leaves out, `source`
    where it comes from. `allocated_bytes` are in the blocks of a CUDA device's allocator;
    `reserved_bytes` is what that has taken of the device by then, by a model of it; None elsewhere.
    """

    scope: str
    bytes: int
    base_bytes: int
    step: int | None
    kernel: str | None
    name: str
    missing: str
    source: str
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that the forward keeps for the backward.

    Several may be views of one storage, whose row in `allocations` is `storage`: the first of them
    has its `bytes`, the others 0, as has what is a weight's or an input's, which lives anyhow.
    `why` is the reason of torch's partitioner; None where it was not recorded.
    """

    name: str
    bytes: int
    storage: str
    kind: Kind
    why: str | None
    node: str | None
    file: str | None
    line: int | None
    module: str | None


@dataclass(frozen=True, slots=True)
class FitPart:
    """A part of the peak of a call that has to fit into a GPU.

    `part` is a kind of storage or "optimizer", `place` where in the call the peak is, `source`
    where the number comes from. Of `bytes`, `once` are there with any number of layers and
    `each_layer` with each of them; None where one depth was compiled, which does not tell.
    """

    part: str
    bytes: int
    place: str
    source: str
    once: int | None = None
    each_layer: int | None = None
