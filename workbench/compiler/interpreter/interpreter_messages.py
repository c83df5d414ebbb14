"""What the user's process and the one that interprets kernels exchange: messages, shared memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter.watched.watched_call import Watched


@dataclass(frozen=True)
class SharedTensor:
    """A tensor in shared memory: bytes of a segment are its storage.

    `path` opens the segment while the process that made it lives.
    """

    path: str
    start: int
    size: int
    like: TensorLike


@dataclass(frozen=True)
class Define:
    """The source of a kernel, sent once under a key."""

    key: str
    name: str
    source: str


@dataclass(frozen=True)
class Products:
    """How `tl.dot` of a target multiplies float32: what it may be asked for, its own choice.

    Only where `has_tf32`, operands in TF32 lose the digits that the units of the target drop; else
    they are multiplied in float32. `rounds_library` has library products round to TF32 too,
    `widens_library` has library calls compute in float64, so that what a row gives does not depend
    on how many others there are.
    """

    default: str = "tf32"
    allowed: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    has_tf32: bool = False
    rounds_library: bool = False
    widens_library: bool = False

    @classmethod
    def of(cls, arch: str, *, has_units: bool, rounds_library: bool = False) -> Products:
        """Those of an architecture, as Triton has them for `sm_90` or `gfx942`, in TF32."""
        if arch.startswith("sm_"):
            return cls(has_tf32=has_units, rounds_library=has_units and rounds_library)
        own = ("ieee", "bf16x3", "bf16x6")
        return cls("ieee", ("tf32", *own) if has_units else own, has_units, rounds_library)


IN_FLOAT32 = Products()


@dataclass(frozen=True)
class Run:
    """One launch of a kernel; tensors among the arguments are `SharedTensor`.

    Without a grid it is the kernel's own. With `watch_s` it is run under watch before, for so many
    seconds at most.
    """

    key: str
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    grid: tuple[int, int, int] | None = None
    products: Products = IN_FLOAT32
    watch_s: float = 0.0


@dataclass(frozen=True)
class Finished:
    """A launch that ended: its configuration, its programs, which arguments it wrote to.

    `watched` is what a run under watch showed, where one was asked for.
    """

    config: str
    programs: int
    written: tuple[int, ...]
    watched: Watched | None = None


@dataclass(frozen=True)
class Stopped:
    """A kernel that cannot be run to its end, and why; `watched` as in `Finished`."""

    reason: str
    watched: Watched | None = None


@dataclass(frozen=True)
class Forget:
    """Kernels and segments of shared memory that are not needed any more."""

    keys: tuple[str, ...]
    paths: tuple[str, ...]


_SEGMENT = 1 << 28  # bytes of address space; memory is taken when it is written to
_ALIGNMENT = 64
_GAP = 1 << 16
_SENTINEL = 0x7F  # the byte of integers that nobody wrote: large, and the same in every element


class Arena(ExitStack):
    """Allocates in shared memory; all of it is given back when the arena is closed."""

    def __init__(self) -> None:
        super().__init__()
        self._segments: list[tuple[str, mmap.mmap, int]] = []
        self.callback(self._segments.clear)
        self._used = _SEGMENT
        self._places: dict[int, tuple[str, int]] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The segments, as another process opens them."""
        return tuple(path for path, _, _ in self._segments)

    def empty(
        self, shape: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        """A tensor of NaN, or of large integers, so that reading what nobody wrote is seen."""
        flat = self._storage(max(TensorLike(shape, stride, dtype).span, dtype.itemsize)).view(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            flat.fill_(float("nan"))
        elif dtype is not torch.bool:
            flat.view(torch.uint8).fill_(_SENTINEL)
        return flat.as_strided(shape, stride)

    def shared(self, tensor: torch.Tensor) -> SharedTensor | None:
        """Where a tensor of this arena lies, or None for one that lies elsewhere."""
        place = self._places.get(tensor.untyped_storage().data_ptr())
        if place is None:
            return None
        size = tensor.untyped_storage().nbytes()
        return SharedTensor(place[0], place[1], size, TensorLike.of(tensor))

    def moved(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy in this arena with the same storage around it."""
        storage = tensor.untyped_storage()
        copied = self._storage(max(storage.nbytes(), 1))
        whole = torch.empty(0, dtype=torch.uint8).set_(storage)
        copied[: storage.nbytes()].copy_(whole)
        return TensorLike.of(tensor).view(copied.untyped_storage())

    def _storage(self, size: int) -> torch.Tensor:
        """Bytes with a storage of their own."""
        # what a wrong index hits is no tensor
        room = -(-2 * size // _ALIGNMENT) * _ALIGNMENT + _GAP
        if not self._segments or self._used + room > self._segments[-1][2]:
            self._grow(max(room, _SEGMENT))
        path, memory, _ = self._segments[-1]
        start, self._used = self._used, self._used + room
        content = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=start)
        self._places[content.untyped_storage().data_ptr()] = (path, start)
        return content

    def _grow(self, size: int) -> None:
        file = os.memfd_create("workbench")
        self.callback(os.close, file)
        os.ftruncate(file, size)
        path = f"/proc/{os.getpid()}/fd/{file}"
        self._segments.append((path, mmap.mmap(file, size), size))
        self._used = 0


class Mapped:
    """The other side: segments of another process, opened when they are first named."""

    def __init__(self) -> None:
        self._segments: dict[str, mmap.mmap] = {}

    def tensor(self, shared: SharedTensor) -> torch.Tensor:
        """The tensor, in the memory of the process that made it."""
        if shared.path not in self._segments:
            with open(shared.path, "r+b") as file:
                self._segments[shared.path] = mmap.mmap(file.fileno(), 0)
        memory = self._segments[shared.path]
        held = torch.frombuffer(memory, dtype=torch.uint8, count=shared.size, offset=shared.start)
        return shared.like.view(held.untyped_storage())

    def forget(self, paths: Iterable[str]) -> None:
        """Let go of segments; what they held is freed when nobody else has them."""
        for path in paths:
            self._segments.pop(path, None)
