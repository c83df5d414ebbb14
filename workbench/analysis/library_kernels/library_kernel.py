"""A kernel of a library: what its name says about it, its least operations and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["product", "attention", "elementwise", "reduction", "copy", "collective", "other"]
"""What a kernel does; convolutions are products."""

Part = Literal[
    "forward", "input gradient", "weight gradient", "gradients", "split sum", "layout", "helper"
]
"""Which part of its operator a kernel does, where the operator needs several."""

HELPERS: frozenset[Part] = frozenset(("split sum", "layout", "helper"))
"""Parts that only prepare or finish what another kernel of the operator computes."""


@dataclass(frozen=True)
class LibraryKernel:
    """A kernel as its name describes it; None is what the name does not say.

    `library` is who wrote it ("cuBLAS", "CUTLASS", "hipBLASLt"), `family` what its kernels are
    called there ("nvjet", "xmma gemm"), `architecture` what it was written for, as in
    `Gpu.arch`. `tile` is what a block computes of the result and the depth of one step, (M, N, K),
    fewer where the name has fewer; for attention queries and keys. `alignment` is in elements.
    `layout` has a letter for each factor: "t" where its summed dimension lies closest in memory.
    Dtypes are torch's names, and "tf32".
    """

    name: str
    kind: Kind = "other"
    library: str | None = None
    family: str | None = None
    architecture: str | None = None
    part: Part | None = None
    tile: tuple[int, ...] | None = None
    stages: int | None = None
    cluster: tuple[int, ...] | None = None
    alignment: int | None = None
    vector: int | None = None  # elements that a thread takes at once
    split_k: bool | None = None  # several blocks share the sum over K of one tile
    splits: int | None = None  # how many, where the name has it
    stream_k: bool | None = None
    layout: str | None = None
    input_dtype: str | None = None
    accumulate_dtype: str | None = None
    has_matrix_units: bool | None = None  # tensor cores, matrix cores
    epilogue: str | None = None  # "bias", "relu"
    head_width: int | None = None  # of attention
    itemsize: int | None = None  # bytes of what is moved without being looked at

    @property
    def is_helper(self) -> bool:
        """Whether another kernel of the same operator does its arithmetic."""
        return self.part in HELPERS

    def count_blocks(self, grid: Sequence[int], block: Sequence[int]) -> int | None:
        """How many blocks were started; ROCm's own libraries tell the grid in threads.

        They start kernels by `hipExtModuleLaunchKernel`, which takes threads, and the profiler
        writes what was passed; ATen, Triton, AITER and Composable Kernel pass blocks.
        """
        if not grid:
            return None
        total = math.prod(grid)
        return total // max(math.prod(block), 1) if self.library in _IN_THREADS else total


_IN_THREADS = frozenset(("hipBLASLt", "rocBLAS", "MIOpen"))


@dataclass(frozen=True)
class Work:
    """Operations and bytes of one call; `reason` says why either is None.

    A multiply-add counts as two operations, what is not a product as one for each element. Bytes
    are the least: every element of an input once, of a result once. `dtype` is torch's name of what
    is computed with, `is_matrix` whether matrix units can do it. `product` is (batch, M, N, K) of
    what is one; `rows` are those that are reduced and their length. `is_strided` says that the
    fastest dimensions of what is read and written differ.
    """

    operations: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    dtype: str | None = None
    is_matrix: bool = False
    reason: str | None = None
    product: tuple[int, int, int, int] | None = None
    rows: tuple[int, int] | None = None
    elements: int | None = None  # of the result, of what is read where that is more
    is_strided: bool = False
    channels: int | None = None  # that a group of a convolution reads
    reused_bytes: int = 0  # written where it was read, so that the cache has them
    gathered_bytes: int = 0  # read besides, unless the indices name a row twice
    launches: int = 1  # kernels that share this work

    @property
    def bytes(self) -> int | None:
        """Read and written together."""
        if self.read_bytes is None or self.written_bytes is None:
            return None
        return self.read_bytes + self.written_bytes


def unknown(reason: str) -> Work:
    """Nothing is known, for this reason."""
    return Work(reason=reason)
