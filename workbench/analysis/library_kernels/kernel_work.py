"""What a kernel has to compute and to move at least."""

from __future__ import annotations

from dataclasses import dataclass


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
