"""How many bytes one thread moves with one instruction, by line, of PTX or AMD's assembly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_INLINE = re.compile(r"\s*// (begin|end) inline asm")
_PTX = re.compile(
    r"\b(ld|st|atom|red)\.(?:[\w:]+\.)*?global\S*?(?:\.v(\d))?\.(?:bf|[busf])(\d+)(?:x(\d))?\s"
    r"|\bcp\.async\.c[ag]\.shared\.global\S*\s+\[[^\]]*\],\s*\[[^\]]*\],\s*(0x[0-9a-fA-F]+|\d+)"
)
_AMD = re.compile(r"\t(?:global|buffer|flat)_(load|store|atomic)(?:_lds)?(?:_d16)?(?:_hi)?_(\w+)")
_AMD_BYTES = {
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "ubyte": 1, "sbyte": 1, "byte": 1,
    "ushort": 2, "sshort": 2, "short": 2, "byte_d16_hi": 1, "short_d16_hi": 2, "ubyte_d16": 1,
    "ubyte_d16_hi": 1, "short_d16": 2,
}  # fmt: skip
_KINDS = {"ld": "read", "load": "read", "st": "write", "store": "write"}


@dataclass(frozen=True)
class Widths:
    """Bytes of instructions by file, line, column and "read", "write" or "atomic".

    Lines and columns are from 1, the narrowest instruction is the first.
    """

    bytes: Mapping[tuple[str, int, int, str], tuple[int, ...]] = field(default_factory=dict)

    def find(self, file: str, line: int, column: int, kind: str) -> tuple[int, ...]:
        """Those of one place; where its column has none, those of its line, if they are alike."""
        name = PurePath(file).name
        found = self.bytes.get((name, line, column, kind))
        if found is not None:
            return found
        here = {
            widths
            for (base, number, _, what), widths in self.bytes.items()
            if (base, number, what) == (name, line, kind)
        }
        return here.pop() if len(here) == 1 else ()


def read_widths(texts: Mapping[str, str]) -> Widths:
    """The widths in the code for a GPU; none where there is no such text."""
    text = texts.get("ptx") or texts.get("amdgcn") or ""
    lines = text.splitlines()
    files = {match[1]: PurePath(match[2]).name for match in map(_FILE.match, lines) if match}
    found: dict[tuple[str, int, int, str], set[int]] = {}
    place = "", 0, 0
    is_inline = False
    for line in lines:
        if match := _INLINE.match(line):
            is_inline = match[1] == "begin"
        elif match := _LOC.match(line):
            # inside of inline assembly LLVM counts its lines on; line 0 is none of the source
            if match[2] != "0" and not is_inline:
                place = files.get(match[1], ""), int(match[2]), int(match[3]) + 1
        elif moved := _read_instruction(line):
            found.setdefault((*place, moved[0]), set()).add(moved[1])
    return Widths({key: tuple(sorted(widths)) for key, widths in found.items()})


def _read_instruction(line: str) -> tuple[str, int] | None:
    """What an instruction does to global memory, and its bytes for one thread."""
    if match := _PTX.search(line):
        if match[5]:
            return "read", int(match[5], 0)
        count = int(match[2] or 1) * int(match[4] or 1)
        return _KINDS.get(match[1], "atomic"), count * int(match[3]) // 8
    if match := _AMD.match(line):
        kind = _KINDS.get(match[1], "atomic")
        if kind == "atomic":
            return kind, 8 if match[2].endswith(("x2", "64")) else 4
        name = match[2]
        bits = re.fullmatch(r"[biu](\d+)(?:_d16)?(?:_hi)?", name)
        size = int(bits[1]) // 8 if bits else _AMD_BYTES.get(name)
        return None if size is None else (kind, size)
    return None
