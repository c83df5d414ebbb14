"""The time of one call on its GPU, by the calibrated model: kernels, library calls, launches.

Each kernel is modelled by its work (`workbench.analysis.calibrated`), never below its bound; a
measured one keeps its measured time. The launches are those of
`workbench.analysis.gpu_model.launches`. The interval takes every error in the same direction, since
kernels of one family are off alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.analysis.calibrated.modelled import Modelled, model_work
from workbench.analysis.forecast.record_work import describe_kernel
from workbench.analysis.gpu_model.launches import LaunchCosts, Launches, launches
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report
from workbench.report.presenter import Presented, presenter
from workbench.report.table import Table
from workbench.settings import Settings
from workbench.specs import Catalogue, Gpu

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class KernelForecast:
    """All calls of a kernel in one call of the program; µs on the device.

    `source`: "measured", "modelled", or "bound" where the model knows nothing of it. `error` is
    relative: four of five kernels that the fit had not seen lay within it; None of a bound.
    """

    kernel: str  # the kernel, by its id
    name: str  # its name
    calls: int
    us: float
    error: float | None
    source: str
    why: str
    lines: tuple[str, ...] = ()  # the lines that it computes, by their ids


@dataclass(frozen=True, repr=False)
class Forecast(Presented):
    """One call on a GPU by a model; nothing was run.

    `call_us` is until the last kernel ends, `least_us` and `most_us` with every error in one
    direction; `graph_us` is the call with CUDA graphs. `kernels_us` is the device alone.
    """

    target: str
    rows: tuple[KernelForecast, ...]
    call_us: float
    least_us: float
    most_us: float
    graph_us: float
    notes: tuple[str, ...] = ()

    @property
    def kernels_us(self) -> float:
        """The kernels alone, added up."""
        return sum(row.us for row in self.rows)

    @property
    def sentence(self) -> str:
        """The time of the call with its interval, and of the kernels in it."""
        call, least, most, kernels = (
            number_text(us * 1e-6, "seconds")
            for us in (self.call_us, self.least_us, self.most_us, self.kernels_us)
        )
        return (
            f"{call} ({least} to {most}) a call on {self.target}, by a model: "
            f"{plural(len(self.rows), 'kernel')} of {kernels}, the rest is launching them."
            if self.call_us > self.kernels_us
            else f"{call} ({least} to {most}) a call on {self.target}, by a model: "
            f"{plural(len(self.rows), 'kernel')}."
        )

    def __repr__(self) -> str:
        """The sentence, and what is to be known of it."""
        return "\n  ".join((self.sentence, *self.notes))

    def frame(self) -> pandas.DataFrame:
        """A row for each kernel, in their order."""
        return presenter().rows_frame(self.rows, KernelForecast)


def forecast(report: Report) -> Forecast:
    """The forecast of a compilation for the GPU that it is for.

    Raises `UsageError` for a record without kernels on a GPU.
    """
    gpu = _find_gpu(report)
    on_cpu = any(kernel.language == "cpp" for kernel in report.kernels)
    if gpu is None or on_cpu or not len(report.kernels):
        raise UsageError(
            f"{report.request.name} has no kernels on a GPU to forecast. Compile with "
            "target='h100' or another of wb.targets(); the GPU need not be here."
        )
    rows = list(_list_rows(report, gpu))
    middle = _launch(report, rows, 0.0)
    missing = [row for row in rows if row.source == "bound"]
    notes = [*middle.notes]
    if missing:
        notes.insert(
            0,
            f"{plural(len(missing), 'kernel')} that the model does not know: at their bound, which "
            "is too low",
        )
    return Forecast(
        target=gpu.name,
        rows=tuple(rows),
        call_us=middle.plain_us,
        least_us=_launch(report, rows, -1.0).plain_us,
        most_us=_launch(report, rows, 1.0).plain_us,
        graph_us=middle.graph_us,
        notes=tuple(notes),
    )


def _find_gpu(report: Report) -> Gpu | None:
    """The target of the record, or the GPU that its rooflines are of; one of the catalogue."""
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    names = [report.request.target, *(row.target for row in report.own_roofline)]
    return next((gpus[name] for name in names if name in gpus), None)


def _list_rows(report: Report, gpu: Gpu) -> Iterator[KernelForecast]:
    nodes = {node.id: node for node in report.nodes}
    bounds = {row.kernel: row.bound_us for row in report.own_roofline}
    for kernel in report.kernels:
        calls = max(kernel.calls, 1)
        if kernel.time_us is None:
            made = model_work(*describe_kernel(kernel, nodes, gpu), gpu)
            taken = _take(kernel, made, bounds.get(kernel.id))
        else:
            taken = (kernel.time_us, 0.0, "measured", "measured")
        yield KernelForecast(kernel.id, kernel.name, calls, *taken, tuple(kernel.lines))


def _take(
    kernel: Kernel, made: Modelled, bound_us: float | None
) -> tuple[float, float | None, str, str]:
    """The modelled time of all calls, else their bound."""
    calls = max(kernel.calls, 1)
    if made.us is None:
        return (bound_us or 0.0) * calls, None, "bound", made.why
    return max(made.us, bound_us or 0.0) * calls, made.error, "modelled", made.why


def _launch(report: Report, rows: Sequence[KernelForecast], side: float) -> Launches:
    """The call with these times, each changed by its error in one direction."""
    times = {row.kernel: row.us * (1 + side * (row.error or 0.0)) for row in rows}
    kernels = [replace(kernel, time_us=times[kernel.id]) for kernel in report.kernels]
    table = Table.of(Kernel, kernels)
    return launches(replace(report, tables={**report.tables, "kernels": table}), LaunchCosts())
