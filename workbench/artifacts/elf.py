"""What a shared library needs from the system, read from its ELF headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_DYNAMIC, _VERDEF, _VERNEED = 6, 0x6FFFFFFD, 0x6FFFFFFE
_DT_NEEDED = 1


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Library:
    """The libraries that one library needs, the symbol versions it needs, those it defines."""

    needed: tuple[str, ...]
    versions: tuple[str, ...]
    defines: tuple[str, ...]


def read_library(data: bytes) -> Library:
    """Read a little-endian 64-bit ELF file; raises `ValueError` for anything else."""
    try:
        return _read(data)
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged ELF file: {error}") from error


def _read(data: bytes) -> Library:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no little-endian 64-bit ELF file")
    sections = tuple(_sections(data))
    needed: list[str] = []
    needs: list[str] = []
    defines: list[str] = []
    for section in sections:
        names = sections[section.link] if section.link < len(sections) else section
        if section.kind == _DYNAMIC:
            needed += [_text(data, names, n) for n in _needed(data, section)]
        elif section.kind == _VERNEED:
            needs += [_text(data, names, n) for n in _needed_versions(data, section)]
        elif section.kind == _VERDEF:
            defines += [_text(data, names, n) for n in _defined_versions(data, section)]
    return Library(tuple(needed), tuple(sorted({*needs})), tuple(sorted({*defines})))


def _sections(data: bytes) -> Iterator[_Section]:
    start, size, count = (
        struct.unpack_from("<Q", data, 0x28)[0],
        struct.unpack_from("<H", data, 0x3A)[0],
        struct.unpack_from("<H", data, 0x3C)[0],
    )
    for index in range(count):
        _, kind, _, _, offset, length, link = struct.unpack_from(
            "<IIQQQQI", data, start + index * size
        )
        yield _Section(kind, offset, length, link)


def _text(data: bytes, names: _Section, at: int) -> str:
    start = names.offset + at
    return data[start : data.index(b"\0", start)].decode("ascii")


def _needed(data: bytes, section: _Section) -> Iterator[int]:
    for at in range(section.offset, section.offset + section.size, 16):
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag == _DT_NEEDED:
            yield value


def _needed_versions(data: bytes, section: _Section) -> Iterator[int]:
    entry = section.offset
    while True:
        _, count, _, first, following = struct.unpack_from("<HHIII", data, entry)
        version = entry + first
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, version)
            yield name
            version += step
        if not following:
            return
        entry += following


def _defined_versions(data: bytes, section: _Section) -> Iterator[int]:
    entry = section.offset
    while True:
        _, _, _, _, _, first, following = struct.unpack_from("<HHHHIII", data, entry)
        yield struct.unpack_from("<I", data, entry + first)[0]
        if not following:
            return
        entry += following
