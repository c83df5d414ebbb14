"""The record of a measured call: times of each kernel, library call and eager operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.errors import ArtifactError, UsageError
from workbench.number_text import plural
from workbench.report.paired import PairedTimes
from workbench.report.presenter import presenter
from workbench.report.record import Report
from workbench.typed_data import read_row

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Machine:
    """Measured rates of this machine; bandwidth is a triad over arrays larger than its caches.

    `flops_per_s` is the rate of a float32 matmul on the host; None on a GPU, whose data sheet has
    it.
    """

    bytes_per_s: float
    threads: int
    clock_ns: float
    """What timing one call adds to its own reading; subtracted from every time."""
    flops_per_s: float | None = None


@dataclass(frozen=True)
class KernelTime:
    """One kernel or library call of the generated program; times are medians over the repeats."""

    name: str  # its name
    kernel: str | None  # the id of the kernel in the report
    program: int  # the generated program that calls it, from 0
    is_backward: bool  # whether it belongs to the backward
    calls: int
    time_us: float  # microseconds of all its calls together, the median
    spread_us: float  # between the quartiles
    share: float  # of the whole call
    least_us: float | None = None  # the least of the repeats: what nothing else disturbed
    bytes: int | None = None  # bytes that it reads and writes, by Inductor's model
    bytes_per_s: float | None = None  # these bytes by its time
    bandwidth_share: float | None = None  # of the machine's measured bandwidth


@dataclass(frozen=True)
class OperatorTime:
    """One operator of the eager call, over all its calls."""

    name: str  # the operator's name
    is_backward: bool  # whether it belongs to the backward
    calls: int
    time_us: float


MEASURED = "profile"
"""Where `Report.extra` keeps a `MeasuredCall`: numbers, and remarks on them."""
TIMED_BY = "timed_by"
"""Where it keeps which profile of a run the times of its kernels are from."""


@dataclass(frozen=True)
class MeasuredCall:
    """What a report keeps of the profile that its kernels' times are from.

    Times are medians in µs over `repeats` calls: of the whole call without any proxy, and of the
    original, None when there is none. `notes` say what to know of the inputs and the noise;
    `least_us` has, by kernel, the least time of its calls, where nothing else disturbed them.
    `bytes_per_s` and `flops_per_s` are those of the host, as in `Machine`; None in older records.
    """

    call_us: float
    call_spread_us: float
    eager_us: float | None
    repeats: int
    notes: tuple[str, ...] = ()
    least_us: Mapping[str, float] = field(default_factory=dict)
    bytes_per_s: float | None = None
    flops_per_s: float | None = None

    @property
    def quiet(self) -> bool:
        """Whether nothing in `notes` says that the times are too noisy to be compared."""
        return not any("noisy" in note for note in self.notes)


def read_measured_call(report: Report) -> MeasuredCall | None:
    """The call that the times of a report's kernels are from; None where nothing was measured."""
    kept = report.extra.get(MEASURED)
    if not isinstance(kept, Mapping):
        return None
    try:
        return read_row(MeasuredCall, kept)
    except ValueError as error:
        raise ArtifactError(f"The report is damaged (its measured call): {error}.") from error


def add_measured_call(report: Report, call: MeasuredCall) -> Report:
    """The report with what `read_measured_call` then gives."""
    return replace(report, extra={**report.extra, MEASURED: asdict(call)})


@dataclass(frozen=True)
class Profile:
    """Hold measured times of one call of the unchanged generated code.

    `call_us` is the whole call, including checks, measured without proxies. `eager_us` is the same
    of eager, None without one. `against_eager` has both in interleaved runs, eager first, with the
    verdict. `kernels_us` is the sum of `kernels`. The rest of the call is Python: checks,
    allocation, and the program between the kernels.
    """

    kernels: tuple[KernelTime, ...]
    operators: tuple[OperatorTime, ...]
    machine: Machine
    call_us: float
    call_spread_us: float
    eager_us: float | None
    repeats: int
    report: Report = field(repr=False)
    notes: tuple[str, ...] = ()
    against_eager: PairedTimes | None = None

    @property
    def kernels_us(self) -> float:
        """The time inside kernels and library calls."""
        return sum(row.time_us for row in self.kernels)

    @property
    def quiet(self) -> bool:
        """Whether nothing in `notes` says that the times are too noisy to be compared."""
        return not any("noisy" in note for note in self.notes)

    @checked
    def frame(self, name: str = "kernels") -> pandas.DataFrame:
        """Return the `kernels` or the `operators` as a DataFrame, ordered by first call."""
        if name == "kernels":
            return presenter().rows_frame(self.kernels, KernelTime)
        if name == "operators":
            return presenter().rows_frame(self.operators, OperatorTime)
        raise UsageError(f"Table {name!r} does not exist; choose 'kernels' or 'operators'.")

    def __repr__(self) -> str:
        """A short stable summary: no times."""
        inside = [self.report.request.name or "?", plural(len(self.kernels), "kernel")]
        if self.operators:
            inside.append(plural(len(self.operators), "eager operator"))
        return f"Profile({', '.join(inside)})"
