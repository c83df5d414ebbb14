"""What starting the kernels one by one costs, and what CUDA graphs change: a record of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.report.presenting import Presented, presenter

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


@dataclass(frozen=True)
class LaunchCosts:
    """What the model charges, in microseconds; `gpu_model.launches` has the sources.

    `kernel_us` and `library_us` are the CPU's for starting a Triton kernel from Inductor's program
    in Python, and for a library call; `graph_us` for a replay of a CUDA graph. No kernel takes the
    GPU less than `shortest_us`.
    """

    kernel_us: float = 6.8
    library_us: float = 8.0
    graph_us: float = 3.5
    shortest_us: float = 0.9


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One start of a kernel; times are microseconds from the start of the call.

    `part` is that of the table `cuda_graphs`, `in_graph` whether that part is recorded. `source`
    says where `device_us` is from: "measured", "bound" (the least time, by the roofline),
    "shortest" (that of any kernel), or "given". The kernel starts at `start_us` when launched by
    itself, at `graph_start_us` with CUDA graphs.
    """

    kernel: str
    name: str
    graph: str
    part: int
    in_graph: bool
    launch_us: float
    device_us: float
    source: str
    start_us: float
    graph_start_us: float


@dataclass(frozen=True, repr=False)
class Launches(Presented):
    """One call with its kernels launched one by one, and with CUDA graphs; by a model, not run.

    `plain_us` and `graph_us` are the time until the last kernel ends, `host_us` and
    `graph_host_us` what of it the CPU spends on starting them. `copied_bytes` are copied before
    the replays; None where that is not known. The spans are when the CPU starts and ends each
    launch; `replays` is the number of CUDA graphs.
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
        """The kernels alone."""
        return sum(row.device_us for row in self.rows)

    @property
    def in_a_row_us(self) -> float:
        """Launches and kernels added up, as if each launch waited for the kernel before."""
        return sum(row.launch_us + row.device_us for row in self.rows)

    @property
    def saved(self) -> float:
        """The part of `plain_us` that CUDA graphs save; negative where they cost time."""
        return 1 - self.graph_us / self.plain_us if self.plain_us else 0.0

    def frame(self) -> pandas.DataFrame:
        """A row for each start of a kernel, in their order."""
        return presenter().rows_frame(self.rows, KernelLaunch)

    def plot(self) -> matplotlib.figure.Figure:
        """What CPU and GPU do during the call, without CUDA graphs and with them."""
        return presenter().plot(self)
