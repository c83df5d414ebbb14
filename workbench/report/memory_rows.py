"""Rows about what a training step saves and computes again under a memory budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """How a joint graph would be parted under one activation memory budget, without compiling it.

    Bytes are those of tensors that the forward keeps, inputs and weights apart. Operations of what
    the backward computes again are counted by torch's formulas, its bytes as if nothing were fused.
    Tensors and operators whose sizes depend on data are in no sum; `unsized` says how many.
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


@dataclass(frozen=True, slots=True)
class RecomputedNode:
    """An operator of the forward that the backward computes again under one budget.

    `flops` is None where no formula is known, `bytes` where data decide a size, `dtype` that of its
    result.
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
