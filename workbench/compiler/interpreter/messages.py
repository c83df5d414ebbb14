"""What the user's process and the process that interprets kernels say to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals.tensor_like import TensorLike


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
class Run:
    """One launch of a kernel; tensors among the arguments are `SharedTensor`.

    Without a grid it is the kernel's own.
    """

    key: str
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Finished:
    """A launch that ended: its configuration, its programs, which arguments it wrote to."""

    config: str
    programs: int
    written: tuple[int, ...]


@dataclass(frozen=True)
class Stopped:
    """A kernel that cannot be run to its end, and why."""

    reason: str


@dataclass(frozen=True)
class Forget:
    """Kernels and segments of shared memory that are not needed any more."""

    keys: tuple[str, ...]
    paths: tuple[str, ...]
