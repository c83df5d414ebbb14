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
    """The code of a kernel at one stage, in one configuration (`k0:c0`), without debug information.

    `lines` are runs with their line in the kernel's source, Triton or C++. Code of an inlined
    helper counts for the line that calls it; `inlined` has it as (first, last, file, line) of the
    helper. `ptx` maps runs of SASS to lines of the PTX. `note` has the reason why a text is
    missing.
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
    """A possible difference between code for a virtual GPU and code compiled on the device.

    `file` and `line` are the line of the user's code that causes it.
    """

    topic: str  # its topic
    text: str  # the difference, in a sentence
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Resources:
    """Resource usage of a kernel in one configuration (`k0:c0`).

    Registers are per thread (on AMD vector and accumulation registers together), and so are the
    bytes of `stack`. Spills are instructions that store to the stack and load from it (on AMD
    registers, all under `spill_stores`). Shared memory is in bytes per block. `occupancy`, from 0
    to 1, `blocks` per multiprocessor and their `limiter` follow from the limits of the device,
    without a run, so `estimate` is True.
    """

    kernel: str  # the kernel, by its id
    config: str  # the configuration, by its id
    choice: str  # "XBLOCK=128"
    warps: int = field(metadata=describe("Warps"))
    stages: int = field(metadata=describe("Stages"))
    registers: int | None = number("Registers")
    scalar_registers: int | None = None  # scalar registers of a warp, on AMD
    spill_stores: int | None = None
    spill_loads: int | None = None  # instructions that reload spilled registers
    stack: int | None = number("Stack", "B")
    smem_static: int | None = None  # shared memory that is fixed in the code
    smem_dynamic: int | None = None  # shared memory that is requested at launch
    instructions: int | None = number("Instructions")
    blocks: int | None = None
    occupancy: float | None = number("Occupancy", "share", source="model")
    limiter: str | None = None
    estimate: bool = True
    note: str | None = None  # a remark, such as why a value is missing

    @property
    def spills(self) -> int | None:
        """Spill stores and loads."""
        return None if self.spill_stores is None else self.spill_stores + (self.spill_loads or 0)

    @property
    def smem_bytes(self) -> int | None:
        """Bytes of shared memory per block."""
        if self.smem_static is None and self.smem_dynamic is None:
            return None
        return (self.smem_static or 0) + (self.smem_dynamic or 0)


@dataclass(frozen=True, slots=True)
class Launch:
    """Launches of one kernel in one configuration with the same grid and arguments.

    `arguments` are pairs of a name and a text: `float16[16, 16]` for a tensor, the value for a
    number. `is_timing` marks launches of an autotuner that times a configuration. `lines` is the
    `L:` id of the innermost line of the user's code, for the first launch.
    """

    kernel: str  # the kernel, by its id
    config: str  # the configuration, by its id
    grid: tuple[int, ...]  # blocks in each dimension; none if the log does not have it
    count: int = field(metadata=describe("Launches"))
    arguments: tuple[tuple[str, str], ...] = ()
    stream: int | None = None  # the stream, by its number
    is_timing: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelRoofline:
    """A kernel under the roofline of a GPU (`workbench.analysis.gpu_model.roofline`), for one call.

    `target` is the GPU's name. Bytes are DRAM traffic, each byte once; `asked_bytes` are those
    that the program instances of a checked kernel request, counted again for repeated reads.
    `flops` are operations as in `Kernel`; `rate_tflops` is 10^12 operations per second of `rate`,
    such as "matrix.bf16". Intensity and ridge are operations per byte. `bound_us` is the roofline
    time in µs, `measured_us` a measured time. `note` has the reason why a number is missing;
    `bound_us` then follows from the other number.
    """

    kernel: str  # the kernel, by its id
    target: str
    moved_bytes: int | None = number("Moved", "B", source="model")  # each byte moved once
    asked_bytes: int | None = number(
        "Asked", "B", "Bytes requested by the program instances, in a checked run"
    )
    flops: int | None = number("FLOP", "amount")
    rate: str | None = None
    rate_tflops: float | None = None
    bandwidth_gbs: float | None = None  # the bandwidth of the GPU, in 10^9 bytes per second
    intensity: float | None = number("Per byte", "amount", source="model")  # operations per byte
    ridge: float | None = None  # operations per byte above which arithmetic is the bound
    bound: str | None = None  # "memory" or "compute"
    bound_us: float | None = number("Least (est.)", "us", f"{LEAST}, an estimate", source="model")
    attainable_tflops: float | None = None  # the rate that the roofline allows at its intensity
    measured_us: float | None = number("Measured", "us", source="measured")
    estimate: bool = True  # from limits of the device or a model: nothing was run
    note: str | None = None


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One kernel on one GPU of an architecture matrix; its code is `config` in `assembly`.

    Counts are as in `Resources`, `spills` are stores and loads together. They are comparable
    between GPUs of one `vendor`, which is empty in older reports. `bound` and `bound_us` are as in
    `KernelRoofline`; `modelled_us` is as in `wb.forecast`, independent of the code. `note` has the
    reason why the kernel has no code for that GPU.
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
    blocks: int | None = None  # resident blocks per multiprocessor
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
    modelled_error: float | None = None  # relative, None if that GPU was not measured


@dataclass(frozen=True, slots=True)
class RankedConfig:
    """One configuration of a kernel in a static sweep: compiled, not run, and ranked by a model.

    `model_us` is its modelled time in µs, `rank` its position from 1, `rejection` what is against
    it, in words ("spills 12 registers"). With a prior it is ranked by `placed_us`.
    """

    kernel: str  # the kernel, by its id
    target: str  # the GPU, by its name
    choice: str  # the configuration in words, such as "XBLOCK=128"
    warps: int = field(metadata=describe("Warps"))
    stages: int = field(metadata=describe("Stages"))
    registers: int | None = number("Registers")
    spills: int | None = number("Spills")
    smem_bytes: int | None = number("Shared", "B")
    blocks: int | None = None  # resident blocks per multiprocessor
    occupancy: float | None = number("Occupancy (est.)", "share", "An estimate", source="model")
    limiter: str | None = None  # what limits the occupancy, such as registers
    model_us: float | None = number("Model", "us", "Modelled time", source="model")
    rank: int | None = number("Rank", "number", source="model")
    rejection: str | None = field(default=None, metadata={"former": "losing"})
    estimate: bool = True  # from limits of the device or a model: nothing was run
    note: str | None = None  # a remark, such as why a value is missing
    placed_us: float | None = number(
        "Model, prior", "us", "Modelled time, adjusted by other GPUs' best configs", source="model"
    )

    @property
    def ranked_us(self) -> float | None:
        """The µs that set its position."""
        return self.model_us if self.placed_us is None else self.placed_us


@dataclass(frozen=True, slots=True)
class CudaGraphPart:
    """A part of a program that becomes one CUDA graph, or none; on request.

    `verdict` is "recorded" (when it first runs), "skipped", or "depends" (on each call); `reason`
    has torch's words for it. `copied_bytes` are the inputs of the call that every replay copies
    first; parameters are not copied. `lines` are `L:` ids.
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
    """A bug, or a possible bug, in one line of a kernel: the first of `count` places.

    `programs` are the program instances concerned, at most 256, by their number along the grid.
    `case` is the difference from the given call, empty for that call itself.
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
    index: tuple[int, ...] = ()  # the element, by its index on each axis of the argument
    shape: tuple[int, ...] = ()  # its sizes
    program: tuple[int, ...] = ()  # the program instance, by its index on each grid axis
    lane: tuple[int, ...] = ()  # the element of the block
    other_line: int | None = None  # the line of the conflicting access
    other_program: tuple[int, ...] = ()  # the program instance of the conflicting access
    other_lane: tuple[int, ...] = ()  # the lane of the conflicting access
    count: int = field(
        default=1, metadata=describe("Places", meaning="Number of places with this bug.")
    )
    case: str = ""  # the difference from the given call; empty for that call
    programs: tuple[int, ...] = ()  # the program instances concerned
    by: str = ""  # another tool that reports it, with its release; empty for the own check


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """One kernel call that was run instrumented, and what was checked.

    Bytes are counted from its access log: `asked_bytes` are those that program instances request,
    `least_read_bytes` and `least_written_bytes` the distinct ones. An atomic counts as a write.
    They are not known for sampled runs.
    """

    kernel: str  # the kernel, by the name of its function
    case: str  # the difference from the given call; empty for that call
    verdict: str  # "passed", "failed", "not checked"; of others "nothing found", "contradicted"
    grid: tuple[int, ...]  # the program instances along each grid axis
    programs: int = field(metadata=describe("Programs", meaning="Program instances that were run."))
    judged: tuple[str, ...] = ()  # the kinds of bugs that were checked
    not_judged: tuple[str, ...] = ()  # the parts that were not checked, and why
    notes: tuple[str, ...] = ()  # notes for the reader
    seconds: float = field(
        default=0.0,
        metadata=describe(
            "Time", "s", source="measured", meaning="Duration of the run on a CPU, in seconds."
        ),
    )
    log_bytes: int = field(
        default=0, metadata=describe("Log", "B", meaning="Memory used by the access log.")
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
    operations: tuple[tuple[str, int], ...] = ()  # float operations by dtype, and of tl.dot
    by: str = ""  # another tool that checked it, with its release; empty for the own check


Bases = tuple[tuple[tuple[int, ...], ...], ...]
"""Of registers, lanes, warps and blocks: an element's place is the XOR of those of the set bits."""


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """Memory coalescing of one access of a line, for one argument, in all steps of a run.

    Addresses come from one run of the kernel on a CPU; layouts and instruction widths come from
    the compiled code. A sector of `sector_bytes` is the smallest memory transaction. Not counted:
    L1 and L2 hits, other warps, TMA, and operand loads of matrix units from shared memory.
    `reason` says why nothing was counted, or not all. `lanes` is one instruction, in bytes from
    the start of its first sector, -1 for an inactive lane.
    """

    kernel: str  # the kernel, by its id
    line: int | None  # the line, from 1
    text: str  # the line itself
    argument: str  # the argument whose memory it is
    kind: str  # "read", "write" or "atomic"
    bytes: int | None = number(
        "Bytes", "B", hint="Requested bytes", meaning="Bytes that all program instances request."
    )
    layout: str = ""  # the layout of the block, in words
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
        meaning="Bytes used over bytes fetched, if L1 keeps all fetched data.",
    )
    hint: str = ""  # the problem, the fix, and the evidence
    reason: str = ""  # why nothing was counted, or not all
    file: str | None = None  # the file, from the home folder or from site-packages on; or the cell
    column: int | None = field(
        default=None, metadata=describe("Column", meaning="The column, from 1.")
    )
    shape: tuple[int, ...] = ()  # the block that a program instance moves
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
    """The layout of a tensor in a line: the register, lane and warp of each element.

    `conflicts` are the extra wavefronts by bank conflicts of shared memory, as Triton counts them;
    None if it does not, with the reason in `note`.
    """

    kernel: str  # the kernel, by its id
    line: int | None  # the line, from 1
    op: str  # the operation of TTGIR
    shape: tuple[int, ...]  # the sizes of the tensor
    layout: str  # the layout in words
    registers: int = field(metadata=describe("Registers", hint="Elements per thread"))
    lanes: int = field(metadata=describe("Lanes", meaning="Lanes of a warp."))
    warps: int = field(metadata=describe("Warps"))
    shared: str = ""  # the layout of the shared memory that it is read from or written to
    conflicts: int | None = number("Conflicts", hint="Bank conflicts of shared memory")
    note: str = ""  # why conflicts are not known
    text: str = ""  # the line itself
    file: str | None = None  # the file, from the home folder or from site-packages on; or the cell
    bases: Bases = ()  # who holds which element
