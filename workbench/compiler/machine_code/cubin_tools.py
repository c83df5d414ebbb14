"""What CUDA's own tools say of cubins: the code of each, what it takes of the device.

Several cubins as one file, and what nvdisasm prints of it taken apart again.

nvdisasm takes 0.26 s to start, a kernel about 0.01 s. A file can hold the code of many kernels, so
it starts once for all of them; each gets what it would have got alone.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.device_kinds import NVIDIA
from workbench.temporary import make_temporary_folder

_LIMIT_S = 120
_TOOLS = ("ptxas", "ptxas_blackwell", "cuobjdump", "nvdisasm")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass(frozen=True)
class Usage:
    """What a cubin says of itself: registers of a thread, bytes of stack and shared memory."""

    registers: int
    stack: int
    shared: int


@dataclass(frozen=True)
class Inspected:
    """A cubin's code and resources; `note` says what could not be had and why."""

    sass: str | None
    usage: Usage | None
    note: str | None = None


@dataclass
class _Disassembled:
    """What nvdisasm printed of a cubin, or why it did not, once it has been asked."""

    sass: str | None = None
    missing: str | None = None


@lru_cache(maxsize=256)
def _known(cubin: bytes) -> _Disassembled:
    """Where what is known of a cubin is kept, so that it is disassembled once."""
    return _Disassembled()


def inspect_cubins(cubins: Sequence[bytes]) -> list[Inspected]:
    """Disassemble cubins, with the PTX line of each instruction, and read their resources.

    Those for one architecture are given to nvdisasm together.
    """
    by_cubin = {cubin: _known(cubin) for cubin in cubins}
    _disassemble({cubin: row for cubin, row in by_cubin.items() if row == _Disassembled()})
    return [_inspected(cubin, by_cubin[cubin]) for cubin in cubins]


def _inspected(cubin: bytes, code: _Disassembled) -> Inspected:
    usage, no_usage = read_cubin_usage(cubin)
    notes = [note for note in (no_usage, code.missing) if note]
    return Inspected(code.sass, usage, "; ".join(notes) or None)


def _disassemble(by_cubin: dict[bytes, _Disassembled]) -> None:
    """Ask nvdisasm once for each architecture, then alone for what it did not print so."""
    groups: dict[object, list[bytes]] = {}
    for cubin in by_cubin:
        if (key := alike(cubin)) is not None:
            groups.setdefault(key, []).append(cubin)
    for together in groups.values():
        if len(together) > 1:
            printed, _ = _printed(joined(together))
            for number, text in take_apart(printed or "").items():
                by_cubin[together[number]].sass = text
    for cubin, row in by_cubin.items():
        if row.sass is None:
            row.sass, row.missing = _printed(cubin)


def _printed(cubin: bytes) -> tuple[str | None, str | None]:
    """The code of a file as nvdisasm prints it, or why it does not."""
    with make_temporary_folder("aot-workbench-cubin-") as folder:
        file = folder / "kernel.cubin"
        file.write_bytes(cubin)
        return _run("nvdisasm", "-gp", "-c", "-ndf", str(file))


@lru_cache(maxsize=256)
def read_cubin_usage(cubin: bytes) -> tuple[Usage | None, str | None]:
    """The resources of a cubin without disassembling it, or why they cannot be read."""
    with make_temporary_folder("aot-workbench-cubin-") as folder:
        file = folder / "kernel.cubin"
        file.write_bytes(cubin)
        printed, missing = _run("cuobjdump", "--dump-resource-usage", str(file))
    match = _USAGE.search(printed or "")
    return (Usage(int(match[1]), int(match[2]), int(match[3])) if match else None), missing


def list_tool_versions() -> tuple[str, ...]:
    """What NVIDIA's tools beside Triton, which code and its figures come from, say they are."""
    answers = (_run(tool, "--version") for tool in _TOOLS)
    return tuple(printed or str(missing) for printed, missing in answers)


def _run(tool: str, *arguments: str) -> tuple[str | None, str | None]:
    """What a tool printed, or why it did not."""
    path = _path(tool)
    if path is None:
        return None, f"{tool} was found neither with Triton nor in a CUDA toolkit"
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{tool} failed: {error}"
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").split(
            "\n"
        )
        return None, f"{tool} failed: {words[-1]}"
    return done.stdout, None


def _path(tool: str) -> str | None:
    import triton

    knobs = getattr(getattr(triton, "knobs", None), NVIDIA.name, None)
    try:
        path: str | None = getattr(getattr(knobs, tool, None), "path", None)
    except RuntimeError:  # Triton's word for a tool that is nowhere
        path = None
    return path


_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")  # with an addend, which is 0 where a file has none
_SHORT_RELOCATION = struct.Struct("<QQ")

_SYMBOLS, _STRINGS, _RELOCATIONS, _NO_BITS, _SHORT_RELOCATIONS = 2, 3, 4, 8, 9
_INFO_IS_SECTION = 0x40
_SPECIAL = 0xFF00  # section numbers from here on have a meaning of their own
_SYMBOL_NUMBER = 0xFFFFFF  # of what a section of code says of itself; above are its registers
_CODE, _LINES = ".text.", ".nv_debug_line_sass"
_NAMES_AT, _TEXTS_AT, _SYMBOLS_AT, _LINES_AT, _PLACES_AT = range(1, 6)

_HEADING = re.compile(r"^//-+ \.text\..*?\$\$(\d+) +-+$", re.MULTILINE)
_LABEL = re.compile(r"\.L_x_(\d+)")


@dataclass(frozen=True)
class _Section:
    """The fields of an ELF section that are of use here, and its bytes."""

    name: str
    kind: int
    flags: int
    link: int
    info: int
    align: int
    entry: int
    content: bytes


@dataclass(frozen=True)
class _Cubin:
    """A cubin's header, sections and symbols."""

    header: tuple[int, ...]
    sections: Sequence[_Section]
    symbols: Sequence[tuple[str, int, int, int, int, int]]  # name, then as in the file


def alike(cubin: bytes) -> tuple[int, ...] | None:
    """What two cubins must share to stand in one file; None for one that has to stay alone.

    Alone stay files with more than one function of their own, and what is no cubin.
    """
    try:
        elf = _read(cubin)
    except (struct.error, ValueError, IndexError):
        return None
    if sum(section.name.startswith(_CODE) for section in elf.sections) != 1:
        return None
    identity, kind, machine, _, _, _, _, flags, *_ = elf.header
    return (identity, kind, machine, flags)


def joined(cubins: Sequence[bytes]) -> bytes:
    """A file with the code of all cubins, which are `alike`, and its lines in their PTX.

    Names of kernel n end in `$$n`.
    """
    return _Joined([_read(cubin) for cubin in cubins]).content()


def take_apart(printed: str) -> dict[int, str]:
    """What nvdisasm printed of each kernel of a joined file, by its number, as if it were alone."""
    parts = _HEADING.split(printed)
    return {
        int(number): _alone(text, f"$${number}")
        for number, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def _alone(text: str, suffix: str) -> str:
    """The text with the names of its own file, its labels counted from 0."""
    numbers = sorted({int(number) for number in _LABEL.findall(text)})
    own = {number: position for position, number in enumerate(numbers)}
    counted = _LABEL.sub(lambda match: f".L_x_{own[int(match[1])]}", text)
    return counted.replace(suffix, "")


def _read(cubin: bytes) -> _Cubin:
    if cubin[:4] != b"\x7fELF":
        raise ValueError("no ELF file")
    header = _HEADER.unpack_from(cubin)
    rows = [_SECTION.unpack_from(cubin, header[6] + n * _SECTION.size) for n in range(header[12])]
    contents = [b"" if row[1] == _NO_BITS else cubin[row[4] : row[4] + row[5]] for row in rows]
    names = contents[header[13]]
    sections = [
        _Section(_text(names, row[0]), row[1], row[2], row[6], row[7], row[8], row[9], content)
        for row, content in zip(rows, contents, strict=True)
    ]
    (table,) = (section for section in sections if section.kind == _SYMBOLS)
    texts = sections[table.link].content
    symbols = [(_text(texts, row[0]), *row[1:]) for row in _SYMBOL.iter_unpack(table.content)]
    return _Cubin(header, sections, symbols)


def _text(texts: bytes, start: int) -> str:
    return texts[start : texts.index(0, start)].decode()


class _Joined:
    """One ELF file that is put together of several."""

    def __init__(self, cubins: Sequence[_Cubin]):
        self._cubins = cubins
        self._sections: list[_Section] = [_Section("", 0, 0, 0, 0, 0, 0, b"")] * (_PLACES_AT + 1)
        self._code: dict[tuple[int, int], int] = {}  # kernel and section → section here
        for n, cubin in enumerate(cubins):
            for number, section in enumerate(cubin.sections):
                if section.name.startswith(_CODE):
                    self._code[n, number] = len(self._sections)
                    self._sections.append(replace(section, name=f"{section.name}$${n}"))
        self._symbols: dict[tuple[int, int], int] = {}  # kernel and symbol → symbol here

    def content(self) -> bytes:
        """The file."""
        self._join_symbols()
        for (n, _), place in self._code.items():
            section = self._sections[place]
            symbol = self._symbols.get((n, section.info & _SYMBOL_NUMBER), 0)
            info = section.info & ~_SYMBOL_NUMBER | symbol
            self._sections[place] = replace(section, link=_SYMBOLS_AT, info=info)
        self._join_relocations()
        return self._laid_out()

    def _join_symbols(self) -> None:
        """One table of symbols, in which local ones come first, as ELF demands."""
        symbols = [
            (n, number, symbol)
            for n, cubin in enumerate(self._cubins)
            for number, symbol in enumerate(cubin.symbols)
            if number
        ]
        symbols.sort(key=lambda row: row[2][1] >> 4 != 0)
        texts, table = bytearray(1), bytearray(_SYMBOL.size)
        for place, (n, number, (name, info, other, section, value, size)) in enumerate(symbols, 1):
            self._symbols[n, number] = place
            start = len(texts) if name else 0
            texts += f"{name}$${n}\0".encode() if name else b""
            here = section if section >= _SPECIAL else self._code.get((n, section), 0)
            table += _SYMBOL.pack(start, info, other, here, value, size)
        local = 1 + sum(row[2][1] >> 4 == 0 for row in symbols)
        self._sections[_TEXTS_AT] = _Section(".strtab", _STRINGS, 0, 0, 0, 1, 0, bytes(texts))
        self._sections[_SYMBOLS_AT] = _Section(
            ".symtab", _SYMBOLS, 0, _TEXTS_AT, local, 8, _SYMBOL.size, bytes(table)
        )

    def _join_relocations(self) -> None:
        """The tables of lines one after the other, and what is to be filled in where."""
        lines, places = bytearray(), bytearray()
        for n, cubin in enumerate(self._cubins):
            for section in cubin.sections:
                if section.kind not in (_RELOCATIONS, _SHORT_RELOCATIONS):
                    continue
                if cubin.sections[section.info].name == _LINES:
                    for offset, info, addend in self._relocations(n, section):
                        places += _RELOCATION.pack(offset + len(lines), info, addend)
                elif (place := self._code.get((n, section.info))) is not None:
                    self._sections.append(self._of_code(n, section, place))
            lines += b"".join(s.content for s in cubin.sections if s.name == _LINES)
        self._sections[_LINES_AT] = _Section(_LINES, 1, 0, 0, 0, 1, 0, bytes(lines))
        self._sections[_PLACES_AT] = _Section(
            f".rela{_LINES}",
            _RELOCATIONS,
            _INFO_IS_SECTION,
            _SYMBOLS_AT,
            _LINES_AT,
            8,
            _RELOCATION.size,
            bytes(places),
        )

    def _of_code(self, n: int, section: _Section, place: int) -> _Section:
        """The relocations of a kernel's code, which is section `place` here."""
        is_long = section.kind == _RELOCATIONS
        content = b"".join(
            _RELOCATION.pack(*row) if is_long else _SHORT_RELOCATION.pack(*row[:2])
            for row in self._relocations(n, section)
        )
        name = f"{section.name}$${n}"
        return replace(section, name=name, link=_SYMBOLS_AT, info=place, content=content)

    def _relocations(self, n: int, section: _Section) -> Iterator[tuple[int, int, int]]:
        """Offset, kind with the symbol in this file, and addend."""
        if section.kind == _RELOCATIONS:
            rows = list(_RELOCATION.iter_unpack(section.content))
        else:
            rows = [(*row, 0) for row in _SHORT_RELOCATION.iter_unpack(section.content)]
        for offset, info, addend in rows:
            symbol = self._symbols.get((n, info >> 32), 0)
            yield offset, symbol << 32 | info & 0xFFFFFFFF, addend

    def _laid_out(self) -> bytes:
        names = bytearray(1)
        starts = []
        for section in self._sections:
            starts.append(len(names) if section.name else 0)
            names += f"{section.name}\0".encode() if section.name else b""
        starts[_NAMES_AT] = len(names)
        names += b".shstrtab\0"
        self._sections[_NAMES_AT] = _Section(".shstrtab", _STRINGS, 0, 0, 0, 1, 0, bytes(names))
        body, table = bytearray(_HEADER.size), bytearray()
        for start, section in zip(starts, self._sections, strict=True):
            body += bytes(-len(body) % max(1, section.align))
            place = len(body) if section.kind else 0
            size, align, entry = len(section.content), section.align, section.entry
            fields = (start, section.kind, section.flags, 0, place, size)
            table += _SECTION.pack(*fields, section.link, section.info, align, entry)
            body += section.content
        body += bytes(-len(body) % 8)
        header = list(self._cubins[0].header)
        header[5], header[6], header[9], header[10] = 0, len(body), 0, 0  # no program headers
        header[12], header[13] = len(self._sections), _NAMES_AT
        body[: _HEADER.size] = _HEADER.pack(*header)
        return bytes(body + table)
