"""Weights that stay in the file: mapped where they are, compared with their hash meanwhile."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Thread
from typing import Any

import torch

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.errors import ArtifactError

_CHUNK = 4 << 20
_HEAD_START_S = 0.25  # the first call, most often right after loading, has the processor to itself


def map_constants(
    package: OpenedPackage, constants: Iterable[PackagedConstant]
) -> dict[str, torch.Tensor]:
    """Tensors over the bytes in the file, by the library's names; nothing is read yet.

    The mapping is private: what a library writes into a buffer stays in memory. A file that is
    shortened while it is mapped ends the process at the next access, as with every mapping:
    replace packages, do not overwrite them.
    """
    maps: dict[str, tuple[mmap.mmap, int]] = {}
    by_name: dict[str, torch.Tensor] = {}
    for constant in constants:
        if constant.member is None:
            continue
        if constant.member not in maps:
            maps[constant.member] = _mapped(package, constant.member)
        by_name[constant.name] = _tensor(constant, *maps[constant.member])
    return by_name


def _mapped(package: OpenedPackage, member: str) -> tuple[mmap.mmap, int]:
    """A private mapping of a member, and where in it the member starts."""
    offset = package.offset(member)
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    size = offset - start + package.size(member)
    if package.size(member) == 0:
        return mmap.mmap(-1, 1), 0
    try:
        mapping = mmap.mmap(package.file.fileno(), size, access=mmap.ACCESS_COPY, offset=start)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"The weights in the package cannot be mapped ({error}). Copy the file to a disk of "
            "this machine."
        ) from error
    return mapping, offset - start


def _tensor(constant: PackagedConstant, content: mmap.mmap, start: int) -> torch.Tensor:
    dtype = getattr(torch, constant.dtype)
    if constant.size == 0:
        return TensorLike(constant.shape, constant.stride, dtype).empty()
    place, count = start + constant.offset, constant.size // dtype.itemsize
    if _reach(constant) > count:
        raise ArtifactError(
            f"The package is damaged: {constant.fqn} does not fit in its {constant.size} bytes. "
            "Get the file again."
        )
    if place % dtype.itemsize:
        copied = torch.frombuffer(bytearray(content[place : place + constant.size]), dtype=dtype)
        return copied.as_strided(constant.shape, constant.stride)
    flat = torch.frombuffer(content, dtype=dtype, count=count, offset=place)
    return flat.as_strided(constant.shape, constant.stride)


def _reach(constant: PackagedConstant) -> int:
    """How many elements from the first one the tensor spans."""
    if any(stride < 0 for stride in constant.stride) or 0 in constant.shape:
        return 0 if 0 in constant.shape else 1 << 62
    return 1 + sum((n - 1) * s for n, s in zip(constant.shape, constant.stride, strict=True))


class BackgroundHash:
    """Hashes members of an open package in a thread; a difference is told once.

    It starts after a moment, or as soon as somebody waits for it. It reads the file itself, not
    the mapping: what a library has written in memory is its own.
    """

    def __init__(
        self,
        package: OpenedPackage,
        members: Iterable[str],
        tell: Callable[[ArtifactError], None],
    ) -> None:
        self._stop, self._begin = Event(), Event()
        self._tell = tell
        self._error: ArtifactError | None = None
        facts = {n: (package.offset(n), package.size(n), package.hash_of(n)) for n in members}
        handle = os.dup(package.file.fileno())
        self._thread = Thread(
            target=self._run, args=(handle, facts), name="hash of a package", daemon=True
        )
        self._thread.start()

    def _run(self, handle: int, facts: Mapping[str, tuple[int, int, str | None]]) -> None:
        self._begin.wait(_HEAD_START_S)
        try:
            for name, (offset, size, expected) in facts.items():
                digest = self._hash(handle, offset, size)
                if digest is not None and digest != expected:
                    self._error = ArtifactError(
                        f"The package is damaged: {name} does not have the hash that the manifest "
                        "gives. What was computed with it may be wrong. Get the file again."
                    )
                    self._tell(self._error)
                    return
        finally:
            os.close(handle)

    def _hash(self, handle: int, offset: int, size: int) -> str | None:
        """The hash of a stretch of the file; None when told to stop."""
        digest: Any = hashlib.sha256()
        end = offset + size
        while offset < end and (chunk := os.pread(handle, min(_CHUNK, end - offset), offset)):
            if self._stop.is_set():
                return None
            digest.update(chunk)
            offset += len(chunk)
        return str(digest.hexdigest())

    def wait(self) -> None:
        """Until all is compared; raises `ArtifactError` when something differs."""
        self._begin.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread early."""
        self._stop.set()
        self._begin.set()
        self._thread.join()
