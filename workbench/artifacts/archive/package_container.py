"""The `.pt2` file: torch's own archive, with or without a manifest of ours, read as a zip only."""

from __future__ import annotations

import base64
import binascii
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from workbench.artifacts.manifest.package_manifest import MANIFEST, PackagedModel, PackageManifest
from workbench.artifacts.zip_files.members import (
    AGAIN,
    Frame,
    Members,
    compare_sizes,
    hash_frame,
    read_manifest,
    tell_name,
)
from workbench.errors import ArtifactError
from workbench.plain_data import parse_json

FORMAT = "archive_format"  # the member by which torch knows its own archives
_FORMAT_LIMIT = 64  # bytes: torch writes "pt2"
CODE = "data/aotinductor/"
_METADATA_LIMIT = 1 << 20
_PART_LIMIT = 255  # bytes of a file name in Linux


REPORT_SUFFIX = ".wbr.b64"


@dataclass(frozen=True, eq=False, repr=False)
class OpenedPackage(Members):
    """A `.pt2` whose frame and manifest were checked; its members were not read yet.

    Names of members are relative to `root`, the one folder in the archive. `manifest` is None for
    an archive that torch itself wrote: its members have checksums only.
    """

    root: str
    manifest: PackageManifest | None

    def hash_of(self, name: str) -> str | None:
        """The SHA-256 in hex that the manifest gives; None in a file of torch."""
        listed = None if self.manifest is None else self.manifest.members.get(name)
        return None if listed is None else listed.sha256

    def read_json(self, name: str, limit: int) -> Mapping[str, Any]:
        """The JSON object in a member; an empty one for what is damaged or bigger than `limit`."""
        if name not in self.entries or self.size(name) > limit:
            return {}
        try:
            content = parse_json(self.raw(name))
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    def read_metadata(self) -> dict[str, str]:
        """What torch's metadata files say, such as AOTI_CPU_ISA; later files add to former ones."""
        metadata: dict[str, str] = {}
        for name in self.entries:
            if name.startswith(CODE) and name.endswith("_metadata.json"):
                data = self.read_json(name, _METADATA_LIMIT)
                metadata.update({str(k): str(v) for k, v in data.items() if v})
        return metadata


def read_package_container(frame: Frame) -> OpenedPackage:
    """The package that a zip file holds, its manifest compared with the members.

    Raises `ArtifactError` for links, encrypted or compressed members, names that leave the
    folder, duplicates, members that overlap, and whatever is not what the manifest lists.
    """
    file = frame.file
    if frame.comment and hash_frame(file, frame.entries) != frame.comment:
        raise ArtifactError(f"The package is damaged: its zip directory was changed. {AGAIN}")
    root, entries = _below_root(frame.entries)
    if FORMAT in entries and (size := entries[FORMAT].file_size) > _FORMAT_LIMIT:
        raise ArtifactError(
            f"{FORMAT} has {size} bytes, more than {_FORMAT_LIMIT}: not written by aot-workbench."
        )
    if MANIFEST not in entries:
        return OpenedPackage(file, entries, root, None)
    content = read_manifest(file, entries[MANIFEST])
    manifest = PackageManifest.from_bytes(content)
    if content != manifest.to_bytes() or manifest.root != root:
        raise ArtifactError(
            f"The manifest of the package is damaged or not written by aot-workbench. {AGAIN}"
        )
    if not frame.comment:
        raise ArtifactError(f"The package is damaged: its zip directory has no seal. {AGAIN}")
    others = {name: entry for name, entry in entries.items() if name != MANIFEST}
    compare_sizes(others, manifest.members)
    _check_models(manifest)
    return OpenedPackage(file, entries, root, manifest)


def _below_root(
    members: Iterable[zipfile.ZipInfo],
) -> tuple[str, Mapping[str, zipfile.ZipInfo]]:
    """The one folder of an archive, and its members by their names below it."""
    entries = {_checked(entry.filename): entry for entry in members}
    roots = {name.partition("/")[0] for name in entries}
    if len(roots) != 1:
        raise ArtifactError(
            f"The zip file has {len(roots)} folders, but a .pt2 has one: not written by "
            "aot-workbench."
        )
    folders = {str(folder) for name in entries for folder in PurePosixPath(name).parents}
    if both := folders & entries.keys():
        raise ArtifactError(
            f"The member {tell_name(min(both))} is a file and a folder: not written by "
            "aot-workbench. Nothing was unpacked."
        )
    root = roots.pop()
    return root, {name[len(root) + 1 :]: entry for name, entry in entries.items()}


def _checked(name: str) -> str:
    """The name of a member that stays below its folder; raises `ArtifactError` for others."""
    parts = name.split("/")
    if {"", ".", ".."} & {*parts} or any(len(part.encode()) > _PART_LIMIT for part in parts):
        raise ArtifactError(
            f"The archive has an unexpected member '{tell_name(name)}': not written by "
            "aot-workbench. Nothing was unpacked."
        )
    return name


def _check_models(manifest: PackageManifest) -> None:
    """Raise `ArtifactError` when a model names a member, or bytes of one, that are not there."""
    names = [model.name for model in manifest.models]
    if len({*names}) != len(names):
        raise ArtifactError(
            "The manifest lists two models with one name: not written by aot-workbench."
        )
    for model in manifest.models:
        for name in _named(model):
            if name not in manifest.members:
                raise ArtifactError(
                    f"The package is damaged: {tell_name(name)}, which model "
                    f"{tell_name(model.name)} needs, is missing. {AGAIN}"
                )
        for constant in model.constants:
            member = manifest.members[constant.member] if constant.member else None
            end = constant.offset + constant.size
            if min(constant.offset, constant.size) < 0 or (member and end > member.size):
                raise ArtifactError(
                    f"The package is damaged: {tell_name(constant.fqn)} does not fit inside "
                    f"{tell_name(constant.member or '')}. {AGAIN}"
                )


def _named(model: PackagedModel) -> Iterable[str]:
    beside = (constant.member for constant in model.constants)
    return (name for name in (model.library, model.report, model.reference, *beside) if name)


def encode_report(report: bytes) -> bytes:
    """The member for the content of a `.wbr` file."""
    return base64.b64encode(report)


def decode_report(member: bytes) -> bytes:
    """The content of the `.wbr` file in a member; raises `ArtifactError` when it is damaged."""
    try:
        return base64.b64decode(member, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArtifactError(
            f"The report in the package is damaged ({error}). Get the file again."
        ) from error
