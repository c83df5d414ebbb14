"""What a kernel may read and write: every access is checked, every write can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from triton._C.libtriton import interpreter

from workbench.number_text import plural

Array = np.ndarray[Any, Any]


class OutOfBoundsError(Exception):
    """A kernel reaches outside the tensors that it was given."""


class Memory:
    """The storages of a kernel's arguments, by address, and the writes since the last mark."""

    def __init__(self, tensors: Iterable[torch.Tensor]):
        self._ranges = sorted({_range(tensor) for tensor in tensors})
        self._undo: list[tuple[Array, Array, Array]] = []
        self._written: set[tuple[int, int]] = set()

    def load(self, pointers: Array, mask: Array, other: Array, dtype: np.dtype[Any]) -> Array:
        """Read where the mask says so, take `other` elsewhere."""
        self._check(pointers, mask, dtype.itemsize, "reads")
        return read_memory(pointers, mask, other, dtype)

    def store(self, pointers: Array, values: Array, mask: Array) -> None:
        """Write where the mask says so."""
        pointers, mask = np.ascontiguousarray(pointers), np.ascontiguousarray(mask)
        write_memory(pointers, values, self.keep(pointers, mask, values.dtype))

    def keep(
        self,
        pointers: Array,
        mask: Array,
        dtype: np.dtype[Any],
        kind: str = "write",
        *,
        orders: bool = False,
    ) -> Array:
        """Check a write that is about to happen, remember what it overwrites; return its mask.

        `kind` is "write", "atomic" or "exchange"; one that `orders` parts what is before it from
        what is after it.
        """
        self._check(pointers, mask, dtype.itemsize, "writes")
        self._note(pointers, mask)
        self._undo.append(
            (pointers, read_memory(pointers, mask, np.zeros(pointers.shape, dtype), dtype), mask)
        )
        return mask

    def take_pointers(self, pointers: Array) -> Array:
        """Addresses that a kernel loaded, or made of integers."""
        return pointers

    def part_epochs(self) -> None:
        """All lanes of the programs have come here: `tl.debug_barrier`."""

    def mark(self) -> None:
        """Let everything that was written stand."""
        self._undo.clear()

    def undo(self) -> None:
        """Take back every write since the last mark, the last one first."""
        while self._undo:
            interpreter.store(*self._undo.pop())

    def _check(self, pointers: Array, mask: Array, size: int, does: str) -> None:
        if not pointers.size or self._holds(int(pointers.min()), int(pointers.max()), size):
            return
        used = pointers[mask]
        if not used.size or self._holds(int(used.min()), int(used.max()), size):
            return
        outside = np.ones(used.shape, dtype=bool)
        for start, end in self._ranges:
            outside &= (used < start) | (used + np.uint64(size) > end)
        if outside.any():
            count = int(outside.sum())
            raise OutOfBoundsError(
                f"{does} up to {self._distance(int(used[outside][0]), size)} its arguments"
                + (f", {plural(count, 'element')} in all" if count > 1 else "")
            )

    def written(self, values: Sequence[Any]) -> tuple[int, ...]:
        """The positions of the tensors whose storages were written to."""
        return tuple(
            n
            for n, value in enumerate(values)
            if isinstance(value, torch.Tensor) and _range(value) in self._written
        )

    def _note(self, pointers: Array, mask: Array) -> None:
        if len(self._written) < len(self._ranges) and mask.any():
            first = int(pointers[mask].ravel()[0])
            for start, end in self._ranges:
                if start <= first < end:
                    self._written.add((start, end))

    def _holds(self, first: int, last: int, size: int) -> bool:
        return any(start <= first and last + size <= end for start, end in self._ranges)

    def _distance(self, address: int, size: int) -> str:
        """Where an element is, in words without addresses."""
        sides = [(start - address, "before") for start, _ in self._ranges if address < start]
        ends = [address + size - end for _, end in self._ranges]
        sides += [(over, "behind") for over in ends if over > 0]
        count, side = min(sides, default=(0, "behind"))
        return f"{plural(count, 'byte')} {side}"


def read_memory(pointers: Array, mask: Array, other: Array, dtype: np.dtype[Any]) -> Array:
    """What lies there, without a check."""
    parts = map(np.ascontiguousarray, (pointers, mask, other))
    content: Array = interpreter.load(*parts, dtype)
    return content


def write_memory(pointers: Array, values: Array, mask: Array) -> None:
    """Write there, without a check."""
    interpreter.store(pointers, np.ascontiguousarray(values), mask)


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
