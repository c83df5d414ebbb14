"""What shared libraries need, give and lack, read from their ELF headers by small ranges."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workbench.artifacts.zip_files.members import MemberBytes, Members

DYNSYM, GNU_HASH = 11, 0x6FFFFFF6
_DYNAMIC, _NOBITS, _VERDEF, _VERNEED = 6, 8, 0x6FFFFFFD, 0x6FFFFFFE
_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 14, 15, 29
_MACHINES = {62: "x86_64", 183: "aarch64", 190: "CUDA", 224: "AMDGPU"}
_KINDS = {
    1: "data",
    2: "symbols",
    3: "texts",
    4: "relocations",
    5: "hash",
    6: "dynamic",
    7: "note",
    8: "empty",
    9: "relocations",
    11: "dynamic symbols",
    14: "constructors",
    15: "destructors",
    0x6FFFFFF6: "hash",
    0x6FFFFFFD: "versions",
    0x6FFFFFFE: "versions",
    0x6FFFFFFF: "versions",
}
_FLAGS = ((1, "W"), (2, "A"), (4, "X"))
_SYMBOL_KINDS = {0: "other", 1: "object", 2: "function", 6: "thread-local", 10: "function"}
_TABLE_LIMIT = 64 << 20
_TEXT_LIMIT, _TEXTS_LIMIT = 4096, 16 << 20
_CUDA, _NEW_CUDA_ABI = 190, 0x41
_MOST_LIBRARIES = 500
MOST_SYMBOLS = 50_000


class Readable(Protocol):
    """Bytes that are read by ranges; fewer come back where they end."""

    def read_at(self, at: int, size: int) -> bytes:
        """The bytes of one range."""


@dataclass(frozen=True)
class InMemory:
    """Bytes that are all there."""

    content: bytes

    def read_at(self, at: int, size: int) -> bytes:
        """The bytes of one range."""
        return self.content[at : at + size]


@dataclass(frozen=True)
class _Mapped:
    """A file on disk, of which only what is asked for is read."""

    content: mmap.mmap

    def read_at(self, at: int, size: int) -> bytes:
        """The bytes of one range."""
        return self.content[at : at + size]


@dataclass(frozen=True)
class Library:
    """The libraries that one library needs, the symbol versions it needs, those it defines."""

    needed: tuple[str, ...]
    versions: tuple[str, ...]
    defines: tuple[str, ...]


@dataclass(frozen=True)
class SectionFacts:
    """One section of an ELF file; `size` in bytes, `flags` of W(ritten), A (loaded), X (code)."""

    library: str  # the library that it is of
    name: str  # its name
    kind: str  # what kind it is of
    address: int  # where it is mapped
    size: int  # bytes
    flags: str  # what may be done with its memory


@dataclass(frozen=True)
class SymbolFacts:
    """One dynamic symbol of an ELF file: exported, or needed from another library."""

    library: str  # the library that it is of
    name: str  # its name
    kind: str  # what kind it is of
    exported: bool  # whether others can call it
    size: int  # bytes


@dataclass(frozen=True)
class LibraryFacts:
    """One ELF file: its machine (for a GPU's code the architecture), what it needs and exports."""

    member: str  # the member of the file that it is
    machine: str  # the processor that it is for, or the architecture of a GPU
    size: int  # bytes
    needed: tuple[str, ...]  # the libraries that it loads
    versions: tuple[str, ...]  # versions of symbols that it needs, such as those of glibc
    search: tuple[str, ...]  # where it looks for them
    exports: int  # how many symbols others can call
    imports: int  # how many symbols it takes from others
    problem: str = ""  # what was odd when it was read


@dataclass(frozen=True)
class Elf:
    """One ELF file: `machine` is a processor, or for a GPU's code its architecture ("sm_90")."""

    machine: str
    library: Library
    name: str | None
    search: tuple[str, ...]
    sections: tuple[SectionFacts, ...]
    symbols: tuple[SymbolFacts, ...]
    symbol_count: int


@dataclass(frozen=True)
class Part:
    """One header of a section as in the file."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int


def read_library(data: bytes) -> Library:
    """Read a little-endian 64-bit ELF file; raises `ValueError` for anything else."""
    return _Reading(InMemory(data)).library()


def read_library_file(path: Path) -> Library:
    """Read one on disk, however big; raises `ValueError` for anything else, `OSError` as usual."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return _Reading(_Mapped(mapped)).library()


def read_elf(file: Readable, name: str = "") -> Elf:
    """Everything about a little-endian 64-bit ELF file; raises `ValueError` for anything else."""
    return _Reading(file).everything(name)


def read_sections(file: Readable) -> list[Part]:
    """The headers of all sections; raises `ValueError` for what is no ELF file."""
    return _Reading(file).parts


class _Reading:
    """The sections of one file; the reading of each is bounded by its size."""

    def __init__(self, file: Readable):
        header = file.read_at(0, 64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a little-endian 64-bit ELF file")
        self._file = file
        self._header = header
        start, size, count = (
            struct.unpack_from("<Q", header, 0x28)[0],
            struct.unpack_from("<H", header, 0x3A)[0],
            struct.unpack_from("<H", header, 0x3C)[0],
        )
        if count and size < 64:
            raise ValueError("damaged ELF file: its sections are too small")
        table = _all(file, start, size * count)
        self.parts = [
            Part(*struct.unpack_from("<IIQQQQII", table, index * size)) for index in range(count)
        ]
        self._texts: dict[int, bytes] = {}
        self._left = _TEXTS_LIMIT

    def library(self) -> Library:
        needs = {name for part in self._of(_VERNEED) for name in self._needed_versions(part)}
        defines = {name for part in self._of(_VERDEF) for name in self._defined_versions(part)}
        return Library(
            tuple(self._dynamic(_DT_NEEDED)), tuple(sorted(needs)), tuple(sorted(defines))
        )

    def everything(self, name: str) -> Elf:
        symbols = tuple(self._symbols(name))
        return Elf(
            machine=self._machine(),
            library=self.library(),
            name=next(self._dynamic(_DT_SONAME), None),
            search=(*self._dynamic(_DT_RPATH), *self._dynamic(_DT_RUNPATH)),
            sections=tuple(self._sections(name)),
            symbols=symbols,
            symbol_count=sum(part.size // 24 for part in self._of(DYNSYM)),
        )

    def _machine(self) -> str:
        machine = struct.unpack_from("<H", self._header, 0x12)[0]
        if machine == _CUDA:
            flags = struct.unpack_from("<I", self._header, 0x30)[0]
            shift = 8 if self._header[7] == _NEW_CUDA_ABI else 0
            return f"sm_{flags >> shift & 0xFF}"
        return _MACHINES.get(machine, f"machine {machine}")

    def _of(self, kind: int) -> Iterator[Part]:
        return (part for part in self.parts if part.kind == kind)

    def _sections(self, library: str) -> Iterator[SectionFacts]:
        names = struct.unpack_from("<H", self._header, 0x3E)[0]
        for part in self.parts[1:]:
            flags = "".join(letter for bit, letter in _FLAGS if part.flags & bit)
            kind = _KINDS.get(part.kind, f"{part.kind:#x}")
            name = self._text(names, part.name) if names else ""
            yield SectionFacts(library, name, kind, part.address, part.size, flags)

    def _content(self, part: Part) -> bytes:
        if part.kind == _NOBITS:
            return b""
        return _all(self._file, part.offset, part.size)

    def _text(self, index: int, at: int) -> str:
        """A text from the section that holds texts; raises `ValueError` where there is none."""
        if index not in self._texts:
            if not 0 <= index < len(self.parts):
                raise ValueError("damaged ELF file: it refers to a missing section")
            self._texts[index] = self._content(self.parts[index])
        texts = self._texts[index]
        end = texts.find(b"\0", at, at + _TEXT_LIMIT)
        text = texts[at : at + _TEXT_LIMIT if end < 0 else end]
        self._left -= len(text)
        if at >= len(texts) or self._left < 0:
            raise ValueError("damaged ELF file: its strings cannot be read")
        return text.decode("utf-8", "backslashreplace")

    def _dynamic(self, tag: int) -> Iterator[str]:
        for part in self._of(_DYNAMIC):
            for kind, value in struct.iter_unpack("<qQ", _rows(self._content(part), 16)):
                if kind == tag:
                    yield self._text(part.link, value)

    def _symbols(self, library: str) -> Iterator[SymbolFacts]:
        left = MOST_SYMBOLS
        for part in self._of(DYNSYM):
            table = _all(self._file, part.offset, min(part.size, 24 * left))
            for name, info, _, section, _, size in struct.iter_unpack("<IBBHQQ", _rows(table, 24)):
                if name and info >> 4:  # other files cannot see local symbols
                    kind = _SYMBOL_KINDS.get(info & 15, "other")
                    title = self._text(part.link, name)
                    yield SymbolFacts(library, title, kind, section != 0, size)
            left -= len(table) // 24

    def _needed_versions(self, part: Part) -> Iterator[str]:
        content = self._content(part)
        left = len(content) // 16  # no version belongs to two libraries
        for entry in _chain(content, 0, part.info, 12):
            count, _, first = struct.unpack_from("<HII", content, entry + 2)
            for version in _chain(content, entry + first, min(count, left), 12):
                left -= 1
                yield self._text(part.link, struct.unpack_from("<I", content, version + 8)[0])

    def _defined_versions(self, part: Part) -> Iterator[str]:
        content = self._content(part)
        for entry in _chain(content, 0, part.info, 16):
            first = struct.unpack_from("<I", content, entry + 12)[0]
            if entry + first + 4 > len(content):
                raise ValueError("damaged ELF file: a symbol version entry is cut off")
            yield self._text(part.link, struct.unpack_from("<I", content, entry + first)[0])


def _all(file: Readable, at: int, size: int) -> bytes:
    if size > _TABLE_LIMIT:
        raise ValueError(f"damaged ELF file: a table of {size} bytes")
    content = file.read_at(at, size)
    if len(content) != size:
        raise ValueError("damaged ELF file: a table is missing")
    return content


def _rows(content: bytes, size: int) -> bytes:
    return content[: len(content) // size * size]


def _chain(content: bytes, at: int, count: int, step_at: int) -> Iterator[int]:
    """Where each entry of a chain starts; each says how far on the next one is."""
    for _ in range(min(count, len(content) // 16)):
        if at + 16 > len(content):
            raise ValueError("damaged ELF file: a symbol version entry is cut off")
        yield at
        step = struct.unpack_from("<I", content, at + step_at)[0]
        if not step:
            return
        at += step


@dataclass(frozen=True)
class Libraries:
    """The rows of all libraries of one file."""

    libraries: tuple[LibraryFacts, ...] = ()
    sections: tuple[SectionFacts, ...] = ()
    symbols: tuple[SymbolFacts, ...] = ()


def read_libraries(members: Members | None) -> Libraries:
    """Read the headers and tables of every ELF file among the members, not their content."""
    if members is None:
        return Libraries()
    files = list(_elf_files(members))
    readable = [elf for _, elf in files if isinstance(elf, Elf)]
    return Libraries(
        tuple(_library(name, members.size(name), elf) for name, elf in files),
        tuple(section for elf in readable for section in elf.sections),
        tuple(symbol for elf in readable for symbol in elf.symbols),
    )


def _elf_files(members: Members) -> Iterator[tuple[str, Elf | str]]:
    count = 0
    for name in members.entries:
        part = members.part(name)
        if part.read_at(0, 4) != b"\x7fELF" or count >= _MOST_LIBRARIES:
            continue
        count += 1
        try:
            yield name, read_elf(part, name)
        except ValueError as error:
            yield name, str(error)


def _library(name: str, size: int, elf: Elf | str) -> LibraryFacts:
    if isinstance(elf, str):
        return LibraryFacts(name, "", size, (), (), (), 0, 0, elf)
    exported = sum(symbol.exported for symbol in elf.symbols)
    more = elf.symbol_count > len(elf.symbols) + 1 and len(elf.symbols) >= MOST_SYMBOLS
    return LibraryFacts(
        member=name,
        machine=elf.machine,
        size=size,
        needed=elf.library.needed,
        versions=elf.library.versions,
        search=elf.search,
        exports=exported,
        imports=len(elf.symbols) - exported,
        problem=f"only the first of {elf.symbol_count} symbols are listed" if more else "",
    )


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
        name_hash = _hash(text)
        index = self.buckets[name_hash % len(self.buckets)]
        while index >= self.first:
            hashed = struct.unpack_from("<I", self.chain, 4 * (index - self.first))[0]
            if hashed | 1 == name_hash | 1 and self._name(index, len(text)) == text + b"\0":
                return True
            if hashed & 1:  # the last of its bucket
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
