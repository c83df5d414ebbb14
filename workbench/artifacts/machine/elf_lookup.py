"""Whether libraries of this machine define functions that another library needs."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workbench.artifacts.archive.members import MemberBytes
from workbench.artifacts.machine.elf import DYNSYM, GNU_HASH, read_sections


def find_undefined(names: Iterable[str], libraries: Iterable[Path]) -> tuple[str, ...]:
    """Those of the names that none of the libraries defines, sorted.

    A library that cannot be read defines nothing.
    """
    left = {*names}
    for path in libraries:
        if not left:
            break
        try:
            with path.open("rb") as file:
                table = _Table.of(MemberBytes(file, 0, path.stat().st_size))
                left -= {name for name in left if table.defines(name)}
        except (OSError, ValueError, struct.error, IndexError, StopIteration):
            continue
    return tuple(sorted(left))


@dataclass(frozen=True)
class _Table:
    """The hash table by which the dynamic linker finds symbols (.gnu.hash)."""

    file: MemberBytes
    buckets: tuple[int, ...]
    first: int
    chain: bytes
    symbols: int
    texts: int

    @classmethod
    def of(cls, file: MemberBytes) -> _Table:
        parts = read_sections(file)
        symbols = next(part for part in parts if part.kind == DYNSYM)
        hashes = next(part for part in parts if part.kind == GNU_HASH)
        content = file.read_at(hashes.offset, hashes.size)
        count, first, bloom, _ = struct.unpack_from("<IIII", content)
        at = 16 + 8 * bloom
        buckets = struct.unpack_from(f"<{count}I", content, at)
        texts = parts[symbols.link].offset
        return cls(file, buckets, first, content[at + 4 * count :], symbols.offset, texts)

    def defines(self, name: str) -> bool:
        text = name.encode()
        wanted = _hash(text)
        index = self.buckets[wanted % len(self.buckets)]
        while index >= self.first:
            found = struct.unpack_from("<I", self.chain, 4 * (index - self.first))[0]
            if found | 1 == wanted | 1 and self._name(index, len(text)) == text + b"\0":
                return True
            if found & 1:  # the last of its bucket
                return False
            index += 1
        return False

    def _name(self, index: int, size: int) -> bytes:
        at = struct.unpack("<I", self.file.read_at(self.symbols + 24 * index, 4))[0]
        return self.file.read_at(self.texts + at, size + 1)


def _hash(text: bytes) -> int:
    value = 5381
    for byte in text:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
