"""The `.pt2` archive as torch writes it, with members of ours: stored, aligned, written whole."""

from __future__ import annotations

import shutil
import stat
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from workbench.artifacts.manifest.package_manifest import MANIFEST, PackageManifest
from workbench.artifacts.zip_files.members import Content as Content
from workbench.artifacts.zip_files.members import listed, write_whole_zip

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


def write_archive(path: Path, manifest: PackageManifest, members: Mapping[str, Content]) -> None:
    """Write the package atomically: a reader sees the old file or the whole new one.

    Raises `ArtifactError` when the file cannot be written.
    """
    with write_whole_zip(path) as (archive, file):
        for name, content in {**members, MANIFEST: manifest.to_bytes()}.items():
            _write(archive, file, f"{manifest.root}/{name}", content)


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


def with_members(manifest: PackageManifest, members: Mapping[str, Content]) -> PackageManifest:
    """The manifest with size and hash of every member but itself."""
    return replace(manifest, members=listed(members))
