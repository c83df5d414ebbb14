"""Opens a file that a user names: nothing but a regular file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import BinaryIO

from workbench.errors import ArtifactError


@contextmanager
def open_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """One open descriptor of a regular file; raises `ArtifactError` when there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ArtifactError(f"Cannot open {os.fspath(path)}: {error.strerror}.") from error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise ArtifactError(f"{os.fspath(path)} is {what}. Give the path of a file.")
    with os.fdopen(handle, "rb") as file:
        yield file
