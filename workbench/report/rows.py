"""The row types of a report's tables: one frozen data class per kind of record.

Ids are short and stable within a report: `s0` source, `g0` graph, `g0:add_1` node, `i0` scheduler
graph, `i0:op1` scheduler node, `k0` kernel, `w0` wrapper, `b0` break, `q0` guard, `p0` phase,
`a0` autotune choice, `d0` bytecode of a frame, `i0:buf1` buffer,
`L:s0:12` line 12 of source s0. A field named `text` or `source_text` holds the content hash of a
text kept once in `Report.texts`. Files are relative to the home folder (`~/…`), to site-packages
(`site-packages/…`) or are a notebook cell (`cell 3`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from workbench.report.measures import OCCUPANCY, Place, describe, number

REFUSED_CALL = "torch cannot compile the call"
REFUSED_GRAPH = "torch cannot compile the graph"
"""Kinds of breaks that torch raises an error for: where Dynamo traces, and behind it."""
_LINE = re.compile(r"L:([^:]*):(\d{1,9})", re.ASCII)  # the id of a source line, as L:s0:12
LOOP_HINT = "It is in a loop, so the whole function falls back to eager."


def split_line(line: str) -> tuple[str, int]:
    """The source and the number of a line; an id of a later release is its own, with number 0.

    No line has that number, so that such an id leads nowhere and is shown as it is.
    """
    match = _LINE.fullmatch(line)
    return (match[1], int(match[2])) if match else (line, 0)


@dataclass(frozen=True, slots=True)
class Source:
    """A user function that was traced, with its text (also from a notebook cell)."""

    id: str  # its id
    name: str  # its name
    file: str  # the file, from the home folder or from site-packages on; or the cell
    first_line: int  # the line of the file that its text begins on
    text: str | None  # the source; none where it could not be read
    kind: str = "user"  # "user", "notebook" or "library"
    qualified: str | None = None  # its name with the classes that it is in; none in older records


@dataclass(frozen=True, slots=True)
class Graph:
    """One FX graph of one stage."""

    id: str  # its id
    stage: str  # the stage of the compilation, one of `STAGES`
    compile_id: str | None  # the compilation that it belongs to, as torch numbers them
    node_count: int  # how many nodes it has
    text: str | None  # the graph, printed
    is_backward: bool = False  # whether it belongs to the backward pass


@dataclass(frozen=True, slots=True)
class Node:
    """One FX node; `inputs` are node ids of the same graph; sizes may be symbolic.

    `file` and `line` are the innermost user line; `called_from` the `L:` ids of the lines that
    called its function, nearest first. `operator` is the ATen operator that autograd called, of a
    node of a joint graph that is a part of it: its name, and after `#` the number of the call.
    """

    id: str  # its id
    graph: str  # the graph that it belongs to, by its id
    name: str  # its name
    op: str  # the kind of node, such as `call_function`
    target: str  # the operator that it calls, or the name that it reads
    inputs: tuple[str, ...] = ()  # the nodes that it reads, by their ids
    shape: tuple[int | str, ...] | None = None  # its sizes
    stride: tuple[int | str, ...] | None = None  # its strides
    dtype: str | None = None  # its dtype
    device: str | None = None  # the device that it is on
    bytes: int | None = None  # its size
    file: str | None = None
    line: int | None = None
    module_path: str | None = None  # the module that it is in, by its path in the model
    called_from: tuple[str, ...] = ()
    operator: str | None = None


MODULE_CLASSES = "module_classes"
"""Where `Report.extra` has the class of each module by its path; older records have none."""


@dataclass(frozen=True, slots=True)
class Bytecode:
    """Dynamo's bytecode of one function, or of its rest after a break.

    `graph` is the captured graph that it calls, `calls` the names of compiled graphs and of the
    functions that resume after a break, in the order of the code. `text` is Python's disassembly,
    without addresses and random parts of names; their numbers count within a process. `source_text`
    is Python source of it, to be read and not run: it may show calls in another order than they
    have in `text`, which is what runs. Where there is none, `why_no_source` is a sentence.
    """

    id: str  # its id
    function: str  # the function's name; Dynamo names what resumes after a break
    graph: str | None
    compile_id: str | None  # torch's name of the compilation
    calls: tuple[str, ...]
    text: str | None
    source_text: str | None = None
    why_no_source: str | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """One graph break on the innermost user line, with the count of its occurrences."""

    id: str  # its id
    file: str  # the file, from the home folder or from site-packages on; or the cell
    line: int  # the line, from 1
    function: str  # the function's name
    text: str  # the line of code
    kind: str  # the kind of break, as torch names it
    gb_id: str | None  # the number under which torch describes the kind, such as GB0170
    reason: str  # the kind and its subject
    explanation: str  # torch's explanation of this kind of break
    hints: tuple[str, ...] = ()  # torch's hints
    count: int = 1  # how often it occurred

    @property
    def gives_up(self) -> bool:
        """Whether its function is not compiled at all."""
        return LOOP_HINT in self.hints


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard, kept in the artifact or dropped with the reason.

    `frozen` is the value that a file uses if it does not check anything instead of the guard.
    """

    id: str  # its id
    kept: bool  # whether the artifact checks it
    kind: str  # the kind of guard, as torch names it
    source: str  # the guarded value
    code: tuple[str, ...] = ()  # the check, as code
    why_dropped: str | None = None  # why it was dropped; none if it was kept
    is_global: bool = False  # whether it guards a global
    file: str | None = None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None = None  # the line, from 1
    frozen: str | None = None


@dataclass(frozen=True, slots=True)
class Recompile:
    """One more compilation of a function, with the guard that failed."""

    compile_id: str  # the compilation that it belongs to, as torch numbers them
    function: str  # the function's name
    reason: str  # the guard that failed


@dataclass(frozen=True, slots=True)
class FusionPair:
    """One pair of scheduler nodes that the fusion pass considered in one round."""

    graph: str  # the graph that it belongs to, by its id
    round: int  # the round of the fusion pass
    a: str  # the name of the first scheduler node
    b: str  # the name of the second scheduler node
    verdict: str  # "fused", "legal", "rejected" or "postponed"
    reason: str  # why, in torch's words
    shared_bytes: int | None = None  # bytes that both read or that one reads of the other
    kind: str | None = None  # "vertical" or "horizontal"
    result: str | None = None  # the name of the fused node, when fused
    score: tuple[tuple[str, float | str], ...] = ()  # how Inductor ranks the pair, part by part


@dataclass(frozen=True, slots=True)
class SchedulerNode:
    """One scheduler node before or after fusion; bytes are Inductor's traffic model."""

    id: str  # its id
    graph: str  # the graph that it belongs to, by its id
    name: str  # its name
    phase: str  # "before" or "after"
    kind: str  # its kind
    members: tuple[str, ...] = ()  # the scheduler nodes that were fused into it
    origins: tuple[str, ...] = ()  # the FX nodes that it comes from, by their ids
    bytes_read: int | None = None
    bytes_written: int | None = None
    device: str | None = None  # the device that it is on
    flops: int | None = None


_OF_LIBRARY = re.compile(
    r"(torch\.ops\.)?\w+(\.|::)("
    r"_?scaled_dot_product\w*|_(flash|efficient|cudnn)_attention\w*|_transformer_encoder\w*"
    r"|_native_multi_head_attention|_(cudnn|thnn)\w*(rnn|lstm|gru)\w*|(mkldnn|miopen)_rnn\w*"
    r"|_scaled_(grouped_)?mm\w*|_(int|grouped|sparse_semi_structured)_\w*mm\w*|_mkl_linear"
    r"|_weight_int\w*mm\w*"
    r"|_(linear|convolution)_pointwise\w*|\w*convolution_backward|q(linear|conv\d?d)\w*"
    r"|_?fft_\w+|_?linalg_\w+|_?cholesky\w*|triangular_solve|lu_\w+|geqrf|ormqr)(\.|$)"
)
"""Operators that are kernels of a library, which no generated code should replace."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One generated kernel or library call; `nodes` are FX node ids, `lines` are `L:` ids.

    `lines` are the innermost lines of its nodes, `called_from` the lines that called their
    functions. `flops` are the operations of one call: a multiply-add counts as two, in generated
    loops each arithmetic function of an element as one. The last five fields are those of its first
    configuration in `resources`.
    """

    id: str  # its id
    name: str  # its name
    language: str  # "triton", "cpp" or "extern"
    graph: str  # the graph that it belongs to, by its id
    is_backward: bool = False  # whether it belongs to the backward pass
    ops: tuple[str, ...] = ()  # the operations in it
    nodes: tuple[str, ...] = ()  # the FX nodes that it comes from, by their ids
    lines: tuple[str, ...] = ()
    scheduler_nodes: tuple[str, ...] = ()  # the scheduler nodes that it runs, by their ids
    bytes_read: int | None = number(
        "Read",
        "B",
        "Bytes per call (estimate)",
        source="model",
        place=Place("calls", "53px"),
    )
    bytes_written: int | None = number(
        "Written",
        "B",
        "Bytes per call (estimate)",
        source="model",
        place=Place("calls", "53px"),
    )
    flops: int | None = number(
        "FLOP",
        "amount",
        "Bytes per call (estimate)",
        place=Place("calls", "46px", is_wide=True),
    )
    text: str | None = None  # its generated source; none for a library call
    time_us: float | None = number(
        "Measured",
        "us",
        source="measured",
        meaning="Measured µs of all calls of the kernel in one call of the program.",
    )
    calls: int = number("Calls", default=1)
    called_from: tuple[str, ...] = ()
    registers: int | None = number(
        "Registers",
        place=Place("bound", "65px", is_wide=True, is_optional=True),
    )
    spills: int | None = number("Spills")
    smem_bytes: int | None = number("Shared", "B")
    occupancy: float | None = number(
        "Occupancy",
        "share",
        OCCUPANCY,
        source="model",
        place=Place("bound", "74px", is_wide=True, is_optional=True),
    )
    estimate: bool | None = None  # from limits of the device or a model: nothing was run

    @property
    def is_generated(self) -> bool:
        """Whether Inductor wrote it."""
        return self.language in ("triton", "cpp")

    @property
    def is_library(self) -> bool:
        """Whether it is a library call that Inductor chose, such as a GEMM."""
        return not self.is_generated and not self.is_fallback

    @property
    def is_fallback(self) -> bool:
        """Whether it is an eager operator that Inductor has no code for, and should have some.

        Attention, recurrent layers, products and factorizations of a library are none: their own
        kernels are what one wants. Neither are the seeds that Inductor draws for its own code.
        """
        if not self.is_operator or self.is_collective or self.draws_seeds:
            return False
        return _OF_LIBRARY.match(self.name) is None

    @property
    def draws_seeds(self) -> bool:
        """Whether it draws the seeds from which Inductor's kernels make random numbers."""
        return bool(self.ops) and all("inductor_seed" in op for op in self.ops)

    @property
    def is_operator(self) -> bool:
        """Whether it calls an eager operator, not a library function that Inductor chose."""
        return not self.is_generated and self.name.startswith(("aten::", "aten.", "torch.ops."))

    @property
    def is_collective(self) -> bool:
        """Whether it starts or awaits a collective."""
        return "c10d_functional." in self.name


@dataclass(frozen=True, slots=True)
class KernelLine:
    """The FX nodes behind one line (from 1) of a kernel's source; lines without any are left out.

    A line of several nodes has all of them; a line whose node is not certain has none.
    """

    kernel: str  # the kernel, by its id
    line: int  # the line of the kernel's source, from 1
    nodes: tuple[str, ...]  # the FX nodes behind it, by their ids


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer of a lowered graph.

    `node` is the FX node whose value it holds, None if it holds a part of one. `stored_in` is
    the buffer whose memory it changes in place, by name. `parts` are the bytes of each result of a
    library call that gives several, 0 for what it does not make; None where a size is open.
    """

    id: str  # its id
    graph: str  # the graph that it belongs to, by its id
    name: str  # its name
    kind: str  # "input", "output", "intermediate" or "constant"
    shape: tuple[int | str, ...] | None = None  # its sizes
    dtype: str | None = None  # its dtype
    device: str | None = None  # the device that it is on
    bytes: int | None = None  # its size
    written_by: tuple[str, ...] = ()  # the scheduler nodes that write it
    read_by: tuple[str, ...] = ()  # the scheduler nodes that read it
    node: str | None = None
    stored_in: str | None = None
    parts: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The generated program that calls the kernels of one lowered graph.

    `sizes` are the dynamic sizes, with their values in the compiled call.
    """

    id: str  # its id
    graph: str  # the graph that it belongs to, by its id
    is_backward: bool  # whether it belongs to the backward pass
    text: str | None  # the generated program
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AutotuneChoice:
    """One choice that the autotuner timed; `time_ms` is None when it failed.

    `op` is the operation with the shapes of its inputs. `text` is the code that was timed, before
    anything was fused to it; only the two fastest choices of an operation have one.
    """

    id: str  # its id
    op: str
    choice: str  # the configuration in words, such as "XBLOCK=128"
    kind: str  # the class of the choice, such as a template or a library
    time_ms: float | None = field(
        metadata=describe("Time", "ms", source="measured", meaning="Time by the autotuner.")
    )
    chosen: bool  # whether it was chosen
    note: str | None = None  # a remark, such as why a value is missing
    text: str | None = None


ESTIMATED_CHOICE = "estimated by a model, not timed"
"""The remark on a choice whose time nobody measured."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One timed phase; children lie inside their parent on the same thread."""

    id: str  # its id
    name: str  # its name
    start_s: float = field(
        metadata=describe("Start", "s", source="measured", meaning="Seconds from the start.")
    )
    duration_s: float = field(
        metadata=describe("Total", "s", source="measured", meaning="Seconds in total.")
    )
    self_s: float = field(
        metadata=describe("Self", "s", source="measured", meaning="Seconds without inner phases.")
    )
    depth: int  # its nesting depth, from 0
    thread: str  # the thread that it ran on
    compile_id: str | None = None  # the compilation that it belongs to, as torch numbers them


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """One lookup in a torch cache, made or simulated."""

    cache: str  # which of torch's caches
    outcome: str  # "hit", "miss" or "bypass"
    key: str | None = None  # the looked-up key
    reason: str | None = None  # the reason


@dataclass(frozen=True, slots=True)
class CachePart:
    """One part of the key by which torch's FX graph cache finds the code of a graph.

    `graph` is "forward" or "backward", with a number where there are several. A long `value` is
    cut, `hash` covers all of it. Parts at their default are left out.
    """

    graph: str
    part: str  # the part's name, such as a configuration or a file
    value: str
    hash: str


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether one part of the report could be captured, and why not."""

    name: str  # its name
    available: bool  # whether it could be captured
    reason: str | None = None  # why


@dataclass(frozen=True, slots=True)
class Link:
    """Two ids that belong together; `relation` names the two kinds, such as `node-kernel`."""

    a: str  # one id
    b: str  # the other id
    relation: str  # the kinds of the two, such as `node-kernel`


@dataclass(frozen=True, slots=True)
class WhyApart:
    """Why two things are not fused into one kernel.

    `sentence` says why, or that they are together, which `is_apart` tells. `help` is what would
    join them, None where nothing is known. `kernels` are the two that were compared, `concerned`
    these and what stands between them. `words` are the scheduler's own, `pair` is the row of its
    last try in the fusion table. `brief` is the sentence in a few words, empty where little is
    known.
    """

    a: str
    b: str
    is_apart: bool
    sentence: str
    help: str | None = None
    kernels: tuple[str, ...] = ()
    concerned: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    pair: int | None = None
    brief: str = ""

    def __str__(self) -> str:
        """The sentence, and what would fuse them."""
        return " ".join(filter(None, (self.sentence, self.help)))


PassStage = Literal["pre-grad", "joint", "post-grad", "scheduler", "other"]
BETWEEN_PASSES = "between passes"
"""The name of what changed a graph outside of any pass that torch names."""


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass over a graph, or over the nodes of the scheduler, in the order in which they ran.

    `changed` is true where nodes, their order or what they are called with are others than before.
    `matched` is how often its patterns matched, as torch counts that: 0 is never, None is of a pass
    that has no patterns. A pass that another one calls is a part of it. `ms` of what happened
    between passes, and of a pass of the user's that the scheduler calls, is all the time between
    two others. `graph_after` is such as `g5.2` for the second change of g5: the nodes that came or
    call something else are in `pass_nodes`; None where the graph is not recorded.
    """

    id: str  # its id, such as `t3`
    compile_id: str | None  # the compilation
    stage: PassStage  # when it ran; `other` is outside of torch's own stages
    is_backward: bool  # whether it was on the backward's graph, after that was parted
    name: str  # torch's name of the pass, or that of the user's own function
    option: str | None  # the option of torch that it was given by, where it is the user's
    nodes_before: int  # nodes before it
    nodes_after: int  # nodes after it
    changed: bool  # whether anything is another than before
    matched: int | None  # how often its patterns matched
    ms: float  # milliseconds that it took on the compiling thread
    added: tuple[str, ...] = ()  # the nodes that came, by name
    removed: tuple[str, ...] = ()  # the nodes that went
    rewritten: tuple[str, ...] = ()  # the nodes that call something else, or read another node
    graph_before: str | None = None  # the graph that it was given
    graph_after: str | None = None  # the graph that it left


@dataclass(frozen=True, slots=True)
class Lowering:
    """One operator of a lowered graph, the function that lowered it, and what that made of it.

    `graph` is the lowered graph (`i0`), `node` the FX node. `lowering` is a function below
    `torch._inductor`, such as `kernel.mm.tuned_mm`; a lowering that a user registered has its whole
    name. `made` are the kinds of what it wrote, in their order: `pointwise`, `reduction`, `scan`,
    `sort`, `scatter`, `template`, `library call`, `template or library call` (the scheduler takes
    the faster one), `fallback` (eager's own operator), `user kernel`, `concatenation`,
    `control flow`, `view`, or `its input` where it made nothing new. What an operator only had
    written to memory for it counts for the operator that computes it.
    """

    graph: str
    node: str | None
    operator: str  # the operator, with its overload
    lowering: str | None
    made: tuple[str, ...]
