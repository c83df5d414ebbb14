"""Writing the zip files of artifacts and packages: atomically, with sizes and hashes known."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from workbench.artifacts.archive.zip_frame import seal
from workbench.artifacts.manifest.manifest_rows import Member
from workbench.errors import ArtifactError

Content = bytes | Path


def listed(members: Mapping[str, Content]) -> dict[str, Member]:
    """Size and SHA-256 of every member."""
    return {name: _member(content) for name, content in members.items()}


def _member(content: Content) -> Member:
    if isinstance(content, bytes):
        return Member(len(content), hashlib.sha256(content).hexdigest())
    with content.open("rb") as file:
        return Member(content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


@contextmanager
def whole_zip(path: Path) -> Iterator[tuple[zipfile.ZipFile, BinaryIO]]:
    """A zip file to be filled, and its file: a reader sees the old one or the whole, sealed one.

    Raises `ArtifactError` when it cannot be written.
    """
    from workbench.report.atomic import atomic_file  # records take 0.06 s, and reading needs none

    try:
        with atomic_file(path) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                yield archive, file
            seal(file)
    except OSError as error:
        raise ArtifactError(
            f"Cannot write {path}: {error.strerror}. Choose a folder that exists and is writable."
        ) from error
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
