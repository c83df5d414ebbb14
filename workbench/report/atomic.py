"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from workbench.errors import ArtifactError
from workbench.file_path import check_file_path
from workbench.temporary import collect_parts, hold, make_temporary_folder


@contextmanager
def write_saved_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """As `write_atomically`, for a user: raises `ArtifactError` when it cannot be written."""
    try:
        with write_atomically(path) as file:
            yield file
    except OSError as error:
        raise explain_write_error(path, error) from error


@contextmanager
def write_saved_folder(target: Path) -> Iterator[Path]:
    """A folder to be filled, whose files appear in `target` when the block ends without an error.

    Files of other names there stay. Raises `ArtifactError` when something cannot be written; then
    nothing half-written is left.
    """
    is_new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        with make_temporary_folder(".workbench-", target) as made:
            yield made
            for file in [entry for entry in sorted(made.rglob("*")) if not entry.is_dir()]:
                place = target / file.relative_to(made)
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(file, place)
    except BaseException as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise explain_write_error(target, error) from error
        raise


def explain_write_error(path: str | PathLike[str], error: OSError) -> ArtifactError:
    """The error in a sentence."""
    return ArtifactError(
        f"Cannot write {os.fspath(path)}: {error.strerror}. Choose a folder that exists and is "
        "writable."
    )


@contextmanager
def write_atomically(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Write a new file beside `path` that replaces it when the block ends without an error.

    The mode is the one that the user's umask gives to any new file. A process that is killed leaves
    the old file as it was, and a hidden `.part` file, which the next who writes there removes.
    Raises OSError.
    """
    target = Path(check_file_path(path))
    if not target.name or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    collect_parts(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _held_part(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # while it is held: what nobody holds is removed by others
                os.replace(temporary, target)
        if os.name == "nt":  # which moves no open file
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _held_part(temporary: Path) -> BinaryIO:
    """A new file that is locked; no descriptor is left to an interrupt."""
    while True:
        file = open(temporary, "x+b")  # noqa: SIM115  # the caller closes it
        try:
            if sys.platform != "win32":  # which renames no locked file; nobody removes it there
                with suppress(OSError):  # where there are no locks nobody removes it either
                    hold(file.fileno())
            if temporary.exists():  # else another writer has found it before it was locked
                return file
        except BaseException:
            file.close()
            raise
        file.close()
