"""A library whose error output goes nowhere: what failed is told by an exception instead.

AOTInductor's interface writes every error to `std::cerr`, with a dump of the C++ stack, before it
returns the code and keeps the text. The one library is given a stream without a buffer in its
place; `std::cerr` itself, and with it everybody else, stays as it is.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator
from ctypes import c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

_STREAM = b"_ZSt4cerr"
_ANCHOR = b"AOTInductorModelContainerRun"
_MAKE_STREAM = "_ZNSoC1EPSt15basic_streambufIcSt11char_traitsIcEE"  # std::ostream(std::streambuf*)
_STREAM_BYTES = 1024  # a std::ostream of libstdc++ takes 272
_RELA, _DYNSYM = 4, 11
_ADDRESS_SLOTS = {62: (6, 1), 183: (1025, 257)}  # by processor: GLOB_DAT, absolute address
_PAGE = mmap.PAGESIZE
_READ, _WRITE = 1, 2


def silence(dll: ctypes.CDLL, path: Path) -> bool:
    """Whether the library was given another stream; it is left as it is where that cannot be."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            anchor, slots = _places(data)
        except (struct.error, ValueError, IndexError):
            return False
    if anchor is None or not slots:
        return False
    try:
        base = _address(dll[_ANCHOR.decode()]) - anchor
        make = dll[_MAKE_STREAM]
        protect = dll["mprotect"]
    except AttributeError:
        return False
    make.argtypes, make.restype = (c_void_p, c_void_p), None
    protect.argtypes, protect.restype = (c_void_p, c_size_t, c_int), c_int
    stream = ctypes.create_string_buffer(_STREAM_BYTES)
    make(stream, None)
    dll.silent_stream = stream  # type: ignore[attr-defined]  # lives as long as the library
    return all(_point(protect, base + slot, ctypes.addressof(stream)) for slot in slots)


def _point(protect: Any, place: int, target: int) -> bool:
    """Write an address where the linker has resolved one; its page may be read-only by now."""
    page = place - place % _PAGE
    if protect(page, _PAGE, _READ | _WRITE):
        return False
    c_void_p.from_address(place).value = target
    return True


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


def _places(data: mmap.mmap) -> tuple[int | None, list[int]]:
    """Where the anchor function stands in the library, and each address of the stream."""
    if data[:6] != b"\x7fELF\x02\x01":
        return None, []
    kinds = _ADDRESS_SLOTS.get(struct.unpack_from("<H", data, 18)[0], ())
    sections = list(_sections(data))
    anchor, slots = None, []
    for kind, offset, size, link in sections:
        if kind == _DYNSYM:
            names = sections[link][1]
            for at in range(offset, offset + size, 24):
                if _named(data, names, at, _ANCHOR):
                    anchor = struct.unpack_from("<Q", data, at + 8)[0]
        elif kind == _RELA and sections[link][0] == _DYNSYM:
            symbols, names = sections[link][1], sections[sections[link][3]][1]
            for at in range(offset, offset + size, 24):
                place, info = struct.unpack_from("<QQ", data, at)
                wanted = info & 0xFFFFFFFF in kinds
                if wanted and _named(data, names, symbols + 24 * (info >> 32), _STREAM):
                    slots.append(place)
    return anchor, slots


def _named(data: mmap.mmap, names: int, symbol: int, name: bytes) -> bool:
    at = names + struct.unpack_from("<I", data, symbol)[0]
    return data[at : at + len(name) + 1] == name + b"\0"


def _sections(data: mmap.mmap) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, size and linked section of each section."""
    start = struct.unpack_from("<Q", data, 0x28)[0]
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        fields = struct.unpack_from("<IIQQQQI", data, start + index * entry)
        yield fields[1], fields[4], fields[5], fields[6]
