"""Inputs that lie in the same memory, where the code writes into its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from math import gcd
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError
from workbench.typed_data import read_row


@dataclass(frozen=True)
class Shared:
    """Two inputs that shared memory in the example, by their places among the tensors.

    `apart` is the distance in bytes from the first element of one to that of the other, `size`
    the bytes of their storage.
    """

    first: int
    second: int
    apart: int
    size: int

    @property
    def pair(self) -> tuple[int, int]:
        """The places of the two."""
        return self.first, self.second


@dataclass(frozen=True)
class _Stored:
    """What a manifest says of it: a list of numbers for each pair."""

    names: tuple[str, ...]
    shared: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class SharedMemory:
    """Which of the tensors may share memory: those that did in the example, in the same way.

    Code that writes into an input was compiled for that and is wrong for anything else. `names`
    are the tensors; the check is made for them only.
    """

    names: tuple[str, ...] = ()
    shared: tuple[Shared, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str], tensors: Sequence[torch.Tensor]) -> SharedMemory:
        """What the tensors of an example call share; those without data share nothing."""
        return cls((*names,), tuple(_shared(tensors)) if _have_data(tensors) else ())

    def holds(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether the tensors of a call share memory exactly as those of the example."""
        storages = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        if len(storages) == len(tensors) and not self.shared:
            return True
        return tuple(_shared(tensors)) == self.shared

    def mismatches(self, tensors: Sequence[torch.Tensor]) -> Iterator[str]:
        """A sentence for each pair that shares memory otherwise than in the example."""
        now = {one.pair: one for one in _shared(tensors)}
        before = {one.pair: one for one in self.shared}
        for pair in sorted({*now, *before}):
            if now.get(pair) == before.get(pair):
                continue
            first, second = (self.names[place] for place in pair)
            if pair not in before:
                yield (
                    f"{first} and {second} share memory and one of them is written to, but the "
                    "code was compiled for separate inputs. Recompile with inputs that share "
                    "memory. A .clone() of one would give other results"
                )
            elif pair not in now:
                yield (
                    f"{first} and {second} share no memory, but the code was compiled for "
                    "inputs that do. Recompile with separate inputs"
                )
            else:
                yield (
                    f"{first} and {second} share memory in a different way than in the compiled "
                    "call"
                )

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {"names": list(self.names), "shared": [list(astuple(one)) for one in self.shared]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SharedMemory:
        """Read what `to_json` wrote; raises `ArtifactError` for anything else."""
        try:
            stored = read_row(_Stored, data)
        except ValueError as error:
            raise ArtifactError(
                f"The shared inputs in the manifest are damaged ({error}). Get the file again."
            ) from error
        return cls(stored.names, tuple(Shared(*row) for row in stored.shared))


def list_overlapping(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Those of the tensors that have memory in common with another; none where one has no data."""
    pairs = [one.pair for one in _shared(tensors)] if _have_data(tensors) else []
    return [tensors[place] for place in sorted({place for pair in pairs for place in pair})]


def _have_data(tensors: Sequence[torch.Tensor]) -> bool:
    fake = tp.FAKE_TENSOR.get()
    return not any(value.is_meta or isinstance(value, fake) for value in tensors)


def _shared(tensors: Sequence[torch.Tensor]) -> Iterator[Shared]:
    for (i, one), (j, other) in combinations(enumerate(tensors), 2):
        storage = one.untyped_storage()
        if storage.data_ptr() == other.untyped_storage().data_ptr() and has_overlap(one, other):
            yield Shared(i, j, other.data_ptr() - one.data_ptr(), storage.nbytes())


def has_overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one storage have a byte in common."""
    (begin, end), (start, stop) = _range(one), _range(other)
    if end <= start or stop <= begin:
        return False
    if one.is_contiguous() and other.is_contiguous():
        return True
    runs = [_Runs.of(one), _Runs.of(other)]
    low = min(run.begin for run in runs)
    unit = gcd(*(number for run in runs for number in (run.width, run.begin - low, *run.strides)))
    picture = torch.zeros((max(end, stop) - low) // unit, dtype=torch.bool)
    first, second = (run.within(picture, low, unit) for run in runs)
    first.fill_(True)
    return bool(second.any())


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte of a tensor in its storage and that after the last."""
    if tensor.numel() == 0:
        return 0, 0
    begin = tensor.storage_offset()
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    end = begin + 1 + sum((size - 1) * step for size, step in pairs)
    return int(begin) * tensor.itemsize, int(end) * tensor.itemsize


@dataclass(frozen=True)
class _Runs:
    """A tensor as runs of bytes: its innermost dimensions, where they have no gaps, are one."""

    begin: int
    width: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor) -> _Runs:
        width = tensor.itemsize
        outer: list[tuple[int, int]] = []
        steps = [step * tensor.itemsize for step in tensor.stride()]
        for size, step in sorted(zip(tensor.shape, steps, strict=True), key=lambda pair: pair[1]):
            if size == 1 or step == 0:
                continue
            if step == width and not outer:
                width *= size
            else:
                outer.append((size, step))
        sizes, strides = zip(*outer, strict=True) if outer else ((), ())
        return cls(int(tensor.storage_offset()) * tensor.itemsize, width, sizes, strides)

    def within(self, picture: torch.Tensor, low: int, unit: int) -> torch.Tensor:
        """These runs in a picture of the memory from `low` on, a value for each `unit` bytes."""
        return picture.as_strided(
            (*self.sizes, self.width // unit),
            (*(step // unit for step in self.strides), 1),
            (self.begin - low) // unit,
        )
