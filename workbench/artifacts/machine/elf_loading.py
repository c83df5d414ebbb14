"""What would keep a compiled library from being loaded: its stack, a C++ runtime of its own."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import ArtifactError

_GNU_STACK, _EXECUTABLE = 0x6474E551, 1
_STREAM = b"_ZSt4cerr"
ANCHOR = b"AOTInductorModelContainerRun"
_RELA, _DYNSYM = 4, 11
_ADDRESS_SLOTS = {62: (6, 1), 183: (1025, 257)}  # by processor: GLOB_DAT, absolute address


def clear_executable_stack(path: Path) -> bool:
    """Let a library do without an executable stack, in place; whether it asked for one.

    glibc from 2.41 on loads no library whose stack is executable.
    torch assembles weights from a source that does not say what stack it needs, and many linkers
    (binutils 2.40) take that for an executable one. Generated code puts no code there. A file that
    is no little-endian 64-bit ELF file stays as it is.
    """
    with path.open("r+b") as file:
        header = file.read(64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            return False
        (start,) = struct.unpack_from("<Q", header, 0x20)
        size, count = struct.unpack_from("<HH", header, 0x36)
        for at in range(start, start + size * count, size or 1):
            file.seek(at)
            entry = file.read(8)
            if len(entry) < 8:  # damaged: the loader says so
                return False
            kind, flags = struct.unpack("<II", entry)
            if kind == _GNU_STACK and flags & _EXECUTABLE:
                file.seek(at + 4)
                file.write(struct.pack("<I", flags & ~_EXECUTABLE))
                return True
    return False


def require_shared_runtime(path: Path) -> tuple[int | None, list[int]]:
    """Where a library's anchor function stands, and each address of the stream; nothing of it runs.

    Raises `ArtifactError` for one with a stream of its own: it has all of libstdc++ in it, whose
    facets of `std::locale` have other numbers than those of the process. `std::regex`, by which
    torch reads a device's name, ends in SIGSEGV (GCC 13) or `std::bad_cast` (GCC 12).
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            is_elf = data[:6] == b"\x7fELF\x02\x01"
            anchor, slots, has_runtime = _places(data) if is_elf else (None, [], False)
    except (OSError, struct.error, ValueError, IndexError):  # damaged: the loader says how
        return None, []
    if has_runtime:
        raise ArtifactError(
            "The compiled library is linked statically with libstdc++, which crashes torch's code. "
            "Package the model again with a compiler that links the shared libstdc++ (on Debian "
            "and Ubuntu: apt-get install g++)."
        )
    return anchor, slots


def _places(data: mmap.mmap) -> tuple[int | None, list[int], bool]:
    kinds = _ADDRESS_SLOTS.get(struct.unpack_from("<H", data, 18)[0], ())
    sections = list(_sections(data))
    anchor, slots, has_runtime = None, [], False
    for kind, offset, size, link in sections:
        if kind == _DYNSYM:
            names = sections[link][1]
            for at in range(offset, offset + size, 24):
                if _is_named(data, names, at, ANCHOR):
                    anchor = struct.unpack_from("<Q", data, at + 8)[0]
                is_defined = struct.unpack_from("<H", data, at + 6)[0] != 0
                has_runtime |= is_defined and _is_named(data, names, at, _STREAM)
        elif kind == _RELA and sections[link][0] == _DYNSYM:
            symbols, names = sections[link][1], sections[sections[link][3]][1]
            for at in range(offset, offset + size, 24):
                place, info = struct.unpack_from("<QQ", data, at)
                is_slot = info & 0xFFFFFFFF in kinds
                if is_slot and _is_named(data, names, symbols + 24 * (info >> 32), _STREAM):
                    slots.append(place)
    return anchor, slots, has_runtime


def _is_named(data: mmap.mmap, names: int, symbol: int, name: bytes) -> bool:
    at = names + struct.unpack_from("<I", data, symbol)[0]
    return data[at : at + len(name) + 1] == name + b"\0"


def _sections(data: mmap.mmap) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, size and linked section of each section."""
    start = struct.unpack_from("<Q", data, 0x28)[0]
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        fields = struct.unpack_from("<IIQQQQI", data, start + index * entry)
        yield fields[1], fields[4], fields[5], fields[6]
