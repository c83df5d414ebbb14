"""The row types of a report's tables: one frozen data class per kind of record.

Ids are short and stable within a report: `s0` source, `g0` graph, `g0:add_1` node, `i0` scheduler
graph, `i0:op1` scheduler node, `k0` kernel, `w0` wrapper, `b0` break, `q0` guard, `p0` phase,
`a0` autotune choice, `d0` bytecode of a frame, `i0:buf1` buffer,
`L:s0:12` line 12 of source s0. A field named `text` or `source_text` holds the content hash of a
text kept once in `Report.texts`. Files are relative to the home folder (`~/…`), to site-packages
(`site-packages/…`) or are a notebook cell (`cell 3`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.report.measures import OCCUPANCY, Place, describe, number


@dataclass(frozen=True, slots=True)
class Source:
    """A user function that was traced, with its text (also from a notebook cell)."""

    id: str
    name: str
    file: str
    first_line: int
    text: str | None
    kind: str = "user"  # "user", "notebook" or "library"


@dataclass(frozen=True, slots=True)
class Graph:
    """One FX graph of one stage."""

    id: str
    stage: str
    compile_id: str | None
    node_count: int
    text: str | None
    is_backward: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One FX node; `inputs` are node ids of the same graph; sizes may be symbolic.

    `file` and `line` are the innermost user line; `called_from` the `L:` ids of the lines that
    called its function, nearest first. `operator` is the ATen operator that autograd called, of a
    node of a joint graph that is a part of it: its name, and after `#` the number of the call.
    """

    id: str
    graph: str
    name: str
    op: str
    target: str
    inputs: tuple[str, ...] = ()
    shape: tuple[int | str, ...] | None = None
    stride: tuple[int | str, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    bytes: int | None = None
    file: str | None = None
    line: int | None = None
    module_path: str | None = None
    called_from: tuple[str, ...] = ()
    operator: str | None = None


@dataclass(frozen=True, slots=True)
class Bytecode:
    """What Dynamo put in the place of one function, or of what is left of it after a break.

    `graph` is the captured graph that it calls, `calls` the names of compiled graphs and of the
    functions that resume after a break, in the order of the code. `text` is Python's disassembly,
    without addresses and random parts of names; their numbers count within a process. `source_text`
    is Python source of it, to be read and not run: it may show calls in another order than they
    have in `text`, which is what runs. Where there is none, `why_no_source` is a sentence.
    """

    id: str
    function: str
    graph: str | None
    compile_id: str | None
    calls: tuple[str, ...]
    text: str | None
    source_text: str | None = None
    why_no_source: str | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """One graph break on the innermost user line, counted over every time it was met."""

    id: str
    file: str
    line: int
    function: str
    text: str
    kind: str
    gb_id: str | None
    reason: str
    explanation: str
    hints: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard, kept in the artifact or dropped with the reason.

    `frozen` is the value that a file goes on with, where it compares nothing in place of the guard.
    """

    id: str
    kept: bool
    kind: str
    source: str
    code: tuple[str, ...] = ()
    why_dropped: str | None = None
    is_global: bool = False
    file: str | None = None
    line: int | None = None
    frozen: str | None = None


@dataclass(frozen=True, slots=True)
class Recompile:
    """One more compilation of a function, with the guard that failed."""

    compile_id: str
    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class FusionPair:
    """One pair of scheduler nodes that the fusion pass considered in one round."""

    graph: str
    round: int
    a: str
    b: str
    verdict: str  # "fused", "legal", "rejected" or "postponed"
    reason: str
    shared_bytes: int | None = None
    kind: str | None = None  # "vertical" or "horizontal"
    result: str | None = None  # the name of the fused node, when fused
    score: tuple[tuple[str, float | str], ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerNode:
    """One scheduler node before or after fusion; bytes are Inductor's traffic model."""

    id: str
    graph: str
    name: str
    phase: str  # "before" or "after"
    kind: str
    members: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    bytes_read: int | None = None
    bytes_written: int | None = None
    device: str | None = None
    flops: int | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One generated kernel or library call; `nodes` are FX node ids, `lines` are `L:` ids.

    `lines` are the innermost lines of its nodes, `called_from` the lines that called their
    functions. `flops` are the operations of one call: a multiply-add counts as two, in generated
    loops each arithmetic function of an element as one. The last five fields are those of its first
    configuration in `resources`.
    """

    id: str
    name: str
    language: str  # "triton", "cpp" or "extern"
    graph: str
    is_backward: bool = False
    ops: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    scheduler_nodes: tuple[str, ...] = ()
    bytes_read: int | None = number(
        "Read", "B", "Of one call, an estimate", source="model", place=Place("calls", "53px"),
        meaning="Bytes that one call reads, by Inductor's model of the traffic.",
    )  # fmt: skip
    bytes_written: int | None = number(
        "Written", "B", "Of one call, an estimate", source="model", place=Place("calls", "53px"),
        meaning="Bytes that one call writes, by Inductor's model of the traffic.",
    )  # fmt: skip
    flops: int | None = number(
        "FLOP", "amount", "Of one call, an estimate", meaning="Operations of one call.",
        place=Place("calls", "46px", is_wide=True),
    )  # fmt: skip
    text: str | None = None
    time_us: float | None = number(
        "Measured", "us", source="measured",
        meaning="Measured microseconds of one call of the whole, all its calls together.",
    )  # fmt: skip
    calls: int = number("Calls", meaning="How often one call of the whole runs it.", default=1)
    called_from: tuple[str, ...] = ()
    registers: int | None = number(
        "Registers", meaning="Registers of a thread.",
        place=Place("bound", "65px", is_wide=True, is_optional=True),
    )  # fmt: skip
    spills: int | None = number(
        "Spills", meaning="Instructions that spill registers to memory or load them again."
    )
    smem_bytes: int | None = number("Shared", "B", meaning="Shared memory of a block.")
    occupancy: float | None = number(
        "Occupancy", "share", OCCUPANCY, source="model",
        place=Place("bound", "74px", is_wide=True, is_optional=True),
        meaning="The part of the warps of a multiprocessor that can be resident, from 0 to 1.",
    )  # fmt: skip
    estimate: bool | None = None

    @property
    def is_generated(self) -> bool:
        """Whether Inductor wrote it."""
        return self.language in ("triton", "cpp")

    @property
    def is_library(self) -> bool:
        """Whether it is a call of a library routine that Inductor chose, such as a GEMM."""
        return not self.is_generated and not self.is_fallback

    @property
    def is_fallback(self) -> bool:
        """Whether it is an eager operator that Inductor has no code for."""
        return not self.is_generated and self.name.startswith(("aten::", "aten.", "torch.ops."))


@dataclass(frozen=True, slots=True)
class KernelLine:
    """The FX nodes behind one line (from 1) of a kernel's source; lines without any are left out.

    A line that serves several nodes names all of them; one whose node is not certain, none.
    """

    kernel: str
    line: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer of a lowered graph.

    `node` is the FX node whose value it holds, None where it holds a part of one. `stored_in` is
    the buffer whose memory it changes in place, by name. `parts` are the bytes of each result of a
    library call that gives several, 0 for what it does not make; None where a size is open.
    """

    id: str
    graph: str
    name: str
    kind: str  # "input", "output", "intermediate" or "constant"
    shape: tuple[int | str, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    bytes: int | None = None
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    node: str | None = None
    stored_in: str | None = None
    parts: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The generated program that calls the kernels of one lowered graph.

    `sizes` are those that were left open, with their values in the call that was compiled.
    """

    id: str
    graph: str
    is_backward: bool
    text: str | None
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AutotuneChoice:
    """One choice that the autotuner timed; `time_ms` is None when it failed.

    `op` is the operation with the shapes of its inputs. `text` is the code that was timed, before
    anything was fused to it; only the two fastest choices of an operation have one.
    """

    id: str
    op: str
    choice: str
    kind: str
    time_ms: float | None = field(metadata=describe("Time", "ms", source="measured"))
    chosen: bool
    note: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """One timed phase; children lie inside their parent on the same thread."""

    id: str
    name: str
    start_s: float = field(metadata=describe("Start", "s", source="measured"))
    duration_s: float = field(metadata=describe("Total", "s", source="measured"))
    self_s: float = field(metadata=describe("Self", "s", source="measured"))
    depth: int
    thread: str
    compile_id: str | None = None


@dataclass
class Span:
    """A phase from its begin to its end in seconds; `children_s` is what lies inside of it."""

    name: str
    start: float
    end: float
    compile_id: str | None
    depth: int = 0
    children_s: float = 0.0

    @property
    def seconds(self) -> float:
        """From the begin to the end."""
        return self.end - self.start


def list_phase_rows(spans: Iterable[tuple[Span, str]], started: float) -> list[Phase]:
    """Spans with their threads as rows in the order of their start, relative to `started`."""
    ordered = sorted(spans, key=lambda pair: (pair[0].start, pair[0].depth))
    return [
        Phase(
            id=f"p{n}",
            name=span.name,
            start_s=round(span.start - started, 6),
            duration_s=round(span.seconds, 6),
            self_s=round(max(0.0, span.seconds - span.children_s), 6),
            depth=span.depth,
            thread=thread,
            compile_id=span.compile_id,
        )
        for n, (span, thread) in enumerate(ordered)
    ]


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """What one of torch's caches answered, or would have answered."""

    cache: str
    outcome: str  # "hit", "miss" or "bypass"
    key: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CachePart:
    """One part of the key by which torch's FX graph cache finds the code of a graph.

    `graph` is "forward" or "backward", with a number where there are several. A long `value` is
    cut, `hash` covers all of it. Parts at their default are left out.
    """

    graph: str
    part: str
    value: str
    hash: str


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether one part of the record could be captured, and why not."""

    name: str
    available: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Two ids that belong together; `relation` names the two kinds, such as `node-kernel`."""

    a: str
    b: str
    relation: str
