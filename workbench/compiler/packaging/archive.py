"""The `.pt2` archive as torch writes it, with members of ours: stored, aligned, written whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from workbench.artifacts.manifest import Member
from workbench.artifacts.package_manifest import MANIFEST, PackageManifest
from workbench.artifacts.zip_frame import seal
from workbench.errors import ArtifactError
from workbench.report.atomic import atomic_file

Content = bytes | Path
ALIGNMENT = 64  # bytes; torch's own, so that weights can be mapped where they are
FIXED: Mapping[str, bytes] = {
    "archive_format": b"pt2",
    "archive_version": b"0",
    "byteorder": b"little",
    ".data/version": b"6\n",
}
"""The members by which torch knows its archives; what `PT2ArchiveWriter` writes."""
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
_HEADER = 30
_ZIP64_EXTRA = 20
_PADDING_ID = 0x4246  # "FB", as torch marks its padding


def listed(members: Mapping[str, Content]) -> dict[str, Member]:
    """Size and SHA-256 of every member."""
    return {name: _member(content) for name, content in members.items()}


def _member(content: Content) -> Member:
    if isinstance(content, bytes):
        return Member(len(content), hashlib.sha256(content).hexdigest())
    with content.open("rb") as file:
        return Member(content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_archive(path: Path, manifest: PackageManifest, members: Mapping[str, Content]) -> None:
    """Write the package atomically: a reader sees the old file or the whole new one.

    Raises `ArtifactError` when the file cannot be written.
    """
    try:
        with atomic_file(path) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for name, content in {**members, MANIFEST: manifest.to_bytes()}.items():
                    _write(archive, file, f"{manifest.root}/{name}", content)
            seal(file)
    except OSError as error:
        raise ArtifactError(
            f"Cannot write {path}: {error.strerror}. Choose a folder that exists and is writable."
        ) from error
    _sync_folder(path.parent)


def _write(archive: zipfile.ZipFile, file: BinaryIO, name: str, content: Content) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.file_size = len(content) if isinstance(content, bytes) else content.stat().st_size
    is_big = info.file_size * 1.05 > zipfile.ZIP64_LIMIT  # as zipfile itself decides
    header = _HEADER + len(name.encode()) + (_ZIP64_EXTRA if is_big else 0)
    info.extra = _padding(archive.start_dir, header)
    with archive.open(info, "w", force_zip64=is_big) as to:
        if isinstance(content, bytes):
            to.write(content)
            return
        with content.open("rb") as source:
            shutil.copyfileobj(source, to, _CHUNK)


def _padding(start: int, header: int) -> bytes:
    """An extra field after which the data start at a multiple of the alignment."""
    size = -(start + header + 4) % ALIGNMENT
    return struct.pack("<HH", _PADDING_ID, size) + bytes(size)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def with_members(manifest: PackageManifest, members: Mapping[str, Content]) -> PackageManifest:
    """The manifest with size and hash of every member but itself."""
    return replace(manifest, members=listed(members))
