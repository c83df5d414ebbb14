"""The row types of kernels on a GPU, and of the findings of instrumented runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.report.measures import LEAST, OCCUPANCY, describe, number

Runs = tuple[tuple[int, int, int], ...]
"""Runs of lines (from 1): first, last, the line that they come from."""

HOST_STAGE = "assembly"
"""The stage that the host's compiler made of a kernel in C++."""

CODE_STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", HOST_STAGE)
"""Stages of a kernel's compilation in the order in which the compiler produces them."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """What one stage made of a kernel in one configuration (`k0:c0`), without debug information.

    `lines` are runs with their line in the kernel's source, Triton or C++; what an inlined helper
    became counts for the line that calls it, and `inlined` has it as (first, last, file, line) of
    the helper. `ptx` ties runs of SASS to lines of the PTX. `note` says why a text is missing.
    """

    kernel: str  # the kernel, by its id
    config: str  # the configuration, by its id
    stage: str  # the stage of the compilation
    text: str | None  # the text itself
    lines: Runs = ()
    inlined: tuple[tuple[int, int, str, int], ...] = ()
    ptx: Runs = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One way in which a compilation for a virtual GPU may differ from one on the real one.

    `file` and `line` name a line of the user's code that is to blame.
    """

    topic: str  # what it is about
    text: str  # the difference, in a sentence
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes of a multiprocessor in one configuration (`k0:c0`).

    Registers are those of a thread (on AMD vector and accumulation registers together), `stack`
    its bytes, spills the instructions that store to it and load from it (on AMD registers, all
    under `spill_stores`). Shared memory is bytes of a block. `occupancy`, from 0 to 1, `blocks` on
    one multiprocessor and their `limiter` follow from the limits of the device, nothing was run:
    `estimate` is True for them.
    """

    kernel: str  # the kernel, by its id
    config: str  # the configuration, by its id
    choice: str  # "XBLOCK=128"
    warps: int = field(metadata=describe("Warps"))
    stages: int = field(metadata=describe("Stages"))
    registers: int | None = number("Registers")
    scalar_registers: int | None = None  # scalar registers of a warp, on AMD
    spill_stores: int | None = None
    spill_loads: int | None = None  # instructions that load spilled registers again
    stack: int | None = number("Stack", "B")
    smem_static: int | None = None  # shared memory that is fixed in the code
    smem_dynamic: int | None = None  # shared memory that is asked for when it starts
    instructions: int | None = number("Instructions")
    blocks: int | None = None
    occupancy: float | None = number("Occupancy", "share", source="model")
    limiter: str | None = None
    estimate: bool = True
    note: str | None = None  # a remark, such as why a value is missing

    @property
    def spills(self) -> int | None:
        """Stores and loads together."""
        return None if self.spill_stores is None else self.spill_stores + (self.spill_loads or 0)

    @property
    def smem_bytes(self) -> int | None:
        """Bytes of shared memory of a block."""
        if self.smem_static is None and self.smem_dynamic is None:
            return None
        return (self.smem_static or 0) + (self.smem_dynamic or 0)


@dataclass(frozen=True, slots=True)
class Launch:
    """Launches of one kernel in one configuration with the same grid and arguments.

    `arguments` are pairs of a name and words: `float16[16, 16]` for a tensor, numbers as they are.
    `is_timing` tells those that an autotuner made to time a configuration. `lines` is the `L:` id
    of the innermost line of the user's code, of the first of them.
    """

    kernel: str  # the kernel, by its id
    config: str  # the configuration, by its id
    grid: tuple[int, ...]  # blocks in each dimension; none where the log does not say
    count: int = field(metadata=describe("Launches"))
    arguments: tuple[tuple[str, str], ...] = ()
    stream: int | None = None  # the stream, by its number
    is_timing: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelRoofline:
    """Where a kernel lies under the roofline of a GPU (`workbench.analysis.gpu_model.roofline`).

    Numbers are those of one call. `target` is the GPU's name; bytes are those between DRAM and
    chip, each moved once, `asked_bytes` those that the programs of a checked kernel ask for, again
    where several read the same ones; `flops` operations as in `Kernel`; `rate_tflops` is 10^12
    operations per second of `rate`, such as "matrix.bf16"; intensity and ridge are operations per
    byte; `bound_us` is the least time in µs, `measured_us` a measured one. `note` says why a number
    is missing; `bound_us` is then that of the number that is known.
    """

    kernel: str  # the kernel, by its id
    target: str
    moved_bytes: int | None = number("Moved", "B", source="model")  # each byte moved once
    asked_bytes: int | None = number(
        "Asked", "B", "Requested by its program instances, in a checked run"
    )
    flops: int | None = number("FLOP", "amount")
    rate: str | None = None
    rate_tflops: float | None = None
    bandwidth_gbs: float | None = None  # the bandwidth of the GPU, in 10^9 bytes per second
    intensity: float | None = number("Per byte", "amount", source="model")  # operations per byte
    ridge: float | None = None  # operations per byte from which on arithmetic bounds
    bound: str | None = None  # "memory" or "compute"
    bound_us: float | None = number("Least (est.)", "us", f"{LEAST}, an estimate", source="model")
    attainable_tflops: float | None = None  # the rate that the roofline allows at its intensity
    measured_us: float | None = number("Measured", "us", source="measured")
    estimate: bool = True  # from limits of the device or a model: nothing was run
    note: str | None = None


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One kernel on one GPU of an architecture matrix; its code is `config` in `assembly`.

    Counts as in `Resources`, `spills` being stores and loads together; they compare GPUs of one
    `vendor`, empty in older records, whose code is of one kind. `bound` and `bound_us` as in
    `KernelRoofline`; `modelled_us` as in `wb.forecast`, whatever the code is. `note` says why the
    kernel has no code for that GPU.
    """

    kernel: str  # the kernel, by its id
    target: str  # the GPU, by its name
    config: str  # "k0:a100"
    choice: str = ""  # the configuration in words, such as "XBLOCK=128"
    warps: int | None = None
    stages: int | None = None
    registers: int | None = number("Registers", "count", "Registers per thread")
    spills: int | None = number(
        "Spills",
        "count",
        "Instructions that spill registers and reload them",
        heading="Spills: stores and loads",
    )
    smem_bytes: int | None = number("Shared", "B", "Shared memory per block")
    blocks: int | None = None  # blocks that fit on one multiprocessor at a time
    occupancy: float | None = number(
        "Occupancy (est.)", "share", OCCUPANCY, heading="Occupancy (estimate)", source="model"
    )
    limiter: str | None = None  # what limits the occupancy, such as registers
    instructions: int | None = number(
        "Instructions", "count", "Machine instructions", heading="Instructions"
    )
    bound: str | None = None
    bound_us: float | None = number(
        "Bound (est.)",
        "us",
        f"{LEAST} (estimate)",
        source="model",
        heading="Roofline time (estimate)",
    )
    estimate: bool = True  # from limits of the device or a model: nothing was run
    note: str | None = None
    vendor: str = ""
    modelled_us: float | None = number(
        "Modelled (est.)",
        "us",
        "Time of one call by the calibrated model",
        source="model",
        heading="Modelled time of one call",
    )
    modelled_error: float | None = None  # relative, None where that GPU was not measured


@dataclass(frozen=True, slots=True)
class RankedConfig:
    """One configuration of a kernel in a static sweep: compiled, not run, and ranked by a model.

    `model_us` is what the cost model gives it in µs, `rank` its place from 1, `rejection` what
    is against it, in words ("spills 12 registers"). With a prior it is ranked by `placed_us`.
    """

    kernel: str  # the kernel, by its id
    target: str  # the GPU, by its name
    choice: str  # the configuration in words, such as "XBLOCK=128"
    warps: int = field(metadata=describe("Warps"))
    stages: int = field(metadata=describe("Stages"))
    registers: int | None = number("Registers")
    spills: int | None = number("Spills")
    smem_bytes: int | None = number("Shared", "B")
    blocks: int | None = None  # blocks that fit on one multiprocessor at a time
    occupancy: float | None = number("Occupancy (est.)", "share", "An estimate", source="model")
    limiter: str | None = None  # what limits the occupancy, such as registers
    model_us: float | None = number("Model", "us", "Modelled time", source="model")
    rank: int | None = number("Rank", "number", source="model")
    rejection: str | None = field(default=None, metadata={"former": "losing"})
    estimate: bool = True  # from limits of the device or a model: nothing was run
    note: str | None = None  # a remark, such as why a value is missing
    placed_us: float | None = number(
        "Model, prior", "us", "Modelled time, adjusted by best configs elsewhere", source="model"
    )

    @property
    def ranked_us(self) -> float | None:
        """The µs that set its position."""
        return self.model_us if self.placed_us is None else self.placed_us


@dataclass(frozen=True, slots=True)
class CudaGraphPart:
    """A part of a program that becomes one CUDA graph, or none; where they were asked for.

    `verdict` is "recorded" (when it first runs), "skipped", or "depends" (on each call), `reason`
    why, in torch's words. `copied_bytes` are the inputs of the call that every replay copies first;
    parameters stay where they are. `lines` are `L:` ids.
    """

    graph: str  # the graph that it belongs to, by its id
    part: int  # the number of the part, from 0
    verdict: str
    reason: str | None = None
    kernels: tuple[str, ...] = ()  # the kernels that run in it, by their ids
    lines: tuple[str, ...] = ()
    copied_bytes: int | None = None


NOT_JUDGED = "not judged"
"""The kind of findings that a check does not support."""


@dataclass(frozen=True, slots=True)
class KernelFinding:
    """What is wrong in one line of a kernel, or may be: the first of `count` places.

    `programs` counts programs along the axes of the grid, at most 256 of those concerned; `case` is
    what differs from the call that was given, empty for that call itself.
    """

    kernel: str  # the kernel, by the name of its function
    kind: str  # "out of bounds", "race", "uninitialised", "differs", "not judged", ...
    text: str  # the finding in a sentence
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    column: int | None = field(
        default=None, metadata=describe("Column", meaning="The column, from 1.")
    )
    argument: str = ""  # the argument of the kernel
    index: tuple[int, ...] = ()  # the element, by its place on each axis of the argument
    shape: tuple[int, ...] = ()  # its sizes
    program: tuple[int, ...] = ()  # the program of the grid, by its place on each axis
    lane: tuple[int, ...] = ()  # the element of the block that the program works on
    other_line: int | None = None  # the line that it is in conflict with
    other_program: tuple[int, ...] = ()  # the program that it is in conflict with
    other_lane: tuple[int, ...] = ()  # the lane that it is in conflict with
    count: int = field(
        default=1, metadata=describe("Places", meaning="How many places have this bug.")
    )
    case: str = ""  # what differs from the call that was given; empty for that call
    programs: tuple[int, ...] = ()  # the programs concerned, counted along the grid
    by: str = ""  # the other tool that says so, with its release; empty for the run under watch


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """One call of a kernel that was run under watch, and what could be judged of it.

    Bytes are counted from the log of its accesses: `asked_bytes` what programs ask for, and
    the `least` different ones among them; an atomic counts as a write. Not known of samples.
    """

    kernel: str  # the kernel, by the name of its function
    case: str  # what differs from the call that was given; empty for that call
    verdict: str  # "passed", "failed", "not checked"; of others "nothing found", "contradicted"
    grid: tuple[int, ...]  # how many programs the grid has along each axis
    programs: int = field(metadata=describe("Programs", meaning="Program instances that were run."))
    judged: tuple[str, ...] = ()  # what was judged
    not_judged: tuple[str, ...] = ()  # what was not judged, and why
    notes: tuple[str, ...] = ()  # what the reader should know of it
    seconds: float = field(
        default=0.0,
        metadata=describe("Time", "s", source="measured", meaning="Seconds of the run on a CPU."),
    )
    log_bytes: int = field(
        default=0, metadata=describe("Log", "B", meaning="Memory of the access log.")
    )
    asked_bytes: int = field(default=0, metadata=describe("Asked", "B"))
    least_read_bytes: int | None = field(
        default=None,
        metadata=describe("Least read", "B", meaning="Distinct bytes that were read."),
    )
    least_written_bytes: int | None = field(
        default=None,
        metadata=describe("Least written", "B", meaning="Distinct bytes that were written."),
    )
    operations: tuple[tuple[str, int], ...] = ()  # operations of floats by dtype, and of tl.dot
    by: str = ""  # the other tool that judged it, with its release; empty for the run under watch


Bases = tuple[tuple[tuple[int, ...], ...], ...]
"""Of registers, lanes, warps and blocks: an element's place is the XOR of those of the set bits."""


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """What the memory sees of one access of a line, for one argument, in all steps of a run.

    Addresses are those of one run of the kernel on a CPU, who holds which element and how wide an
    instruction is, those of the compiled code. Sectors are what memory of the GPU is read in at
    least, of `sector_bytes`. The L1 and L2 caches, other warps, TMA and what matrix units read of
    shared memory themselves are in none of it. `reason` says why nothing was counted, or not all;
    `lanes` is one instruction, in bytes from the begin of its first sector, -1 for a lane that
    takes no part.
    """

    kernel: str  # the kernel, by its id
    line: int | None  # the line, from 1
    text: str  # the line itself
    argument: str  # the argument whose memory it is
    kind: str  # "read", "write" or "atomic"
    bytes: int | None = number(
        "Bytes", "B", hint="Requested bytes", meaning="Bytes that all program instances request."
    )
    layout: str = ""  # who holds which element of the block, in words
    vector_bytes: int | None = number(
        "Width",
        "B",
        hint="Bytes per thread and instruction",
        meaning="Bytes that a thread moves with one instruction.",
    )
    instructions: int | None = number(
        "Instructions", hint="Warp instructions in the sampled program instances"
    )
    sectors: float | None = number(
        "Sectors",
        "amount",
        hint="Sectors per warp instruction",
        meaning="Sectors that a warp instruction touches, on average.",
    )
    least_sectors: float | None = number(
        "Least",
        "amount",
        hint="Sectors if fully coalesced",
        meaning="Sectors that a fully coalesced access would touch.",
    )
    used: float | None = number(
        "Used",
        "share",
        hint="Bytes used / bytes fetched",
        meaning="Bytes used over bytes fetched, per instruction.",
    )
    used_l1: float | None = number(
        "Used, L1",
        "share",
        hint="Bytes used / bytes fetched, with reuse in L1",
        meaning="Bytes used over bytes fetched, if L1 keeps what a warp fetched.",
    )
    hint: str = ""  # what is wrong, what helps, and how that is known
    reason: str = ""  # why nothing was counted, or not all
    file: str | None = None  # the file, from the home folder or from site-packages on; or the cell
    column: int | None = field(
        default=None, metadata=describe("Column", meaning="The column, from 1.")
    )
    shape: tuple[int, ...] = ()  # the block that a program moves
    element_bytes: int = field(
        default=0, metadata=describe("Element", "B", meaning="Bytes per element.")
    )
    programs: int = field(
        default=0,
        metadata=describe("Programs looked at", meaning="Sampled program instances of the grid."),
    )
    all_programs: int = field(
        default=0, metadata=describe("Programs", meaning="All program instances of the grid.")
    )
    lanes: tuple[int, ...] = ()  # one instruction: bytes by lane
    sector_bytes: int = field(
        default=0,
        metadata=describe(
            "Sector", "B", meaning="Sector size in bytes, the smallest memory transaction."
        ),
    )
    bases: Bases = ()  # who holds which element


@dataclass(frozen=True, slots=True)
class KernelLayout:
    """Which register, lane and warp hold which element of a tensor that a line works on.

    `conflicts` is how often more than once a wavefront waits for the banks of shared memory, as
    Triton counts it; None where it does not, and `note` says why.
    """

    kernel: str  # the kernel, by its id
    line: int | None  # the line, from 1
    op: str  # the operation of TTGIR
    shape: tuple[int, ...]  # the sizes of the tensor
    layout: str  # who holds which element, in words
    registers: int = field(metadata=describe("Registers", hint="Elements per thread"))
    lanes: int = field(metadata=describe("Lanes", meaning="Lanes of a warp."))
    warps: int = field(metadata=describe("Warps"))
    shared: str = ""  # the layout of the shared memory that it is read from or written to
    conflicts: int | None = number("Conflicts", hint="Bank conflicts of shared memory")
    note: str = ""  # why conflicts are not known
    text: str = ""  # the line itself
    file: str | None = None  # the file, from the home folder or from site-packages on; or the cell
    bases: Bases = ()  # who holds which element
