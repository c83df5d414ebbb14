"""A signature by a team's key, added to a file in place."""

from __future__ import annotations

import copy
import os
import stat
import struct
import zipfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from workbench.artifacts.archive.aot_container import MANIFEST
from workbench.artifacts.archive.file_kinds import OpenedFile, open_any
from workbench.artifacts.manifest import package_manifest
from workbench.artifacts.manifest.manifest import Signature
from workbench.artifacts.trust.team_keys import ED25519, TeamKey, read_private_key
from workbench.artifacts.trust.trust import AnyManifest, add_signature
from workbench.artifacts.zip_files.members import SEAL_SIZE, Members, read_chunks, seal
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.report.atomic import write_atomically
from workbench.temporary import hold

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_LOCAL_HEADER, _ZIP64_EXTRA, _EXTRA_HEADER = 30, 20, 4
_ALIGNMENT = 64  # weights are mapped from their places
_PADDING = 0x4246  # the id that torch gives to bytes that only align
_SMALL = 1 << 30


def sign_by_key(manifest: AnyManifest, key: Ed25519PrivateKey) -> AnyManifest:
    """The manifest with the key's signature beside the others."""
    name = TeamKey(key.public_key().public_bytes_raw().hex()).id
    value = key.sign(manifest.signed_bytes()).hex()
    return add_signature(manifest, Signature(ED25519, name, value))


def sign(
    path: str | PathLike[str],
    key: str | PathLike[str] | Ed25519PrivateKey,
    *,
    password: str | None = None,
) -> str:
    """Add a signature to a file and return its digest; see `workbench.sign`."""
    owner = read_private_key(key, password)
    target = Path(check_file_path(path)).resolve()  # a link stays a link
    while True:
        with open_any(target) as opened:
            _hold(opened.file, target)
            if _is_still(target, opened.file):
                return _sign(target, os.fspath(path), opened, owner)


def _hold(file: BinaryIO, target: Path) -> None:
    """Wait for others who sign the file: two at once would leave one signature."""
    try:
        hold(file.fileno())
    except OSError as error:
        raise ArtifactError(
            f"The file system of {target} cannot lock the file ({error.strerror}), so another "
            "signature could be lost. Sign a copy in another folder."
        ) from error


def _is_still(target: Path, file: BinaryIO) -> bool:
    """Whether the path leads to the open file: who held it before may have replaced it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(target))
    except OSError:
        return False


def _sign(target: Path, path: str, opened: OpenedFile, owner: Ed25519PrivateKey) -> str:
    members, manifest = opened.artifact or opened.package, opened.signed
    if members is None or manifest is None:
        raise UsageError(
            f"{path} was written by torch and has no manifest to sign. Create it with this "
            "workbench instead."
        )
    damaged = [name for name in manifest.members if not members.is_whole(name)]
    if damaged:
        raise ArtifactError(
            f"{path} is damaged and was not signed: {damaged[0]} was changed. Get the file again."
        )
    signed = sign_by_key(manifest, owner)
    try:
        with write_atomically(target) as file:
            os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(opened.file.fileno()).st_mode))
            name = MANIFEST if opened.artifact else package_manifest.MANIFEST
            write_again(file, members, name, signed.to_bytes())
    except OSError as error:
        raise ArtifactError(
            f"Cannot write {target}: {error.strerror}. Choose a writable folder."
        ) from error
    return signed.digest


def write_again(file: BinaryIO, members: Members, name: str, content: bytes) -> None:
    """Write a file with other content for one member; the others keep bytes and alignment."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for member, old in sorted(members.entries.items(), key=lambda e: e[1].header_offset):
            start, size = members.offset(member), members.size(member)
            parts = [content] if member == name else read_chunks(members.file, start, start + size)
            entry = _entry(old, archive.start_dir, start, len(content) if member == name else size)
            with archive.open(entry, "w", force_zip64=entry.file_size > _SMALL) as to:
                for part in parts:
                    to.write(part)
    if _is_sealed(members.file):
        seal(file)


def _is_sealed(file: BinaryIO) -> bool:
    file.seek(-SEAL_SIZE, os.SEEK_END)
    return file.read(SEAL_SIZE).startswith(b"sha256:")


def _entry(old: zipfile.ZipInfo, at: int, old_start: int, size: int) -> zipfile.ZipInfo:
    """The header of a member that starts `at` there, its data aligned as before."""
    entry = copy.copy(old)
    entry.file_size = size
    header = _LOCAL_HEADER + len(old.filename.encode()) + (_ZIP64_EXTRA if size > _SMALL else 0)
    entry.extra = b""
    if (at + header - old_start) % _ALIGNMENT:
        padding = (old_start - at - header - _EXTRA_HEADER) % _ALIGNMENT
        entry.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
    return entry
