"""The `.aot` file: an uncompressed zip that is written atomically."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, BinaryIO

from workbench.artifacts.manifest import Manifest, Member
from workbench.errors import ArtifactError
from workbench.report.atomic import atomic_file

MANIFEST, PAYLOAD, REPORT = "manifest.json", "payload", "report.wbr"
WEIGHTS, SKELETON = "weights.safetensors", "skeleton"
_NAME = re.compile(
    r"(manifest\.json|payload|report\.wbr|weights\.safetensors|skeleton"
    r"|kernels/[a-z0-9_-]+/[0-9a-f]{64}\.so)"
)
_MANIFEST_LIMIT = 64 << 20
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER = 30

Content = bytes | Path


def kernel_member(build: str, key: str) -> str:
    """The name of one built kernel inside the file."""
    return f"kernels/{build}/{key}.so"


# writing


def write_artifact(
    path: str | PathLike[str], manifest: Manifest, members: Mapping[str, Content]
) -> Manifest:
    """Write an artifact, atomically: a reader sees the old file or the whole new one.

    `manifest` gets the sizes and hashes of the members; sign it with `signed` before, by passing
    what `with_members` returns.
    """
    target = Path(path)
    try:
        with atomic_file(target) as file:
            _write_zip(file, manifest, members)
    except OSError as error:
        raise ArtifactError(
            f"Cannot write {target}: {error.strerror}. Choose a folder that exists and is writable."
        ) from error
    _sync_folder(target.parent)
    return manifest


def with_members(manifest: Manifest, members: Mapping[str, Content]) -> Manifest:
    """The manifest with size and SHA-256 of every member."""
    return replace(manifest, members={name: _member(c) for name, c in members.items()})


def _member(content: Content) -> Member:
    if isinstance(content, bytes):
        return Member(len(content), hashlib.sha256(content).hexdigest())
    with content.open("rb") as file:
        return Member(content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _write_zip(file: BinaryIO, manifest: Manifest, members: Mapping[str, Content]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
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
        archive.comment = b"sha256:" + b"0" * 64
    _seal(file)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


def _seal(file: BinaryIO) -> None:
    """Put the hash of everything but the members' data into the zip's comment."""
    file.flush()
    with zipfile.ZipFile(file) as archive:
        seal = _frame_hash(file, archive.infolist())
    file.seek(-len(seal), os.SEEK_END)
    file.write(seal)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _frame_hash(file: IO[bytes], entries: list[zipfile.ZipInfo]) -> bytes:
    """A hash of every byte that belongs to no member, the comment itself left out."""
    size = file.seek(0, os.SEEK_END)
    digest = hashlib.sha256()
    at = 0
    for entry in sorted(entries, key=lambda e: e.header_offset):
        start = _data_start(file, entry)
        _feed(digest, file, at, start)
        at = start + entry.compress_size
    _feed(digest, file, at, size - 71)
    return b"sha256:" + digest.hexdigest().encode()


def _feed(digest: hashlib._Hash, file: IO[bytes], start: int, end: int) -> None:
    if end < start:
        raise ArtifactError("The artifact is damaged: its members overlap. Get the file again.")
    file.seek(start)
    left = end - start
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)


def _data_start(file: IO[bytes], entry: zipfile.ZipInfo) -> int:
    file.seek(max(entry.header_offset, 0))
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\3\4":
        raise ArtifactError("The artifact is damaged: a member has no header. Get the file again.")
    name_size, extra_size = struct.unpack_from("<HH", header, 26)
    return int(entry.header_offset + _LOCAL_HEADER + name_size + extra_size)


# reading


@dataclass(frozen=True)
class Opened:
    """An artifact whose frame and manifest were checked; its members were not read yet."""

    file: BinaryIO
    manifest: Manifest
    entries: Mapping[str, zipfile.ZipInfo]

    def raw(self, name: str) -> bytes:
        """The bytes of one member as they are, compared with nothing."""
        self.file.seek(_data_start(self.file, self.entries[name]))
        return self.file.read(self.entries[name].file_size)

    def is_whole(self, name: str) -> bool:
        """Whether a member has the hash that the manifest gives."""
        start = _data_start(self.file, self.entries[name])
        digest = hashlib.sha256()
        _feed(digest, self.file, start, start + self.entries[name].file_size)
        return digest.hexdigest() == self.manifest.members[name].sha256

    def unpack(self, folder: Path, names: Iterable[str], *, verify: bool = True) -> dict[str, Path]:
        """Copy members into a folder, hashing the copies; raises `ArtifactError` on a difference.

        With `verify=False` the hash is left out (big weights).
        """
        return {name: self._unpack(folder / name, name, verify) for name in names}

    def _unpack(self, to: Path, name: str, verify: bool) -> Path:
        to.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        self.file.seek(_data_start(self.file, self.entries[name]))
        left = self.entries[name].file_size
        with to.open("xb") as out:
            while left > 0 and (chunk := self.file.read(min(left, _CHUNK))):
                out.write(chunk)
                left -= len(chunk)
                if verify:
                    digest.update(chunk)
        if left or (verify and digest.hexdigest() != self.manifest.members[name].sha256):
            raise ArtifactError(_changed(name))
        return to


def _changed(name: str) -> str:
    return (
        f"The artifact is damaged: {name} does not have the hash that the manifest gives. "
        "Get the file again."
    )


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
        raise ArtifactError(f"{os.fspath(path)} is {what}. Give the path of an .aot file.")
    with os.fdopen(handle, "rb") as file:
        yield file


def read_artifact(file: BinaryIO) -> Opened:
    """Check the frame of an artifact and read its manifest; executes nothing."""
    entries = _entries(file)
    content = _read_member(file, entries[MANIFEST], _MANIFEST_LIMIT)
    manifest = Manifest.from_bytes(content)
    if content != manifest.to_bytes():
        raise ArtifactError(
            "The manifest of the artifact is damaged or foreign. Get the file again."
        )
    _compare(entries, manifest)
    return Opened(file, manifest, entries)


def _entries(file: BinaryIO) -> dict[str, zipfile.ZipInfo]:
    size = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            found, comment = archive.infolist(), archive.comment
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OSError) as error:
        raise ArtifactError(
            f"The artifact is truncated or damaged ({error}). Get the file again."
        ) from error
    entries = {_checked(entry): entry for entry in found}
    if len(entries) != len(found):
        raise ArtifactError("The artifact holds two members of one name: a foreign file.")
    if MANIFEST not in entries:
        raise ArtifactError(
            "The zip file holds no manifest.json: not an artifact of this workbench."
        )
    if sum(entry.file_size for entry in found) > size:
        raise ArtifactError("The artifact claims members that are bigger than the file.")
    if _frame_hash(file, found) != comment:
        raise ArtifactError("The artifact is damaged: its zip directory was changed.")
    return entries


def _checked(entry: zipfile.ZipInfo) -> str:
    """The name of a member that may stand in an artifact; raises `ArtifactError` for others."""
    mode = entry.external_attr >> 16
    if not _NAME.fullmatch(entry.orig_filename):
        raise ArtifactError(
            f"The artifact holds a member named {entry.orig_filename!r}, which does not belong "
            "there: a foreign file. Nothing was unpacked."
        )
    if not stat.S_ISREG(mode) or entry.flag_bits & 1:
        raise ArtifactError(f"The member {entry.filename} is a link or encrypted: a foreign file.")
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        raise ArtifactError(
            f"The member {entry.filename} is compressed; artifacts never are: a foreign file."
        )
    return entry.filename


def _read_member(file: BinaryIO, entry: zipfile.ZipInfo, limit: int) -> bytes:
    if entry.file_size > limit:
        raise ArtifactError(f"The member {entry.filename} is too big ({entry.file_size} bytes).")
    file.seek(_data_start(file, entry))
    content = file.read(entry.file_size)
    if zlib.crc32(content) != entry.CRC:
        raise ArtifactError(f"The artifact is damaged: {entry.filename} was changed.")
    return content


def _compare(entries: Mapping[str, zipfile.ZipInfo], manifest: Manifest) -> None:
    sizes = {name: entry.file_size for name, entry in entries.items() if name != MANIFEST}
    expected = {name: member.size for name, member in manifest.members.items()}
    if sizes != expected:
        odd = sorted(set(sizes.items()) ^ set(expected.items()))[0][0]
        raise ArtifactError(
            f"The artifact is damaged: {odd} is not what the manifest lists. Get the file again."
        )


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only this user can enter, removed in every case."""
    folder = tempfile.mkdtemp(prefix="aot-workbench-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)
