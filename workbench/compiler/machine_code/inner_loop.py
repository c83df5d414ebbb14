"""The loop of a kernel that multiplies matrices: what a warp has to issue in one turn of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SASS_LABEL = re.compile(r"^\s*(\.L_\w+):")
_SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);")
_GCN_LABEL = re.compile(r"^\s*(\.LBB\w+):")
_GCN_LINE = re.compile(r"^\s+([a-z]\w+)\b(.*)")
_SASS_TARGET = re.compile(r"\((\.L_\w+)\)")
_GCN_TARGET = re.compile(r"(\.LBB\w+)")
_MATRIX = re.compile(r"MMA\b|MMA\.|mfma|wmma")
_WGMMA = re.compile(r"[HQI]GMMA\.(\d+)x(\d+)x(\d+)")
_MMA = re.compile(r"[HQI]MMA\.(16|8)(8|16)(\d+)\b")
_MFMA = re.compile(r"mfma_\w*?_(\d+)x(\d+)x(\d+)")


@dataclass(frozen=True)
class InnerLoop:
    """One turn of the loop around the matrix instructions, as one warp issues it.

    `multiplied` are the multiplications of one warp in one turn by those instructions whose names
    say their size, so that tile and warps tell how many steps along K are one turn; 0 where the
    names do not say it, as on Blackwell. `opcodes` are counted by their first part.
    """

    instructions: int
    matrix: Mapping[str, int]
    multiplied: int
    opcodes: Mapping[str, int] = field(default_factory=dict)

    def count_steps(self, tile: int, warps: int) -> float:
        """Steps along K in one turn, for a tile of so many multiplications in one step."""
        return self.multiplied * warps / tile if self.multiplied else 1.0


def find_inner_loop(stage: str, text: str) -> InnerLoop | None:
    """The loop of "sass" or "amdgcn" with the most matrix instructions; None if there is none.

    Where loops lie in each other, the innermost of those that have them all.
    """
    if stage == "sass":
        lines = _read(text, _SASS_LABEL, _SASS_LINE)
        loops = _find_loops(lines, ("BRA",), _SASS_TARGET)
    else:
        lines = _read(text, _GCN_LABEL, _GCN_LINE)
        loops = _find_loops(lines, ("s_cbranch", "s_branch"), _GCN_TARGET)
    best: Sequence[tuple[str | None, str, str]] = ()
    most = 0
    for first, last in loops:
        body = [line for line in lines[first:last] if line[1]]
        count = sum(1 for _, opcode, _ in body if _MATRIX.search(opcode))
        if count > most or (count == most and count and len(body) < len(best)):
            best, most = body, count
    if not most:
        return None
    matrix = Counter(opcode for _, opcode, _ in best if _MATRIX.search(opcode))
    return InnerLoop(
        len(best),
        dict(matrix),
        sum(_multiplied(opcode) * count for opcode, count in matrix.items()),
        dict(Counter(opcode.partition(".")[0] for _, opcode, _ in best)),
    )


def _read(
    text: str, label: re.Pattern[str], line: re.Pattern[str]
) -> list[tuple[str | None, str, str]]:
    """Label, opcode and operands of each line that has one or the other."""
    found: list[tuple[str | None, str, str]] = []
    for each in text.splitlines():
        if match := label.match(each):
            found.append((match[1], "", ""))
        elif match := line.match(each):
            found.append((None, match[1], match[2]))
    return found


def _find_loops(
    lines: Sequence[tuple[str | None, str, str]],
    branches: tuple[str, ...],
    target: re.Pattern[str],
) -> list[tuple[int, int]]:
    """First and last line of what a branch back to a label above it goes through again."""
    labels = {label: n for n, (label, _, _) in enumerate(lines) if label is not None}
    loops = []
    for n, (_, opcode, operands) in enumerate(lines):
        if opcode.startswith(branches) and (match := target.search(operands)):
            start = labels.get(match[1], n)
            if start < n:
                loops.append((start, n + 1))
    return loops


def _multiplied(opcode: str) -> int:
    """Multiplications of one warp by one instruction; four warps share one of Hopper's."""
    if match := _WGMMA.match(opcode):
        return int(match[1]) * int(match[2]) * int(match[3]) // 4
    if match := _MMA.match(opcode):
        return int(match[1]) * int(match[2]) * int(match[3])
    if match := _MFMA.search(opcode):
        return int(match[1]) * int(match[2]) * int(match[3])
    return 0
