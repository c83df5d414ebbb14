"""What the Kernels pane shows of code for a GPU: configurations, texts of stages, comparisons.

See `document.py`. `k0:c0` is a configuration of kernel k0, `k0:a100` its code for
that GPU in a matrix, `A:k0:c0:sass:12` line 12 (from 1) of its SASS. The parts are
`asm:k0:c0:sass` and `compare:k0:c0:k0:c1:sass`, with `:loose` behind it where numbers of registers
do not count.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class Config(TypedDict):
    """One configuration of a kernel for a GPU, with what it takes of a multiprocessor.

    `stages` are those that the compiler went through, each with why its text is missing, or None.
    """

    id: str
    target: str
    choice: str
    facts: list[tuple[str, str]]
    note: str | None
    stages: dict[str, str | None]


class Opcode(TypedDict):
    """What an instruction does: a sentence, then its modifiers; `source` names the document."""

    text: str
    parts: list[tuple[str, str]]
    source: str


class StagePart(TypedDict):
    """The text of one stage of a kernel's compilation, in runs of lines (from 1).

    `lines` are first, last, line of the Triton source; `inlined` first, last, file and line of an
    inlined helper; `ptx` first, last, line of the PTX. `opcodes` explains what occurs in the text.
    """

    kind: Literal["stage"]
    config: str
    stage: str
    text: str
    lines: list[tuple[int, int, int]]
    inlined: list[tuple[int, int, str, int]]
    ptx: list[tuple[int, int, int]]
    opcodes: dict[str, Opcode]


class ComparePart(TypedDict):
    """Two texts of a stage in blocks: a kind, then first and last line (from 1) in each.

    A block without lines in one text has a last line before its first there.
    """

    kind: Literal["compare"]
    before: str
    after: str
    stage: str
    blocks: list[tuple[Literal["same", "changed", "added", "removed"], int, int, int, int]]
