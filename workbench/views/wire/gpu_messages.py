"""What the view shows of GPUs and of the code for them.

See `document.py`. Of GPUs the matrix, ranked configurations, rooflines, the targets: an id such as
`k0:a100` names the code of kernel k0 for a GPU. Occupancy, bounds and times that a model gives are
estimates; registers, spills, shared memory and instructions are counted in compiled code.

Of code configurations, texts of stages, comparisons: `k0:c0` is a configuration of kernel k0,
`A:k0:c0:sass:12` line 12 (from 1) of its SASS. The parts are `asm:k0:c0:sass` and
`compare:k0:c0:k0:c1:sass`, with `:loose` behind it where numbers of registers do not count.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class MatrixCell(TypedDict):
    """One kernel on one GPU; `id` names its code, `note` says why there is none.

    What is counted in code compares GPUs of one `vendor`.
    """

    id: str
    choice: str
    registers: int | None
    spills: int | None
    smem_bytes: int | None
    occupancy: float | None
    limiter: str | None
    instructions: int | None
    bound: str | None
    bound_us: float | None
    estimate: bool
    note: str | None
    vendor: str
    modelled_us: float | None
    modelled_error: float | None


class MatrixRow(TypedDict):
    """A kernel with a cell for each GPU of `matrix_targets`, those that differ most first.

    `spread` is how far apart the GPUs are over all counted figures, `spreads` in each of them, from
    0 to 1; most of it is in `differs_in` (see `workbench.analysis.gpu_model.matrix`).
    """

    kernel: str
    spread: float
    spreads: dict[str, float]
    differs_in: str | None
    cells: list[MatrixCell | None]


class Ranked(TypedDict):
    """One configuration that a model ranked, not timed; `rejection` says what is against it."""

    id: str
    kernel: str
    target: str
    choice: str
    sizes: dict[str, int]
    warps: int
    stages: int
    registers: int | None
    spills: int | None
    smem_bytes: int | None
    occupancy: float | None
    limiter: str | None
    model_us: float | None
    placed_us: float | None
    rank: int | None
    rejection: str | None
    note: str | None


class CudaGraphs(TypedDict):
    """What becomes of the parts of a program in one sentence, and each of them."""

    summary: str
    parts: list[CudaGraph]


class CudaGraph(TypedDict):
    """A part of the program that becomes one CUDA graph, or none.

    `verdict` is "recorded", "skipped" or "depends", `reason` why in torch's words, `help` a remedy
    where one is known, `said` both in a sentence. `copied_bytes` are copied before every replay.
    """

    id: str
    name: str
    verdict: str
    tone: str
    said: str
    reason: str | None
    help: str | None
    kernels: list[str]
    lines: list[str]
    copied_bytes: int | None


class TargetChoice(TypedDict):
    """A GPU that can be compiled for, or this machine; `words` describe it."""

    name: str
    words: str


class Targets(TypedDict):
    """What the call can be compiled for in place; `why_not` says why it cannot be done here."""

    present: str
    choices: list[TargetChoice]
    why_not: str | None


class TargetQuestion(TypedDict):
    """The targets to compile for: one in place, or several to compare."""

    targets: list[str]


class Roof(TypedDict):
    """The roof of one GPU, or of the CPU of a profile: its bandwidth, peak rates (TFLOP/s) used.

    `sentence` says what to know of the kernels under it, `source` where its rates are from.
    """

    target: str
    bandwidth_gbs: float
    rates: list[tuple[str, float]]
    sentence: str
    source: str


class RooflinePoint(TypedDict):
    """Where one kernel lies under the roof of a GPU; `share` is its part of the time of all.

    `of_roof` is its least time as a part of the measured one, None where nothing was measured.
    """

    kernel: str
    target: str
    moved_bytes: int | None
    asked_bytes: int | None
    flops: int | None
    rate: str | None
    intensity: float | None
    ridge: float | None
    bound: str | None
    bound_us: float | None
    attainable_tflops: float | None
    measured_us: float | None
    estimate: bool
    share: float
    of_roof: float | None
    note: str | None


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
