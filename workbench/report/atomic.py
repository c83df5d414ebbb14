"""A file that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from workbench.errors import ArtifactError
from workbench.file_path import file_path, open_flags


@contextmanager
def saved_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """As `atomic_file`, for what a user saves; raises `ArtifactError` when it cannot be written."""
    try:
        with atomic_file(path) as file:
            yield file
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str | PathLike[str], error: OSError) -> ArtifactError:
    """The error in a sentence."""
    return ArtifactError(
        f"Cannot write {os.fspath(path)}: {error.strerror}. Choose a folder that exists and is "
        "writable."
    )


@contextmanager
def atomic_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Write a new file beside `path` that replaces it when the block ends without an error.

    The mode is the one that the user's umask gives to any new file. A process that is killed leaves
    the old file as it was, and a hidden `.part` file. Raises OSError.
    """
    target = Path(file_path(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    handle = os.open(
        temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | open_flags("O_CLOEXEC", "O_BINARY"), 0o666
    )
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
