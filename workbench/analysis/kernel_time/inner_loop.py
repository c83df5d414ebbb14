"""The loop of a kernel that multiplies matrices: what a warp issues in one turn of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# not what `@!PT` stands before: it never runs, and the listings that were fitted leave it out
_SASS = re.compile(r"^\s*(\.L_\w+):|^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\d\s+)?([A-Z][\w.]*)(.*);")
_AMDGCN = re.compile(r"^\s*(\.LBB\w+):|^\s+([a-z]\w+)\b(.*)")
_TARGET = re.compile(r"(\.L_\w+|\.LBB\w+)")
_BRANCHES = ("BRA", "s_cbranch", "s_branch")
_MATRIX = re.compile(r"MMA\b|MMA\.|mfma|wmma")
_WAYS = (("GMMA", "warp group"), ("UTC", "tensor memory"), ("mfma", "wave"))
_KINDS: Mapping[str, re.Pattern[str]] = {
    "conversions": re.compile(r"(F2FP|F2F|I2F|PRMT|I2FP)$|.*cvt"),
    "global_loads": re.compile(r"LDG$|global_load"),
    "shared": re.compile(r"(LDSM|LDS|STS|STSM)$|ds_read|ds_write"),
}
_SPILL = re.compile(r"(?:STL(?:\.(\d+))?|scratch_store_dword(?:x(\d))?)$")
_BITS = 32  # of a register


@dataclass(frozen=True)
class InnerLoop:
    """One turn of the loop around the matrix instructions, counted as one warp issues it.

    `way` is how matrices are multiplied: by a "warp" from registers, a "warp group" of four from
    shared memory (Hopper), through "tensor memory" (Blackwell), or by a "wave" (AMD).
    `global_loads` are those that a warp waits for itself; copies to shared memory are none.
    `spilled` are registers that did not fit and change in each turn: stored, then loaded again.
    Those that only are loaded again, such as addresses, are among the instructions.
    """

    instructions: int
    way: str
    conversions: int = 0
    global_loads: int = 0
    shared: int = 0  # reads and writes of shared memory
    spilled: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    label: str | None
    opcode: str
    operands: str


def find_inner_loop(text: str) -> InnerLoop | None:
    """The loop of SASS or AMD assembly with the most matrix instructions; None if there is none.

    Where loops lie in each other, the innermost of those that have them all.
    """
    form = _AMDGCN if ".amdgcn" in text or ".amdhsa" in text else _SASS
    matches = (form.match(line) for line in text.splitlines())
    lines = [_Line(match[1], match[2] or "", match[3] or "") for match in matches if match]
    best: Sequence[str] = ()
    most = 0
    for body in _list_loops(lines):
        count = sum(1 for opcode in body if _MATRIX.search(opcode))
        if count > most or (count == most > 0 and len(body) < len(best)):
            best, most = body, count
    if not most:
        return None
    names = " ".join(opcode for opcode in best if _MATRIX.search(opcode))
    opcodes = Counter(opcode.partition(".")[0] for opcode in best)
    counts = {
        kind: sum(n for opcode, n in opcodes.items() if pattern.match(opcode))
        for kind, pattern in _KINDS.items()
    }
    stores = (match for opcode in best if (match := _SPILL.match(opcode)))
    spilled = sum(int(m[1]) // _BITS if m[1] else int(m[2] or 1) for m in stores)
    way = next((way for part, way in _WAYS if part in names), "warp")
    return InnerLoop(len(best), way, **counts, spilled=spilled)


def _list_loops(lines: Sequence[_Line]) -> Iterator[list[str]]:
    """The opcodes of what each branch back to a label above it goes through again."""
    labels = {line.label: n for n, line in enumerate(lines) if line.label is not None}
    for n, line in enumerate(lines):
        if line.opcode.startswith(_BRANCHES) and (match := _TARGET.search(line.operands)):
            start = labels.get(match[1], n)
            if start < n:
                yield [step.opcode for step in lines[start : n + 1] if step.opcode]
