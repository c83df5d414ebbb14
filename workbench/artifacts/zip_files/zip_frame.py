"""The frame of a zip file whose members are stored as they are: checked before anything is used."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO

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


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """The members of a zip file in the order of their data, and its comment."""

    file: BinaryIO
    entries: tuple[zipfile.ZipInfo, ...]
    comment: bytes
    size: int


def read_frame(file: BinaryIO) -> Frame:
    """Read the directory of a zip file and compare it with the headers before the members.

    Raises `ArtifactError` unless every member is a plain, unencrypted, uncompressed file with a
    name of its own, and no two share a byte.
    """
    size = file.seek(0, os.SEEK_END)
    directory, count = _check_directory(file, size)
    try:
        with zipfile.ZipFile(file) as archive:
            found, comment = archive.infolist(), archive.comment
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OSError) as error:
        raise ArtifactError(f"The file is truncated or damaged ({error}). {AGAIN}") from error
    for entry in found:
        _check_entry(entry)
    if len(found) != count:
        raise ArtifactError(f"The file is damaged: its directory hides members. {AGAIN}")
    if len({entry.filename for entry in found}) != len(found):
        raise ArtifactError("The file holds two members of one name: a foreign file.")
    if sum(entry.file_size for entry in found) > size:
        raise ArtifactError("The file claims members that are bigger than the file.")
    ordered = sorted(found, key=lambda entry: entry.header_offset)
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
        raise ArtifactError(f"The file is truncated or damaged: it has no directory. {AGAIN}")
    count, length, start, comment = struct.unpack_from("<HIIH", tail, at + 10)
    if at + _END_SIZE + comment != reach:
        raise ArtifactError(f"The file is truncated or damaged: it has another end. {AGAIN}")
    locator = at - _LOCATOR_SIZE
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR:
        at = locator - _END64_SIZE
        if at < 0 or tail[at : at + 4] != _END64:
            raise ArtifactError(f"The file is damaged: its directory has no end. {AGAIN}")
        count, length, start = struct.unpack_from("<QQQ", tail, at + 32)
    if length > _DIRECTORY_LIMIT:
        raise ArtifactError(
            f"The directory of the file takes {length} bytes, more than {_DIRECTORY_LIMIT}: "
            "nothing of it was read."
        )
    if start + length != size - reach + at:
        raise ArtifactError(f"The file is truncated or damaged: it has no directory. {AGAIN}")
    return int(start), int(count)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    mode, name = entry.external_attr >> 16, entry.orig_filename
    if entry.filename != name or not name.isprintable() or "\\" in name:
        raise ArtifactError(
            f"The file holds a member named {name!r}, which does not belong there: a foreign file. "
            "Nothing was unpacked."
        )
    # torch's own writer leaves the mode out
    if (mode and not stat.S_ISREG(mode)) or entry.flag_bits & _ENCRYPTED:
        raise ArtifactError(f"The member {name} is a link or encrypted: a foreign file.")
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        raise ArtifactError(
            f"The member {name} is compressed; these files never are: a foreign file. Nothing was "
            "unpacked."
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
            f"The file is damaged: the header of {entry.filename} is not what the directory says. "
            f"{AGAIN}"
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
        f"The file is damaged: what follows {entry.filename} is not what the directory says. "
        f"{AGAIN}"
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
