"""The stack that a shared library asks for: glibc from 2.41 on loads none that is executable."""

from __future__ import annotations

import struct
from pathlib import Path

_GNU_STACK, _EXECUTABLE = 0x6474E551, 1


def clear_executable_stack(path: Path) -> bool:
    """Let a library do without an executable stack, in place; whether it asked for one.

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
