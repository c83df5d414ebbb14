"""Rows about what a training step saves and computes again, and what eager would hold."""

from __future__ import annotations

from dataclasses import dataclass


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

    graph: int
    budget: float
    saved_bytes: int
    saved_tensors: int
    recomputed_nodes: int
    recomputed_flops: int
    recomputed_bytes: int
    unsized: int
    seconds: float
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

    graph: int
    budget: float
    node: str
    operator: str
    dtype: str | None
    file: str | None
    line: int | None
    flops: int | None
    bytes: int | None
    is_random: bool | None = None


@dataclass(frozen=True, slots=True)
class SavedReason:
    """Why torch's partitioner keeps a value of a joint graph for the backward.

    `node` is its name there and in the forward. `why` has torch's own words for what is not
    computed again.
    """

    graph: int
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class EagerMemory:
    """The most bytes that eager holds above weights and inputs, with the backward if there is one.

    `operator` is the one at the peak. Tensors whose size data decide are in no sum: `unsized`
    counts them. `source` says how it was counted, `missing` what is left out besides; `seconds` is
    what counting took; None for what was measured.
    """

    bytes: int
    operator: str
    is_backward: bool
    unsized: int
    source: str
    missing: str
    seconds: float | None
