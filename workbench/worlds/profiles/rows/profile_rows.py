"""What is known of a profile as a whole, and the rows of its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.report.measures import LEAST, describe, number

Sizes = tuple[tuple[int | tuple[int, ...], ...], ...]
"""The sizes of each argument of an operator: of a list those of its tensors, of a number `()`."""

_DEVICE_US = describe("Time", "us", "Total device time of all calls", source="measured")
_SHARE = describe("Share", "share", "Fraction of the device's busy time", source="measured")
_START = describe("Start", "us", "Time since the first device work began", source="measured")


@dataclass(frozen=True)
class ProfileHeader:
    """What a profile is of, in µs: the device work whose launch it has.

    `source` is the file or folder, `device_name` what the trace calls the device, `gpu` that of
    `targets()`, empty where none fits. `busy_us` is the time in which any stream of the device
    worked, `total_us` that from the first to the last. Work without a launch was started before the
    profile began, or its launch was not recorded: it is only counted. `on_cpu`: there is no work of
    a device, and the operators of the CPU stand in its place, busy for their own time, of all
    threads together. `missing` are pairs: what the profile
    lacks, and the option of torch.profiler that records it. Of several ranks the times are those of
    `rank`. `likely_gpu` is the name to pass as `gpu=` where `gpu` is empty and one seems likely.
    """

    source: str = ""
    device_name: str = ""
    gpu: str = ""
    gpu_title: str = ""
    on_cpu: bool = False
    total_us: float = 0.0
    busy_us: float = 0.0
    idle_us: float = 0.0
    events: int = 0
    unlaunched: int = 0
    unlaunched_us: float = 0.0
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    has_shapes: bool = False
    has_stacks: bool = False
    has_memory: bool = False
    rank: int | None = None
    likely_gpu: str = ""


@dataclass(frozen=True, slots=True)
class RanKernel:
    """A kernel, copy or fill by its operator and shapes; times are µs on the device.

    `kind`: "kernel", "copy", "fill", or "operator" (its own time on the CPU, where there is no
    device). `does`, by its name: "product", "attention", "elementwise", "reduction", "copy",
    "collective" or "other". `module`, `line` are where most of its time was started, `modules` how
    many modules did; of a backward those of its forward. `grid`, `block`, `registers` and so on are
    those of the first call. `compile_id` is that of torch.compile, such as "0/1"; `graph_key` that
    of Inductor's cache; `kernel_hash` names the file that Inductor wrote. `bound_us`, `modelled_us`
    are of one call; None where nothing is known of it, `modelled_why` says what the time rests on
    or why there is none. `bound_by`: "arithmetic", "memory", "cache"; `operations` and
    `work_bytes` are what one call has to compute and to move at least.
    """

    id: str = ""  # its id, such as "K3"
    name: str = ""  # its name
    calls: int = number("Calls", default=0, meaning="Number of runs in the profile.")
    time_us: float = field(default=0.0, metadata=_DEVICE_US)
    share: float = field(default=0.0, metadata=_SHARE)
    operator: str = ""  # the operator that started it
    shapes: Sizes = ()  # of the inputs of the operator
    dtypes: tuple[str, ...] = ()  # of the inputs of the operator
    module: str = ""
    line: str = ""
    stream: int | None = None  # the stream of the device
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int | None = number("Registers", meaning="Registers per thread.")
    occupancy: float | None = number(
        "Occupancy", "share", "Estimate of the profiler", source="model"
    )
    bound_us: float | None = number("Bound", "us", f"{LEAST}, of one call", source="model")
    modelled_us: float | None = number(
        "Modelled", "us", "Time per call, from a calibrated model", source="model"
    )
    reached: float | None = number("Of its bound", "share", "Bound by measured", source="model")
    why_slow: str = ""  # why it is far from its bound, in a sentence
    compile_id: str = ""
    kernel_hash: str = ""
    kind: str = "kernel"
    is_backward: bool = False  # whether autograd started it
    least_us: float = number("Least", "us", "Its fastest call", default=0.0, source="measured")
    most_us: float = number("Most", "us", "Its slowest call", default=0.0, source="measured")
    modules: int = 0
    strides: Sizes = ()  # of the inputs of the operator
    inputs: tuple[str, ...] = ()  # the concrete ones: numbers and flags as text
    shared_bytes: int | None = number("Shared", "B", meaning="Shared memory per block.")
    moved_bytes: int | None = number("Bytes", "B", meaning="Bytes of one copy or fill.")
    graph_key: str = ""
    kernel_file: str = ""  # the file that Inductor wrote
    does: str = "other"
    bound_by: str = ""
    operations: int | None = number("FLOP", "amount", source="model")
    work_bytes: int | None = number("Moved", "B", "Minimum bytes moved per call", source="model")
    rank: int | None = None  # which rank it is of, where several were read
    modelled_error: float | None = number(
        "± of it", "share", "Error range that covered 4 of 5 unseen kernels", source="model"
    )
    modelled_why: str = ""


@dataclass(frozen=True, slots=True)
class ModuleTime:
    """A module of the model in the tree of those that called it; times are µs on the device.

    `time_us` is with what it calls, `own_us` without; `backward_us` is the part of `time_us` that
    the backward took, by the operators of its forward. `host_us` is the time of its calls on the
    CPU. Outside of all modules the name is empty.
    """

    id: str = ""  # its id
    parent: str = ""  # the id of the module that called it
    name: str = ""  # its path in the model
    depth: int = 0  # how many modules are around it
    calls: int = number("Calls", default=0, meaning="Number of calls in the profile.")
    time_us: float = field(default=0.0, metadata=_DEVICE_US)
    own_us: float = number(
        "Own", "us", "Time excluding called modules", default=0.0, source="measured"
    )
    share: float = field(default=0.0, metadata=_SHARE)
    backward_us: float = number(
        "Backward", "us", "Time spent in the module's backward pass", default=0.0, source="measured"
    )
    kernels: int = number("Kernels", default=0, meaning="Number of kernels, copies and fills.")
    host_us: float = number("Host", "us", "On the CPU", default=0.0, source="measured")
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class LineTime:
    """A function of the program by its file and line; times are µs on the device.

    The line is where torch.profiler saw the function begin: it records no finer. `time_us` is with
    what it calls, `own_us` what it started itself or through torch.
    """

    line: str = ""  # file:line, as it is shown
    function: str = ""  # its name
    calls: int = number("Calls", default=0, meaning="Number of calls in the profile.")
    time_us: float = field(default=0.0, metadata=_DEVICE_US)
    own_us: float = number(
        "Own", "us", "Time excluding called functions", default=0.0, source="measured"
    )
    share: float = field(default=0.0, metadata=_SHARE)
    kernels: int = number("Kernels", default=0, meaning="Number of kernels, copies and fills.")
    host_us: float = number("Host", "us", "On the CPU", default=0.0, source="measured")
    file: str = ""  # the whole path of the file
    rank: int | None = None  # which rank it is of, where several were read


Cause = Literal[
    "launch",
    "synchronisation",
    "data loading",
    "first launch",
    "Python",
    "memcpy",
    "collective",
    "allocation",
    "another process",
    "another stream",
    "between kernels",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which no stream of the device worked, and why.

    "launch": the CPU launched the next kernel too late. "synchronisation": it had waited for the
    device, at `line`, and launched only then. "data loading", "memcpy", "allocation": it did that
    meanwhile. "first launch": the driver loaded the code of a kernel. "Python": the CPU was outside
    torch's operators. "another process": it waited for another thread or process, such as a queue.
    "between kernels": the next one was launched in time; "collective": so was this, and one of the
    two is a collective. "another stream": it was, and its stream waited for another one, or work
    ran that was launched before the profile. "unknown": it was, and began much later.

    `parts` divides the time among its causes, largest first: each with its µs and its line. `cause`
    is the first of them. `before` and `after` are kernels by their ids.
    """

    start_us: float = field(default=0.0, metadata=_START)
    duration_us: float = number(
        "Idle", "us", "Time with no active stream", default=0.0, source="measured"
    )
    cause: str = "unknown"  # what the device waited for
    why: str = ""  # the same in a sentence
    line: str = ""
    module: str = ""  # the module that was running
    before: str = ""
    after: str = ""
    rank: int | None = None  # which rank it is of, where several were read
    parts: tuple[tuple[str, float, str], ...] = ()

    def divide(self) -> tuple[tuple[str, float, str], ...]:
        """The parts; of a record without them the whole time is its cause's."""
        return self.parts or ((self.cause, self.duration_us, self.line),)


@dataclass(frozen=True, slots=True)
class StreamTime:
    """One stream of a device; `alone_us` is the time in which no other one worked.

    In `busy_us` it worked itself, from `first_us` to `last_us`, both since the device began.
    """

    device: int | None = None  # the number of the device
    stream: int | None = None  # its number, as the driver has it
    calls: int = number(
        "Calls", default=0, meaning="Number of kernels, copies and fills on the stream."
    )
    busy_us: float = number("Busy", "us", default=0.0, source="measured")
    alone_us: float = number(
        "Alone", "us", "Time during which no other stream is active", default=0.0, source="measured"
    )
    share: float = field(default=0.0, metadata=_SHARE)
    first_us: float = field(default=0.0, metadata=_START)
    last_us: float = number("End", "us", "Time since the first device work began", default=0.0)
    kinds: str = ""  # what ran on it
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """A collective of NCCL or RCCL by its bytes and group.

    `exposed_us` is the part of its time in which no other work of the device ran. `bytes` are those
    of one call on one rank; `bus_gbs` is the bandwidth of the links that the fastest call comes to,
    in 10^9 bytes per second, as nccl-tests count it. `model_us` is what a call takes by NCCL's own
    model with 8 GPUs on a node, None where the trace does not name the GPU and all ranks of the
    group: what is measured beyond it may be waiting for other ranks, links that others use, nodes
    of another size, or the error of the model.
    `kernel` is a row of `kernels` by its id.
    """

    name: str = ""  # what it is, such as all-reduce
    calls: int = number("Calls", default=0, meaning="Number of runs in the profile.")
    time_us: float = field(default=0.0, metadata=_DEVICE_US)
    exposed_us: float = number(
        "Exposed", "us", "Time with no other device work", default=0.0, source="measured"
    )
    bytes: int | None = number("Bytes", "B", meaning="Bytes per call and rank.")
    dtype: str = ""  # of its elements
    group: str = ""  # the ranks that take part
    group_size: int | None = number("Ranks", meaning="Number of ranks in the group.")
    bus_gbs: float | None = number(
        "Bus, GB/s",
        "amount",
        "Bus bandwidth of the fastest call, computed as in nccl-tests",
        source="measured",
    )
    model_us: float | None = number(
        "A call, modelled", "us", "By NCCL's cost model, with 8 GPUs per node", source="model"
    )
    kernel: str = ""
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class ProfiledStep:
    """A step of the profiler, of a server, or another annotation of the program.

    `kind`: "profiler step", "server step", "optimizer", "data loading" or "annotation". Times are
    µs; `device_us` is the busy time of the device work that was launched in it.
    """

    name: str = ""  # as the program calls it
    kind: str = "annotation"
    start_us: float = field(default=0.0, metadata=_START)
    host_us: float = number("Host", "us", "On the CPU", default=0.0, source="measured")
    device_us: float = field(default=0.0, metadata=_DEVICE_US)
    kernels: int = number("Kernels", default=0, meaning="Number of kernels, copies and fills.")
    launches: int = number(
        "Launches", default=0, meaning="Launch calls; a CUDA graph replay counts once."
    )
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """An allocation (negative: a release) and what is held after it, in bytes; `at_us` since start.

    `device` is "cpu" or the number of the GPU. Of very many the highest of each stretch are kept.
    """

    at_us: float = field(default=0.0, metadata=_START)
    bytes: int = number("Bytes", "B", default=0, meaning="Allocated bytes; negative if freed.")
    allocated: int | None = number("Allocated", "B", meaning="Total allocated bytes afterwards.")
    reserved: int | None = number("Reserved", "B", meaning="Device memory that torch reserves.")
    device: str = ""
    module: str = ""  # the module that was running
    line: str = ""  # where the program was
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """Calls of the driver that started work, by name; a replay of a CUDA graph is one.

    `delay_us` is the median from a launch to the start of its first kernel.
    """

    name: str = ""  # as the driver calls it
    calls: int = number("Calls", default=0, meaning="Number of calls.")
    kernels: int = number(
        "Kernels", default=0, meaning="Number of kernels, copies and fills that it launched."
    )
    host_us: float = number("Host", "us", "On the CPU", default=0.0, source="measured")
    delay_us: float = number("Until it runs", "us", "Median", default=0.0, source="measured")
    is_graph: bool = False  # whether it replays a CUDA graph
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """One run of a kernel, copy or fill, for a timeline; µs since the device began.

    It ran for `duration_us`. `launch_us` is when its launch began (None: not in the profile), on
    `thread`. `module` is a row of `modules` by its id, empty outside of all. Runs that one call of
    an operator started share `call`, -1 without an operator.
    """

    kernel: str = ""  # a row of `kernels` by its id
    start_us: float = field(default=0.0, metadata=_START)
    duration_us: float = number("Time", "us", default=0.0, source="measured")
    device: int | None = None  # the number of the device
    stream: int | None = None  # the stream of the device
    launch_us: float | None = None
    thread: str = ""
    module: str = ""
    line: str = ""  # where the program started it
    call: int = -1
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class HostSpan:
    """What a thread of the CPU did, for a timeline; µs since the device began.

    `kind`: "module", "annotation", "synchronisation", "region" (a compiled graph) or "operator" (an
    outermost one); it took `duration_us`. `depth` counts the spans of its thread around it.
    """

    thread: str = ""  # its name or number
    name: str = ""  # what it did
    kind: str = "module"
    start_us: float = field(default=0.0, metadata=_START)
    duration_us: float = number("Time", "us", default=0.0, source="measured")
    depth: int = 0
    rank: int | None = None  # which rank it is of, where several were read


@dataclass(frozen=True, slots=True)
class RankTime:
    """One file of a folder of ranks, in µs.

    From its first work to its last there are `total_us`; in `busy_us` any stream worked, in
    `idle_us` none. `began_us` is by the clock of its own machine.
    """

    rank: int | None = None  # which rank it is of, where several were read
    file: str = ""  # the file that was read
    device_name: str = ""  # the name of the GPU
    total_us: float = number("Total", "us", default=0.0, source="measured")
    busy_us: float = number("Busy", "us", default=0.0, source="measured")
    idle_us: float = number("Idle", "us", default=0.0, source="measured")
    collectives_us: float = number(
        "Collectives", "us", "Exposed: no other device work", default=0.0, source="measured"
    )
    began_us: float = 0.0


@dataclass(frozen=True, slots=True)
class ProfileOpportunity:
    """One thing to change, with the µs of the profile that it concerns.

    `kind`: "fusion", "sizes", "precision", "attention", "layout", "synchronisation", "launches",
    "data loading", "copies", "first launch", "Python", "another process", "allocation", "small
    batch", "collectives" or "slow links". `least_us`, `most_us` are what it would save by a model,
    None where nothing is known of it. `kernels` are ids of kernels, `gaps` places in the table of
    gaps, `line` is a line of the program. `code` is what to write. `of_us` is the time that it
    concerns.
    """

    kind: str = ""
    title: str = ""  # what to do, in a few words
    why: str = ""  # the reason, with its numbers
    code: str = ""
    of_us: float = field(default=0.0, metadata=describe("Of", "us", source="measured"))
    least_us: float | None = number("At least", "us", "Modelled saving", source="model")
    most_us: float | None = number("At most", "us", "Modelled saving", source="model")
    kernels: tuple[str, ...] = ()
    gaps: tuple[int, ...] = ()
    line: str = ""


@dataclass(frozen=True, slots=True)
class RecordedKernel:
    """A kernel of a record that ran in the profile as the row `kernel` of `kernels`.

    `record` is its id in the record, such as "k3", `of` which record that is where there are
    several. `lines` are lines of the program with their text, `line_ids` their ids in the record,
    `nodes` those of its graph, `operations` what is fused in it. `time_us` is the median of
    all its calls in one call of the program; None where it could not be told from others.
    """

    kernel: str = ""  # its row of `kernels` by id
    record: str = ""
    name: str = ""  # its name in the record
    is_backward: bool = False  # whether it is of the backward
    lines: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    time_us: float | None = number(
        "Time", "us", "Median time per call of the program", source="measured"
    )
    rank: int | None = None  # which rank it is of, where several were read
    of: str = ""
    line_ids: tuple[str, ...] = ()


PROFILE_TABLES: dict[str, type] = {
    "kernels": RanKernel,
    "modules": ModuleTime,
    "lines": LineTime,
    "gaps": Gap,
    "streams": StreamTime,
    "collectives": CollectiveTime,
    "steps": ProfiledStep,
    "memory": MemoryEvent,
    "launches": LaunchTime,
    "ranks": RankTime,
    "events": DeviceEvent,
    "host": HostSpan,
    "opportunities": ProfileOpportunity,
    "record": RecordedKernel,
}
"""Every table of a profile by name."""
