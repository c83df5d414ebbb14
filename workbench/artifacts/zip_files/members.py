"""Zip files whose members are stored as they are: checked, read by ranges, copied, written."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from workbench.artifacts.manifest.manifest import Member
from workbench.errors import ArtifactError

CHUNK = 1 << 20
_CANNOT_SEND = (errno.EINVAL, errno.ENOSYS, errno.ENOTSOCK, errno.EOPNOTSUPP)  # to a file
AGAIN = "Get the file again."
_LOCAL, _LOCAL_SIZE = b"PK\3\4", 30
_END, _END_SIZE = b"PK\5\6", 22
_LOCATOR, _LOCATOR_SIZE = b"PK\6\7", 20
_END64, _END64_SIZE = b"PK\6\6", 56
_DESCRIPTOR = b"PK\7\x08"
_COMMENT_LIMIT = 0xFFFF
_DIRECTORY_LIMIT = 8 << 20  # of all headers together; 10,000 members take 2 MiB
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_LATER_SIZES = 0x8  # sizes and checksum follow the data
SEAL_SIZE = 71
_LONGEST_NAME = 80  # characters of a name in a message
_PIECE = 5 << 20  # bytes
_MANIFEST_LIMIT = 16 << 20  # that of 10,000 weights takes 4 MiB; comparing 64 takes half a minute

_NO_ZIP = (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OSError)

Content = bytes | Path


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """The members of a zip file in the order of their data, and its comment."""

    file: BinaryIO
    entries: tuple[zipfile.ZipInfo, ...]
    comment: bytes
    size: int


def list_names(file: BinaryIO) -> list[str]:
    """The names of members of any zip file whose directory can be read; of others none."""
    try:
        _check_directory(file, file.seek(0, os.SEEK_END))
        with zipfile.ZipFile(file) as archive:
            return archive.namelist()
    except (ArtifactError, *_NO_ZIP):
        return []


def read_frame(file: BinaryIO) -> Frame:
    """Read the directory of a zip file and compare it with the headers before the members.

    Raises `ArtifactError` unless every member is a plain, unencrypted, uncompressed file with a
    name of its own, and no two share a byte.
    """
    size = file.seek(0, os.SEEK_END)
    directory, count = _check_directory(file, size)
    try:
        with zipfile.ZipFile(file) as archive:
            entries, comment = archive.infolist(), archive.comment
    except _NO_ZIP as error:
        raise ArtifactError(f"The file is truncated or damaged ({error}). {AGAIN}") from error
    for entry in entries:
        _check_entry(entry)
    if len(entries) != count:
        raise ArtifactError(f"The file is damaged: its zip directory hides members. {AGAIN}")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ArtifactError("The file has two members with one name: not written by aot-workbench.")
    if sum(entry.file_size for entry in entries) > size:
        raise ArtifactError("The file declares members that are larger than the file.")
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    _check_layout(file, ordered, directory)
    return Frame(file, tuple(ordered), comment, size)


def _check_directory(file: BinaryIO, size: int) -> tuple[int, int]:
    """Where the directory starts and how many members it says it has.

    Refuses what zipfile would read in another way than other programs, or without bound.
    """
    reach = min(size, _COMMENT_LIMIT + _END_SIZE + _LOCATOR_SIZE + _END64_SIZE)
    file.seek(size - reach)
    tail = file.read(reach)
    at = tail.rfind(_END)
    if at < 0 or at + _END_SIZE > reach:
        raise ArtifactError(
            f"The file is truncated or damaged: its zip directory is missing. {AGAIN}"
        )
    count, length, start, comment = struct.unpack_from("<HIIH", tail, at + 10)
    if at + _END_SIZE + comment != reach:
        raise ArtifactError(f"The file is truncated or damaged: its end record is wrong. {AGAIN}")
    locator = at - _LOCATOR_SIZE
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR:
        at = locator - _END64_SIZE
        if at < 0 or tail[at : at + 4] != _END64:
            raise ArtifactError(f"The file is damaged: its zip directory has no end. {AGAIN}")
        count, length, start = struct.unpack_from("<QQQ", tail, at + 32)
    if length > _DIRECTORY_LIMIT:
        raise ArtifactError(
            f"The zip directory has {length} bytes, more than {_DIRECTORY_LIMIT}, and was not read."
        )
    if start + length != size - reach + at:
        raise ArtifactError(
            f"The file is truncated or damaged: its zip directory is missing. {AGAIN}"
        )
    return int(start), int(count)


def tell_name(name: str) -> str:
    """The name of a member in a message: a forged one may have 65,535 characters of any kind."""
    printable = name if name.isprintable() else ascii(name)[1:-1]
    if len(printable) <= _LONGEST_NAME:
        return printable
    half = _LONGEST_NAME // 2  # the end says of what kind it is
    return f"{printable[:half]}…{printable[-half:]}"


def _check_entry(entry: zipfile.ZipInfo) -> None:
    mode, name = entry.external_attr >> 16, entry.orig_filename
    if entry.filename != name or not name.isprintable() or "\\" in name:
        raise ArtifactError(
            f"The file has an unexpected member '{tell_name(name)}': not written by aot-workbench. "
            "Nothing was unpacked."
        )
    name = tell_name(name)
    # torch's own writer leaves the mode out
    if (mode and not stat.S_ISREG(mode)) or entry.flag_bits & _ENCRYPTED:
        raise ArtifactError(
            f"The member {name} is a link or encrypted: not written by aot-workbench."
        )
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        raise ArtifactError(
            f"The member {name} is compressed: not written by aot-workbench. Nothing was unpacked."
        )


def _check_layout(file: BinaryIO, entries: Iterable[zipfile.ZipInfo], directory: int) -> None:
    """Raise `ArtifactError` unless the members follow one another without a gap."""
    at = 0
    for entry in entries:
        if entry.header_offset != at:
            raise _overlap()
        at = find_data_start(file, entry) + entry.file_size
        if entry.flag_bits & _LATER_SIZES:
            at += _check_descriptor(file, entry, at)
    if at != directory:
        raise _overlap()


def _overlap() -> ArtifactError:
    return ArtifactError(f"The file is damaged: its members overlap or hide bytes. {AGAIN}")


def find_data_start(file: IO[bytes], entry: zipfile.ZipInfo) -> int:
    """Where the data of a member start; raises `ArtifactError` unless its header says the same."""
    file.seek(max(entry.header_offset, 0))
    header = file.read(_LOCAL_SIZE)
    if len(header) < _LOCAL_SIZE or header[:4] != _LOCAL:
        raise ArtifactError(f"The file is damaged: a member has no header. {AGAIN}")
    flags, method, _, crc, packed, size, name_size, extra_size = struct.unpack_from(
        "<HHIIIIHH", header, 6
    )
    encoding = "utf-8" if flags & 0x800 else "cp437"
    name = file.read(name_size).decode(encoding, errors="replace")
    same = name == entry.orig_filename and (flags, method) == (entry.flag_bits, entry.compress_type)
    if not flags & _LATER_SIZES:
        sizes = {entry.file_size, 0xFFFFFFFF}
        same = same and crc == entry.CRC and {packed, size} <= sizes
    if not same:
        raise ArtifactError(
            f"The file is damaged: the header of {tell_name(entry.filename)} does not match the "
            f"zip directory. {AGAIN}"
        )
    return int(entry.header_offset + _LOCAL_SIZE + name_size + extra_size)


def _check_descriptor(file: BinaryIO, entry: zipfile.ZipInfo, at: int) -> int:
    """The size of what follows the data of a member."""
    file.seek(at)
    content = file.read(24)
    facts = (_DESCRIPTOR, entry.CRC, entry.file_size, entry.file_size)
    for layout in ("<4sIII", "<4sIQQ"):
        try:
            expected = struct.pack(layout, *facts)
        except struct.error:  # the size needs the longer layout
            continue
        if content.startswith(expected):
            return len(expected)
    raise ArtifactError(
        f"The file is damaged: the data after {tell_name(entry.filename)} does not match the "
        f"zip directory. {AGAIN}"
    )


def hash_frame(file: IO[bytes], entries: Iterable[zipfile.ZipInfo]) -> bytes:
    """A hash of every byte that belongs to no member, the comment itself left out."""
    size = file.seek(0, os.SEEK_END)
    digest = hashlib.sha256()
    at = 0
    for entry in sorted(entries, key=lambda e: e.header_offset):
        start = find_data_start(file, entry)
        for chunk in read_chunks(file, at, start):
            digest.update(chunk)
        at = start + entry.compress_size
    for chunk in read_chunks(file, at, size - SEAL_SIZE):
        digest.update(chunk)
    return b"sha256:" + digest.hexdigest().encode()


def seal(file: BinaryIO) -> None:
    """Give a whole zip file without a comment one: the hash of all but the members' data."""
    file.seek(-2, os.SEEK_END)
    file.write(struct.pack("<H", SEAL_SIZE) + bytes(SEAL_SIZE))
    file.flush()
    with zipfile.ZipFile(file) as archive:
        value = hash_frame(file, archive.infolist())
    file.seek(-SEAL_SIZE, os.SEEK_END)
    file.write(value)


def read_chunks(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    """The bytes between two places; raises `ArtifactError` when the file ends before."""
    if end < start:
        raise _overlap()
    file.seek(start)
    left = end - start
    while left > 0:
        chunk = file.read(min(left, CHUNK))
        if not chunk:
            raise ArtifactError(f"The file is truncated. {AGAIN}")
        left -= len(chunk)
        yield chunk


def copy_bytes(file: IO[bytes], start: int, to: IO[bytes], size: int) -> None:
    """Append `size` bytes to what was copied before; the system does it in one call where it can.

    Raises `ArtifactError` when the file ends before.
    """
    done = 0
    while done < size:
        try:
            sent = os.sendfile(to.fileno(), file.fileno(), start + done, size - done)
        except OSError as error:
            if error.errno not in _CANNOT_SEND:
                raise
            for chunk in read_chunks(file, start + done, start + size):
                _write(to.fileno(), chunk)
            return
        if not sent:
            raise ArtifactError(f"The file is truncated. {AGAIN}")
        done += sent


def _write(descriptor: int, content: bytes) -> None:
    """Where `sendfile` goes on too, which knows nothing of a file object's buffer."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


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
            raise ArtifactError(f"The file has no member {tell_name(name)}.") from None

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
                f"The file cannot be unpacked into {folder}: {error.strerror}. Free space there, "
                "or set TMPDIR to another folder."
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
                f"The file is damaged: {tell_name(name)} has the wrong hash. {AGAIN}"
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
        actual = self._crc if isinstance(self._expected, int) else self._digest.hexdigest()
        return actual == self._expected


def read_manifest(file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of the member that lists the others; raises `ArtifactError` when damaged."""
    if entry.file_size > _MANIFEST_LIMIT:
        raise ArtifactError(f"The member {entry.filename} is too large ({entry.file_size} bytes).")
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
        raise ArtifactError(
            f"The file is damaged: {tell_name(odd)} does not match the manifest. {AGAIN}"
        )


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
