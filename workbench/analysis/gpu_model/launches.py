"""A model of the launch overhead of a call, and of the saving by CUDA graphs; not measured here.

The CPU starts one kernel after the other and does not wait for them; the GPU runs them in order:

    launched(i) = launched(i-1) + cost of a launch
    start(i)    = later of launched(i), end(i-1)

So launches cost time only where the GPU would have to wait for the CPU. With CUDA graphs the CPU
starts a whole part at once, after copying the inputs that are not where the graph expects them:
one more launch, which reads and writes them once at the bandwidth of the memory. A kernel on the
CPU waits for everything before it and is not counted itself.

The time of a kernel is the measured one where there is one, else its bound in `roofline`, which is
too low; what CUDA graphs save is then too high. Not in the model, because they are the same with
and without CUDA graphs or no source is known: guards and the rest of a call's Python (tens of µs),
checks of addresses before a replay, pauses between kernels on the GPU, the first calls, which
record.

Where the defaults of `LaunchCosts` are from; each was measured on another machine than yours:

    kernel_us    6.8  a kernel without arguments, with 19 of them 9.1: github.com/meta-pytorch/
                      tritonbench/pull/1017, row nop_inductor_per_kernel, GB200, 2026
    library_us   8    torch.add of 512 x 512, launched without waiting: github.com/flagos-ai/
                      Torch-FL/pull/27, A100, 2026
    graph_us     3.5  the CPU's part of a replay of 80 kernels: cuda.juliagpu.org/dev/usage/graphs
    shortest_us  0.9  the same replay: 70 µs for 80 small kernels

Your host may take longer. On the host of an H200 (torch 2.11), a call of 200 small kernels took
4485 µs, 20.5 µs per launch, and 451 µs as one CUDA graph: 90 % less. With the measured times of the
kernels, the model predicts 1483 µs and 73 % less (`tests/gpu/gpu.json`). For a profiled call the
notes compare the measured time with the model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import inf
from numbers import Real
from typing import TYPE_CHECKING

from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report
from workbench.report.presenter import Presented, presenter
from workbench.report.profile_record import read_measured_call
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

_WHOLE = (
    "compiled without CUDA graphs, so the whole program counts as one graph; "
    "mode='reduce-overhead' shows which parts torch records"
)
_LEAST = "no kernel was measured: with roofline times, this is the largest possible saving"
_SOME_LEAST = "some kernels were not measured: their times are roofline bounds"
_CPU = "CPU"
_ON_CPU = "kernels on the CPU wait for the GPU and are not counted"


@dataclass
class _Clock:
    """When the CPU has launched what it had to, and when the GPU is done."""

    host: float = 0.0
    device: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)  # of the CPU, without waiting

    @property
    def spent(self) -> float:
        return sum(end - start for start, end in self.spans)

    def launch(self, cost_us: float) -> None:
        self.spans.append((self.host, self.host + cost_us))
        self.host += cost_us

    def run(self, device_us: float) -> float:
        start = max(self.host, self.device)
        self.device = start + device_us
        return start


def launches(report: Report, costs: LaunchCosts) -> Launches:
    """The model for a compilation for a GPU.

    Raises `UsageError` for a report without kernels on a GPU.
    """
    if report.request.kind == KERNEL_LOG:
        raise UsageError(
            f"{report.request.name} is a kernel log, which records neither the launches of one "
            "call nor times. Use frame('launches') for the launches in the log."
        )
    rows = list(_rows(report, costs))
    if report.request.kind == OWN_KERNEL and not any(row.device_us for row in rows):
        raise UsageError(
            f"The traffic and operations of {report.request.name} are not known yet; run "
            "k.check(…) to count them."
        )
    devices = {node.device for node in report.scheduler_nodes if node.device}
    is_cpu = bool(devices) and all(device.startswith("cpu") for device in devices)
    if is_cpu or not any(row.device_us for row in rows):
        raise UsageError(
            f"{report.request.name} has no GPU kernels to launch. Compile with target='h100' or "
            "another GPU from wb.targets(); this machine needs no GPU."
        )
    parts = list(report.cuda_graphs)
    recorded = [part for part in parts if part.verdict == "recorded"]
    copied = {(part.graph, part.part): part.copied_bytes or 0 for part in recorded}
    rates = [row.bandwidth_gbs for row in report.own_roofline if row.bandwidth_gbs]
    simulated = _simulated(report.request.target, rows, costs, copied, rates[0] if rates else None)
    is_known = bool(parts) and all(part.copied_bytes is not None for part in recorded)
    total = sum(copied.values()) if is_known else None
    notes = (*_notes(rows, bool(parts)), *_measured(report, simulated, is_graphed=bool(recorded)))
    return replace(simulated, copied_bytes=total, notes=notes)


def tell_kernels(ids: Iterable[str]) -> str:
    """`27 kernels, started 45 times`: of the kernel of each start, which is one however often."""
    starts = list(ids)
    kernels = len(set(starts))
    often = f", started {plural(len(starts), 'time')}" if len(starts) > kernels else ""
    return plural(kernels, "kernel") + often


def tell_kernels_of(report: Report) -> str:
    """The same of the kernels of one call."""
    return tell_kernels(id for row in report.kernels for id in [row.id] * max(row.calls, 1))


_TIMES = "expected one or more kernel times in microseconds, each finite and not negative"


def of_times(times_us: Sequence[float], costs: LaunchCosts) -> Launches:
    """The model for kernels that take the GPU so many microseconds each, as one CUDA graph.

    Raises `UsageError` for a time that is negative, or without any.
    """
    if not times_us:
        raise UsageError(f"x is {shown(times_us)}: {_TIMES}.")
    for us in times_us:
        is_number = isinstance(us, Real) and not isinstance(us, bool)
        if not is_number or not 0 <= us < inf:
            raise UsageError(f"x has {shown(us)}: {_TIMES}.")
    rows = [
        KernelLaunch(f"k{n}", "", "", 0, True, costs.kernel_us, float(us), "given", 0, 0)
        for n, us in enumerate(times_us)
    ]
    return _simulated("", rows, costs, {("", 0): 0}, None)


def _simulated(
    target: str,
    rows: Sequence[KernelLaunch],
    costs: LaunchCosts,
    copied: Mapping[tuple[str, int], int],
    bandwidth_gbs: float | None,
) -> Launches:
    plain, graphed = _Clock(), _Clock()
    starts = [_single(plain, row) for row in rows]
    graph_starts: list[float] = []
    replays = 0
    for part, group in groupby(rows, key=lambda row: (row.graph, row.part)):
        members = list(group)
        if not members[0].in_graph:
            graph_starts += [_single(graphed, row) for row in members]
            continue
        if copied.get(part) and bandwidth_gbs:
            graphed.launch(costs.library_us)
            graphed.run(max(2 * copied[part] / bandwidth_gbs / 1e3, costs.shortest_us))
        graphed.launch(costs.graph_us)
        replays += 1
        graph_starts += [graphed.run(row.device_us) for row in members]
    return Launches(
        target=target,
        rows=tuple(
            replace(row, start_us=start, graph_start_us=later)
            for row, start, later in zip(rows, starts, graph_starts, strict=True)
        ),
        costs=costs,
        plain_us=plain.device,
        graph_us=graphed.device,
        host_us=plain.spent,
        graph_host_us=graphed.spent,
        replays=replays,
        host_spans=tuple(plain.spans),
        graph_host_spans=tuple(graphed.spans),
    )


def _single(clock: _Clock, row: KernelLaunch) -> float:
    if row.source == _CPU:  # the CPU first waits for the GPU
        clock.host = clock.device = max(clock.host, clock.device)
        return clock.host
    clock.launch(row.launch_us)
    return clock.run(row.device_us)


def _rows(report: Report, costs: LaunchCosts) -> Iterator[KernelLaunch]:
    """Every start of a kernel: in the order of the record, one that is called again beside it."""
    bounds = {row.kernel: row.bound_us for row in report.own_roofline}
    parts = list(report.cuda_graphs)
    places = {id: (p.part, p.verdict == "recorded") for p in parts for id in p.kernels}
    for kernel in report.kernels:
        on_cpu = kernel.language == "cpp"
        part, is_recorded = places.get(kernel.id, (0, not parts))
        device_us, source = (0.0, _CPU) if on_cpu else _time(kernel, bounds, costs)
        launch_us = costs.library_us if kernel.language == "extern" else costs.kernel_us
        row = KernelLaunch(
            kernel=kernel.id,
            name=kernel.name,
            graph=kernel.graph,
            part=part,
            in_graph=is_recorded and not on_cpu,
            launch_us=0.0 if on_cpu else launch_us,
            device_us=device_us,
            source=source,
            start_us=0.0,
            graph_start_us=0.0,
        )
        yield from [row] * max(kernel.calls, 1)


def _time(
    kernel: Kernel, bounds: Mapping[str, float | None], costs: LaunchCosts
) -> tuple[float, str]:
    if kernel.time_us is not None:
        return kernel.time_us / max(kernel.calls, 1), "measured"
    bound = bounds.get(kernel.id) or 0.0
    return (bound, "bound") if bound > costs.shortest_us else (costs.shortest_us, "shortest")


def _notes(rows: Sequence[KernelLaunch], is_recorded: bool) -> Iterator[str]:
    if not is_recorded:
        yield _WHOLE
    sources = {row.source for row in rows}
    if "measured" not in sources:
        yield _LEAST
    elif sources - {"measured", _CPU}:
        yield _SOME_LEAST
    if _CPU in sources:
        yield _ON_CPU


def _measured(report: Report, simulated: Launches, *, is_graphed: bool) -> Iterator[str]:
    """The measured call compared with the model, and the longest possible launch."""
    call = read_measured_call(report)
    if call is None:
        return
    if not is_graphed:
        launch_us = number_text(call.call_us / len(simulated.rows) / 1e6, "seconds")
        yield (
            f"measured: a call takes {number_text(call.call_us / 1e6, 'seconds')}, "
            f"{number_text(call.call_us / simulated.plain_us, 'amount')}× the modelled time; a "
            f"launch takes at most {launch_us}, including the rest of the call's Python code"
        )
    yield from call.notes


@dataclass(frozen=True)
class LaunchCosts:
    """Costs in the model, in microseconds; the module's docstring has the sources.

    `kernel_us` and `library_us` are CPU time: to launch a Triton kernel from Inductor's Python
    program, and for a library call. `graph_us` is for a replay of a CUDA graph. No kernel takes
    less GPU time than `shortest_us`.
    """

    kernel_us: float = 6.8
    library_us: float = 8.0
    graph_us: float = 3.5
    shortest_us: float = 0.9


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One kernel launch; times are microseconds from the start of the call.

    `part` is that of the table `cuda_graphs`, `in_graph` whether that part is recorded. `source`
    says where `device_us` is from: "measured", "bound" (roofline time), "shortest" (minimum of any
    kernel), or "given". The kernel starts at `start_us` when launched separately, at
    `graph_start_us` with CUDA graphs.
    """

    kernel: str  # the kernel that starts, by its id
    name: str  # its name
    graph: str  # the lowered graph, by its id
    part: int
    in_graph: bool
    launch_us: float  # microseconds that the CPU takes to start it
    device_us: float
    source: str
    start_us: float
    graph_start_us: float


@dataclass(frozen=True, repr=False)
class Launches(Presented):
    """One call with its kernels launched one by one, and with CUDA graphs; modelled, not run.

    `plain_us` and `graph_us` are the time until the last kernel ends. `host_us` and `graph_host_us`
    are the CPU's launch time in it. `copied_bytes` are copied before the replays; None if unknown.
    The spans are when the CPU starts and ends each launch; `replays` is the number of CUDA graphs.
    """

    target: str
    rows: tuple[KernelLaunch, ...]
    costs: LaunchCosts
    plain_us: float
    graph_us: float
    host_us: float
    graph_host_us: float
    copied_bytes: int | None = None
    replays: int = 0
    host_spans: tuple[tuple[float, float], ...] = ()
    graph_host_spans: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def device_us(self) -> float:
        """The total time of the kernels alone."""
        return sum(row.device_us for row in self.rows)

    @property
    def in_a_row_us(self) -> float:
        """The sum of launches and kernels, as if each launch waited for the previous kernel."""
        return sum(row.launch_us + row.device_us for row in self.rows)

    @property
    def saved(self) -> float:
        """The share of `plain_us` that CUDA graphs save; negative if they cost time."""
        return 1 - self.graph_us / self.plain_us if self.plain_us else 0.0

    def frame(self) -> pandas.DataFrame:
        """Return a row for each kernel launch, in order."""
        return presenter().rows_frame(self.rows, KernelLaunch)

    def plot(self) -> matplotlib.figure.Figure:
        """Plot CPU and GPU activity during the call, without and with CUDA graphs."""
        return presenter().plot(self)
