"""The bytes of a trace, plain or compressed, in chunks of bounded size."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from workbench.errors import ArtifactError
from workbench.file_path import open_flags

CHUNK = 256 << 10
"""Bytes that are read at a time: what is made of them stays in the caches of a CPU."""
_PACKED = 1 << 18  # bytes that are unpacked at a time
_MOST_PACKED = 200  # times; traces are packed to a tenth or a thirtieth
_LEAST_UNPACKED = 256 << 20  # bytes, whatever the file's own size
MOST_BYTES = 16 << 30
"""Bytes of a trace that are read; 1 GB holds about four million events."""
_GZIP = 16 + zlib.MAX_WBITS


class TraceStream:
    """An open trace; `given_up` says in a clause why it was not read to its end.

    Raises `ArtifactError` where it cannot be opened.
    """

    def __init__(self, path: Path):
        self.path = path
        self.given_up = ""
        self._file = _open(path)
        self._size = os.fstat(self._file.fileno()).st_size
        self._unpacker = zlib.decompressobj(_GZIP) if self._is_packed() else None
        self._packed = b""
        self._given = 0

    def __enter__(self) -> TraceStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def read(self) -> bytes:
        """The next bytes, at most `CHUNK`; empty at the end, or where it was given up."""
        if self.given_up:
            return b""
        try:
            chunk = self._file.read(CHUNK) if self._unpacker is None else self._unpack()
        except (OSError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or "its compressed data is damaged"
            self.given_up = f"{reason} after {self._given:,} bytes"
            return b""
        self._given += len(chunk)
        most = MOST_BYTES
        if self._unpacker is not None:
            most = min(most, max(_LEAST_UNPACKED, _MOST_PACKED * self._size))
        if self._given > most:
            self.given_up = f"it exceeds {most:,} bytes unpacked"
        return chunk

    def _is_packed(self) -> bool:
        head = self._file.read(2)
        self._file.seek(0)
        return head == b"\x1f\x8b"

    def _unpack(self) -> bytes:
        """Bytes of as many members as it takes; a cut one ends in what it has."""
        assert self._unpacker is not None
        while True:
            if not self._packed:
                self._packed = self._file.read(_PACKED)
                if not self._packed:
                    if not self._unpacker.eof:
                        self.given_up = f"its compressed data ends after {self._given:,} bytes"
                    return b""
            if self._unpacker.eof:
                if not self._packed.startswith(b"\x1f\x8b"):  # padding, as gzip itself takes it
                    return b""
                self._unpacker = zlib.decompressobj(_GZIP)
            chunk = self._unpacker.decompress(self._packed, CHUNK)
            self._packed = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            if chunk:
                return chunk


def _open(path: Path) -> BinaryIO:
    try:
        handle = os.open(path, os.O_RDONLY | open_flags("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
    except OSError as error:
        raise ArtifactError(f"Cannot open the trace {path}: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ArtifactError(f"{path} is not a regular file: pass the path of a trace.")
    return os.fdopen(handle, "rb")
