"""One way to open every kind of file: artifacts of ours, and the pickles that torch writes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import BinaryIO

from workbench.artifacts.container import Opened, open_file, read_artifact
from workbench.artifacts.manifest import Manifest
from workbench.errors import ArtifactError

TORCH_HEADER = b"PT2AOT\x01"
_PICKLES = (b"\x80\x04\x95", b"\x80\x05\x95", b"\x80\x04", b"\x80\x05")
_PAYLOAD_LIMIT = 4 << 30


@dataclass(frozen=True)
class OpenedFile:
    """A checked file: an artifact with its manifest, or a bare file of torch without one."""

    kind: str  # "artifact" or "torch"
    file: BinaryIO
    size: int
    digest: str
    artifact: Opened | None = None

    @property
    def manifest(self) -> Manifest | None:
        """The manifest, which torch's files do not have."""
        return self.artifact.manifest if self.artifact else None

    def whole(self) -> bytes:
        """The content of a file of torch, read from the open file, compared with the digest."""
        self.file.seek(0)
        content = self.file.read(_PAYLOAD_LIMIT)
        if _digest(content) != self.digest:
            raise ArtifactError("The file was changed while it was read. Load it again.")
        return content


def pickle_start(content: bytes) -> int:
    """Where the pickle starts in what torch wrote: newer releases put a header before it."""
    return len(TORCH_HEADER) if content.startswith(TORCH_HEADER) else 0


@contextmanager
def open_any(path: str | PathLike[str]) -> Iterator[OpenedFile]:
    """Open a file and tell what it is; executes nothing.

    Raises `ArtifactError` when it is missing, empty, damaged or of another kind.
    """
    name = os.fspath(path)
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(16)
        if not head:
            raise ArtifactError(f"{name} is empty: the copy was cut short. Get the file again.")
        if head[:2] == b"PK":
            opened = read_artifact(file)
            yield OpenedFile("artifact", file, size, opened.manifest.digest, opened)
            return
        if not head[pickle_start(head) :].startswith(_PICKLES):
            raise ArtifactError(
                f"{name} is neither an artifact of this workbench nor a file that torch's "
                "save_compiled_function wrote. Give the path of an .aot file."
            )
        _check_pickle_end(name, file)
        file.seek(0)
        yield OpenedFile("torch", file, size, _digest(file.read(_PAYLOAD_LIMIT)))


def _check_pickle_end(name: str, file: BinaryIO) -> None:
    file.seek(-1, os.SEEK_END)
    if file.read(1) != b".":  # every pickle ends with STOP
        raise ArtifactError(f"{name} is truncated: the pickle has no end. Get the file again.")


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
