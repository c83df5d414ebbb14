"""The members of a zip file: where they are, their bytes, verified copies of them, new ones."""

from __future__ import annotations

import hashlib
import mmap
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workbench.artifacts.manifest.manifest_json import Member
from workbench.artifacts.zip_files.zip_frame import (
    AGAIN,
    copy_bytes,
    find_data_start,
    read_chunks,
    seal,
)
from workbench.errors import ArtifactError

_PIECE = 5 << 20  # bytes
_MANIFEST_LIMIT = 16 << 20  # that of 10,000 weights takes 4 MiB; comparing 64 takes half a minute


Content = bytes | Path


@dataclass(frozen=True, eq=False, repr=False)
class MemberBytes:
    """The bytes of one member, read by ranges."""

    file: BinaryIO
    start: int
    size: int

    def read_at(self, at: int, size: int) -> bytes:
        """The bytes of one range; fewer where the member ends."""
        if at >= self.size:
            return b""
        self.file.seek(self.start + at)
        return self.file.read(min(size, self.size - at))


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The members of an open file whose frame was checked; none was read yet.

    Not for two threads at once: they share the position of the file.
    """

    file: BinaryIO
    entries: Mapping[str, zipfile.ZipInfo]

    def entry(self, name: str) -> zipfile.ZipInfo:
        """One member; raises `ArtifactError` when there is none of that name."""
        try:
            return self.entries[name]
        except KeyError:
            raise ArtifactError(f"The file holds no member {name}.") from None

    def offset(self, name: str) -> int:
        """Where the bytes of a member start in the file, for mapping them."""
        return find_data_start(self.file, self.entry(name))

    def size(self, name: str) -> int:
        """The bytes of a member."""
        return self.entry(name).file_size

    def part(self, name: str) -> MemberBytes:
        """The bytes of a member, to be read by ranges."""
        return MemberBytes(self.file, self.offset(name), self.size(name))

    def raw(self, name: str) -> bytes:
        """The bytes of one member as they are, compared with nothing."""
        return b"".join(self._chunks(name))

    def is_whole(self, name: str) -> bool:
        """Whether a member has the hash that the manifest gives, or else its checksum."""
        check = self._checking(name)
        for chunk in self._chunks(name):
            check.update(chunk)
        return check.fits

    def unpack(self, folder: Path, names: Iterable[str], *, verify: bool = True) -> dict[str, Path]:
        """Copy members into a folder, hashing the copies; raises `ArtifactError` on a difference.

        With `verify=False` the hash is left out (big weights).
        """
        try:
            return {name: self._unpack(folder / name, name, verify) for name in names}
        except OSError as error:
            raise ArtifactError(
                f"The file cannot be unpacked into {folder}: {error.strerror}. Make room there, or "
                "name another folder in the environment variable TMPDIR."
            ) from error

    def hash_of(self, name: str) -> str | None:
        """The SHA-256 in hex that a member must have; None where no manifest gives one."""
        return None

    def _chunks(self, name: str) -> Iterator[bytes]:
        start = self.offset(name)
        return read_chunks(self.file, start, start + self.size(name))

    def _checking(self, name: str) -> _Checking:
        expected = self.hash_of(name)
        return _Checking(expected or self.entry(name).CRC)

    def _unpack(self, to: Path, name: str, verify: bool) -> Path:
        to.parent.mkdir(parents=True, exist_ok=True)
        start, size = self.offset(name), self.size(name)
        check = self._checking(name)
        with to.open("x+b") as out:
            if size <= _PIECE:
                copy_bytes(self.file, start, out, size)
                if verify and size:
                    with _mapped(out, size) as content:
                        check.update(content)
            else:
                self._unpack_big(start, size, out, check if verify else None)
        if verify and not check.fits:
            raise ArtifactError(
                f"The file is damaged: {name} does not have the hash that belongs to it. {AGAIN}"
            )
        return to

    def _unpack_big(self, start: int, size: int, out: BinaryIO, check: _Checking | None) -> None:
        """Copy and hash at once: while one piece is copied, the one before it is hashed."""
        with ThreadPoolExecutor(1) as beside:  # both leave Python to others
            pieces = [(at, min(_PIECE, size - at)) for at in range(0, size, _PIECE)]
            copies = [
                beside.submit(copy_bytes, self.file, start + at, out, length)
                for at, length in pieces
            ]
            if check is not None:
                out.truncate(size)
                with _mapped(out, size) as content:
                    for (at, length), copy in zip(pieces, copies, strict=True):
                        copy.result()
                        with content[at : at + length] as piece:
                            check.update(piece)
            for copy in copies:
                copy.result()


@contextmanager
def _mapped(file: BinaryIO, size: int) -> Iterator[memoryview]:
    """The bytes of a file, without a copy of them."""
    with (
        mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as content,
        memoryview(content) as view,
    ):
        yield view


class _Checking:
    """Compares bytes with a SHA-256, or with a zip's checksum where there is no other."""

    def __init__(self, expected: str | int) -> None:
        self._expected = expected
        self._digest = hashlib.sha256()
        self._crc = 0

    def update(self, chunk: bytes | memoryview) -> None:
        if isinstance(self._expected, int):
            self._crc = zlib.crc32(chunk, self._crc)
        else:
            self._digest.update(chunk)

    @property
    def fits(self) -> bool:
        found = self._crc if isinstance(self._expected, int) else self._digest.hexdigest()
        return found == self._expected


def read_manifest(file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of the member that lists the others; raises `ArtifactError` when damaged."""
    if entry.file_size > _MANIFEST_LIMIT:
        raise ArtifactError(f"The member {entry.filename} is too big ({entry.file_size} bytes).")
    start = find_data_start(file, entry)
    content = b"".join(read_chunks(file, start, start + entry.file_size))
    if zlib.crc32(content) != entry.CRC:
        raise ArtifactError(f"The file is damaged: {entry.filename} was changed. {AGAIN}")
    return content


def compare_sizes(entries: Mapping[str, zipfile.ZipInfo], listed: Mapping[str, Member]) -> None:
    """Raise `ArtifactError` unless the members are those that the manifest lists, by size."""
    sizes = {name: entry.file_size for name, entry in entries.items()}
    expected = {name: member.size for name, member in listed.items()}
    if sizes != expected:
        odd = min(name for name, _ in sizes.items() ^ expected.items())
        raise ArtifactError(f"The file is damaged: {odd} is not what the manifest lists. {AGAIN}")


def listed(members: Mapping[str, Content]) -> dict[str, Member]:
    """Size and SHA-256 of every member."""
    return {name: _member(content) for name, content in members.items()}


def _member(content: Content) -> Member:
    if isinstance(content, bytes):
        return Member(len(content), hashlib.sha256(content).hexdigest())
    with content.open("rb") as file:
        return Member(content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


@contextmanager
def write_whole_zip(path: Path) -> Iterator[tuple[zipfile.ZipFile, BinaryIO]]:
    """A zip file to be filled, and its file: a reader sees the old one or the whole, sealed one.

    Raises `ArtifactError` when it cannot be written.
    """
    from workbench.report.atomic import (
        write_saved_file,  # records take 0.06 s, and reading needs none
    )

    with write_saved_file(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            yield archive, file
        seal(file)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows opens no folder, and writes its entries with the file
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, eq=False, repr=False)
class _LoneFile(Members):
    """A file that is no archive, as the only member of itself."""

    def offset(self, name: str) -> int:
        """The start of the file."""
        return 0


def read_lone_file(file: BinaryIO, path: str, size: int) -> Members:
    """A whole file as the only member, under its own name; only `size` and `part` of it work."""
    entry = zipfile.ZipInfo(os.path.basename(path) or "file")
    entry.file_size = size
    return _LoneFile(file, {entry.filename: entry})
