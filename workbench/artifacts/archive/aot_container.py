"""The `.aot` file: an uncompressed zip that is written atomically."""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.zip_files.members import Content as Content
from workbench.artifacts.zip_files.members import (
    Frame,
    Members,
    compare_sizes,
    hash_frame,
    listed,
    read_frame,
    read_manifest,
    tell_name,
    write_whole_zip,
)
from workbench.errors import ArtifactError

MANIFEST, PAYLOAD, REPORT = "manifest.json", "payload", "report.wbr"
PROGRAM_RECORD = "session.wbs"
WEIGHTS, SKELETON = "weights.safetensors", "skeleton"
_NAME = re.compile(
    r"(manifest\.json|payload|report\.wbr|session\.wbs|weights\.safetensors|skeleton"
    r"|kernels/[a-z0-9_-]+/[0-9a-f]{64}\.so)"
)
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)


def name_kernel_member(build: str, key: str) -> str:
    """The name of one built kernel inside the file."""
    return f"kernels/{build}/{key}.so"


def write_artifact(
    path: str | PathLike[str], manifest: Manifest, members: Mapping[str, Content]
) -> Manifest:
    """Write an artifact, atomically: a reader sees the old file or the whole new one.

    `manifest` gets the sizes and hashes of the members; sign it with `signed` before, by passing
    what `with_members` returns.
    """
    with write_whole_zip(Path(path)) as (archive, _):
        archive.writestr(_entry(MANIFEST), manifest.to_bytes())
        for name, content in members.items():
            if isinstance(content, bytes):
                archive.writestr(_entry(name), content)
                continue
            with (
                content.open("rb") as source,
                archive.open(_entry(name), "w", force_zip64=True) as to,
            ):
                shutil.copyfileobj(source, to, _CHUNK)
    return manifest


def with_members(manifest: Manifest, members: Mapping[str, Content]) -> Manifest:
    """The manifest with size and SHA-256 of every member."""
    return replace(manifest, members=listed(members))


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


@dataclass(frozen=True)
class Opened(Members):
    """An artifact whose frame and manifest were checked; its members were not read yet."""

    manifest: Manifest

    def hash_of(self, name: str) -> str | None:
        """The SHA-256 in hex that the manifest gives."""
        return self.manifest.members[name].sha256


def read_artifact(file: BinaryIO) -> Opened:
    """Check the frame of an artifact and read its manifest; executes nothing."""
    return artifact_in(read_frame(file))


def artifact_in(frame: Frame) -> Opened:
    """The artifact that a zip file holds; raises `ArtifactError` for any other zip file."""
    file, entries = frame.file, _entries(frame)
    content = read_manifest(file, entries[MANIFEST])
    manifest = Manifest.from_bytes(content)
    if content != manifest.to_bytes():
        raise ArtifactError(
            "The manifest of the artifact is damaged or not written by aot-workbench. "
            "Get the file again."
        )
    others = {name: entry for name, entry in entries.items() if name != MANIFEST}
    compare_sizes(others, manifest.members)
    return Opened(file, entries, manifest)


def _entries(frame: Frame) -> dict[str, zipfile.ZipInfo]:
    entries = {_checked(entry): entry for entry in frame.entries}
    if MANIFEST not in entries:
        raise ArtifactError("The zip file has no manifest.json: not an artifact of this workbench.")
    if hash_frame(frame.file, frame.entries) != frame.comment:
        raise ArtifactError("The artifact is damaged: its zip directory was changed.")
    return entries


def _checked(entry: zipfile.ZipInfo) -> str:
    """The name of a member that may be in an artifact; raises `ArtifactError` for others."""
    if not _NAME.fullmatch(entry.filename):
        raise ArtifactError(
            f"The artifact has an unexpected member '{tell_name(entry.filename)}': not written by "
            "aot-workbench. Nothing was unpacked."
        )
    return entry.filename
