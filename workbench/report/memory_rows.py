"""Rows about memory: the storage of a program, saved activations and recomputation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """How a joint graph would be parted under one activation memory budget, without compiling it.

    Bytes are those of tensors that the forward keeps, inputs and weights apart. Operations of what
    the backward computes again are counted by torch's formulas, its bytes as if nothing were fused.
    Tensors and operators whose sizes depend on data are in no sum; `unsized` says how many.
    `preview_bytes` is a model of the peak above inputs: its operators one after the other, with
    pointwise ones fused into what reads them. `peak_bytes` is the peak of the program that was
    compiled with the budget, weights and inputs included; None until one was. `is_own`: the step
    itself was compiled with it. `estimator` is what the times of operators were taken from when
    what is kept was chosen: "flops" is torch's own, "roofline" that of the GPU. `random_nodes` are
    operators computed again that draw random numbers; None in older records. `checked` says what
    the gradients of the compiled program were compared with, `why_not` why it must not be used;
    both are empty where there is nothing to say.
    """

    graph: int  # the joint graph, counted from 0
    budget: float  # 1 as fast as can be, 0 computes all of the forward again
    saved_bytes: int  # bytes that the forward keeps for the backward, inputs and weights apart
    saved_tensors: int  # tensors that the forward keeps for the backward
    recomputed_nodes: int  # operators of the forward that the backward computes again
    recomputed_flops: int  # operations of what is computed again, by torch's formulas
    recomputed_bytes: int  # bytes that it reads and writes, as if nothing were fused
    unsized: int
    seconds: float  # seconds that the partitioner took for it
    preview_bytes: int | None = None
    peak_bytes: int | None = None
    is_own: bool = False
    estimator: str = "flops"
    random_nodes: int | None = None
    checked: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class RecomputedNode:
    """An operator of the forward that the backward computes again under one budget.

    `flops` is None where no formula is known, `bytes` where data decide a size, `dtype` that of its
    result. `is_random`: it draws random numbers, or their seeds; None in older records.
    """

    graph: int  # the joint graph, counted from 0
    budget: float  # the activation memory budget
    node: str  # the operator's name in the joint graph
    operator: str  # the operator that torch calls
    dtype: str | None
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    flops: int | None
    bytes: int | None
    is_random: bool | None = None


@dataclass(frozen=True, slots=True)
class SavedReason:
    """Why torch's partitioner keeps a value of a joint graph for the backward.

    `node` is its name there and in the forward. `why` has torch's own words for what is not
    computed again.
    """

    graph: int  # the joint graph, counted from 0
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class EagerMemory:
    """The most bytes that eager holds above weights and inputs, with the backward if there is one.

    `operator` is the one at the peak. Tensors whose size data decide are in no sum: `unsized`
    counts them. `source` says how it was counted, `missing` what is left out besides; `seconds` is
    what counting took; None for what was measured.
    """

    bytes: int  # the most bytes above weights and inputs
    operator: str
    is_backward: bool  # whether that is in the backward
    unsized: int
    source: str
    missing: str
    seconds: float | None


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
    "gathered parameter",
    "collective buffer",
]
KINDS: tuple[Kind, ...] = (
    "weights",
    "constant",
    "input",
    "gathered parameter",
    "output",
    "saved for backward",
    "tangent",
    "gradient",
    "temporary",
    "library result",
    "workspace",
    "pool",
    "collective buffer",
)
"""In the order in which a chart stacks them, from below."""
HOOKED: tuple[Kind, ...] = ("gathered parameter", "collective buffer")
"""What hooks around the blocks of a model take, and no line of it."""


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
