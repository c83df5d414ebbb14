"""Rows about memory: the storage of a program, saved activations and recomputation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The partition of a joint graph under one activation memory budget, without compiling it.

    Bytes are those of saved activations, without inputs and weights. Recomputed operations are
    counted by torch's formulas, their bytes as if nothing were fused. Tensors and operators with
    data-dependent sizes are not included; `unsized` counts them. `preview_bytes` is the modelled
    peak above inputs: operators run one by one, with pointwise ones fused into their readers.
    `peak_bytes` is the peak of the program that was compiled with the budget, with weights and
    inputs; None until then. `is_own`: the step itself was compiled with it. `estimator` is the
    runtime estimate by which activations were selected: "flops" is torch's own, "roofline" that of
    the GPU. `random_nodes` are recomputed operators that draw random numbers; None in older
    reports. `checked` is the reference of the gradients of the compiled program, `why_not` the
    reason why it must not be used; both are empty if there is nothing to say.
    """

    graph: int  # the joint graph, counted from 0
    budget: float  # 1 is fastest, 0 recomputes the whole forward pass
    saved_bytes: int  # bytes of saved activations, without inputs and weights
    saved_tensors: int  # saved activations
    recomputed_nodes: int  # operators that the backward pass recomputes
    recomputed_flops: int  # their operations, by torch's formulas
    recomputed_bytes: int  # bytes that they read and write, as if nothing were fused
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
    """An operator that the backward pass recomputes under one budget.

    `flops` is None if no formula is known, `bytes` for data-dependent sizes; `dtype` is that of
    its result. `is_random`: it draws random numbers, or their seeds; None in older reports.
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
    """Why torch's partitioner saves a value of a joint graph for the backward pass.

    `node` is its name there and in the forward graph. `why` has torch's reason not to recompute it.
    """

    graph: int  # the joint graph, counted from 0
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class EagerMemory:
    """The memory peak of eager above weights and inputs, with the backward pass if there is one.

    `operator` is the one at the peak. Tensors with data-dependent sizes are not included;
    `unsized` counts them. `source` says how it was counted, `missing` what else is left out;
    `seconds` is the time of counting, None if it was measured.
    """

    bytes: int  # the peak above weights and inputs
    operator: str
    is_backward: bool  # whether the peak is in the backward pass
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
"""Kinds of storage that hooks around the blocks of a model allocate."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One storage; `names` are the buffers that used it, in order.

    It is live from step `step_from` to `step_to`; None: it outlives the program. `bytes` are
    allocated bytes, with the gaps of its strides. `reused` says which of its names reused the
    memory of which: "in place" by the kernel that reads the former, "reuse" after it, "view" and
    "part" of it. `peak_without` is the peak in bytes without this storage, known for those that
    are live at the peak. `value` is its readable name: that of the input, or the operator.
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

    `live_bytes` are the peak live bytes while it is prepared and runs, with weights and inputs;
    `allocated` are the bytes allocated for it since the previous step, `freed` those freed after
    it.
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
    """The peak live bytes of a part of the call.

    `scope` is "forward", "backward", "inference", "step" (forward and backward), or "eager": the
    call without a compiler, if that was counted. `bytes` are all, `base_bytes` those of weights,
    constants and inputs among them, which the caller holds. `step` is its position, `kernel` the
    kernel there; eager has its operator as `name`. `missing` says what the number leaves out,
    `source` where it comes from. `allocated_bytes` are those of blocks in the CUDA caching
    allocator; `reserved_bytes` are those that it has reserved, modelled; None on other devices.
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
    """A tensor that is saved for the backward pass.

    Several may be views of one storage, whose row in `allocations` is `storage`: the first of them
    has its `bytes`, the others 0. Views of weights and inputs, which are live anyway, have 0, too.
    `why` is the reason of torch's partitioner; None if it was not recorded.
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
