"""The time of one call on its GPU, by the calibrated model: kernels, library calls, launches.

Each kernel is modelled by its work (`workbench.analysis.kernel_time`), never below its bound; a
measured one keeps its measured time. The launches are those of
`workbench.analysis.gpu_model.launches`.

The interval: kernels of one kind are off alike, so that their errors add up; products,
convolutions, attention and what moves memory are off each for itself, so that theirs are joined as
the sides of a right angle. Launches take up to what the slowest host took that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.forecast.forecast_rows import KernelForecast as KernelForecast
from workbench.analysis.forecast.forecast_rows import LineForecast as LineForecast
from workbench.analysis.forecast.forecast_rows import ModuleForecast as ModuleForecast
from workbench.analysis.forecast.forecast_rows import join_errors as join_errors
from workbench.analysis.forecast.forecast_rows import list_lines, list_modules
from workbench.analysis.forecast.network_waits import NetworkWaits, find_waits
from workbench.analysis.forecast.record_work import PROFILED as PROFILED
from workbench.analysis.forecast.record_work import RecordedWork as RecordedWork
from workbench.analysis.forecast.record_work import read_record_work as read_record_work
from workbench.analysis.forecast.record_work import time_operator as time_operator
from workbench.analysis.forecast.record_work import time_record_kernel
from workbench.analysis.gpu_model.launches import LaunchCosts, Launches, launches
from workbench.analysis.kernel_time.kernel_time import KernelTime
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report
from workbench.report.cluster.cluster_rows import NETWORK
from workbench.report.machine_rows import KernelRoofline
from workbench.report.presenter import Presented, presenter
from workbench.report.table import Table
from workbench.settings import Settings
from workbench.specs import Catalogue, Gpu

if TYPE_CHECKING:
    import pandas

MISSING = (
    "guards and the rest of the call's Python, pauses between kernels, copies from and to the "
    "host, the first calls"
)
"""What no forecast holds."""
_SLOW_HOST = LaunchCosts(kernel_us=22.0, library_us=22.0)
"""The host of an H100, as `workbench.analysis.gpu_model.launches` says."""


@dataclass(frozen=True, repr=False)
class Forecast(Presented):
    """One call on a GPU by a model, in µs; nothing was run.

    `call_us` is until the last kernel ends, launched as the record says: one by one, or as the
    CUDA graphs that torch records. It lies between `least_us` and `most_us` as often as the
    measured errors say, about four times of five; `most_us` is None where the error of a kernel
    is not known (its GPU was not measured, or the model does not know it), and `least_us` is
    then by its bound. In both are the waits for collectives on the network, by NCCL's own model:
    `waits` has them apart. `graph_us` is with CUDA graphs, `kernels_us` the device alone with its
    relative `error`, `launches_us` what the CPU takes to start them. `missing` says what is not
    in it.
    """

    target: str
    rows: tuple[KernelForecast, ...]
    call_us: float
    least_us: float
    most_us: float | None
    graph_us: float
    launches_us: float = 0.0
    is_graphed: bool = False
    notes: tuple[str, ...] = ()
    missing: str = MISSING
    waits: NetworkWaits = field(default_factory=NetworkWaits)
    report: Report = field(default_factory=Report, repr=False, compare=False)

    @property
    def kernels_us(self) -> float:
        """The kernels alone, added up."""
        return sum(row.us for row in self.rows)

    @property
    def bound_us(self) -> float:
        """The least that the kernels can take by the roofline, as far as it is known."""
        return sum(row.bound_us or 0.0 for row in self.rows)

    @property
    def error(self) -> float | None:
        """The relative error of `kernels_us`; None where that of a kernel is not known."""
        return join_errors((row, 1.0) for row in self.rows)

    @property
    def sentence(self) -> str:
        """The time of the call with its interval, that of the kernels, and their bound."""
        return presenter().sentences(self)[0]

    @checked
    def frame(self, name: str = "kernels") -> pandas.DataFrame:
        """The `"kernels"` in their order, the `"lines"`, or the `"modules"`; raises `UsageError`.

        A kernel is shared among its lines, and among its modules, in proportion to sizes.
        """
        if name == "kernels":
            return presenter().rows_frame(self.rows, KernelForecast)
        if name == "lines":
            return presenter().rows_frame(self.lines, LineForecast)
        if name == "modules":
            return presenter().rows_frame(self.modules, ModuleForecast)
        raise UsageError(f"There is no table {name!r}: ask for 'kernels', 'lines' or 'modules'.")

    @property
    def lines(self) -> list[LineForecast]:
        """The lines with what they call, the costliest first."""
        return list_lines(self.report, self.rows)

    @property
    def modules(self) -> list[ModuleForecast]:
        """The modules as a tree in the order of the program, the call as its root."""
        return list_modules(self.report, self.rows)

    @property
    def how_far(self) -> str:
        """The error of the kernels in words."""
        if self.error is None:
            return "error not measured"
        return f"± {number_text(self.error, 'percent')}"

    def time_kernels(self) -> Report:
        """The record with the times of this forecast in the place of measured ones."""
        times = {row.kernel: row.us for row in self.rows}
        kernels = [replace(kernel, time_us=times[kernel.id]) for kernel in self.report.kernels]
        table = Table.of(Kernel, kernels)
        return replace(self.report, tables={**self.report.tables, "kernels": table})

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A self-contained page, written to `path` when given; without one its text."""
        return presenter().page(self, path)


def forecast(report: Report) -> Forecast:
    """The forecast of a compilation for the GPU that it is for.

    Raises `UsageError` for a record without kernels on a GPU, or of one that is not known.
    """
    gpu = _find_gpu(report)
    rows = tuple(list_kernels(report, gpu, {row.kernel: row for row in report.own_roofline}))
    costs = LaunchCosts()
    waits = find_waits(report, sum(row.us for row in rows), join_errors((r, 1.0) for r in rows))
    middle = _launch(report, rows, costs, waits.by_kernel)
    is_graphed = any(part.verdict == "recorded" for part in report.cuda_graphs)
    call_us = _time_call(middle, is_graphed=is_graphed)
    least_us, most_us = _find_interval(report, rows, waits, call_us, is_graphed=is_graphed)
    return Forecast(
        target=gpu.name,
        rows=rows,
        call_us=call_us,
        least_us=least_us,
        most_us=most_us,
        graph_us=middle.graph_us,
        launches_us=middle.graph_host_us if is_graphed else middle.host_us,
        is_graphed=is_graphed,
        notes=tuple([*_list_notes(rows), *waits.notes, *middle.notes]),
        waits=waits,
        report=report,
    )


def _find_gpu(report: Report) -> Gpu:
    """The target of the record, or the GPU that its rooflines are of; one of the catalogue."""
    name = report.request.name or "The record"
    if not len(report.kernels):
        raise UsageError(
            f"{name} has no kernels on a GPU to forecast, no code was generated. Compile with "
            "target='h100' or another of wb.targets(); the GPU need not be here."
        )
    if any(kernel.language == "cpp" for kernel in report.kernels):
        raise UsageError(
            f"{name} was compiled for the CPU, and the model knows kernels on a GPU only. Compile "
            "with target='h100' or another of wb.targets(); the GPU need not be here."
        )
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    names = [report.request.target, *(row.target for row in report.own_roofline)]
    found = next((gpus[name] for name in names if name in gpus), None)
    if found is None:
        raise UsageError(
            f"{name} has kernels on a GPU that is none of wb.targets() ({report.request.target}): "
            "compile with target='h100' or another of them."
        )
    return found


def list_kernels(
    report: Report, gpu: Gpu, roofs: Mapping[str, KernelRoofline]
) -> Iterator[KernelForecast]:
    """Every kernel on a GPU, with its bounds there by kernel; a measured one keeps its time."""
    for kernel in report.kernels:
        row = KernelForecast(
            kernel=kernel.id,
            name=kernel.name,
            calls=max(kernel.calls, 1),
            lines=tuple(kernel.lines),
            language=kernel.language,
        )
        roof = roofs.get(kernel.id)
        if kernel.is_collective and kernel.time_us is None:
            yield replace(row, error=0.0, source="network", why=NETWORK)
            continue
        if roof is not None and roof.bound_us is not None:
            row = replace(row, bound_us=roof.bound_us * row.calls)
        if kernel.time_us is None:
            yield _take(row, time_record_kernel(report, kernel, gpu, roof))
        else:
            yield replace(row, us=kernel.time_us, error=0.0, source="measured", why="measured")


def _take(row: KernelForecast, made: KernelTime) -> KernelForecast:
    """The modelled time of all calls, else their bound."""
    if made.us is None:
        return replace(row, us=row.bound_us or 0.0, source="bound", why=made.because)
    us, why = made.us * row.calls, made.because
    return replace(row, us=us, error=made.error, source="modelled", why=why, kind=made.kind)


def _find_interval(
    report: Report,
    rows: Sequence[KernelForecast],
    waits: NetworkWaits,
    call_us: float,
    *,
    is_graphed: bool,
) -> tuple[float, float | None]:
    """What the call takes at least and at most; None where the error of a kernel is not known.

    Each kind of kernel is taken longer and shorter by its error while the others stay, since a
    launch can hide what a kernel takes. Where an error is not known, the least has that kernel at
    its bound, and all others as short as theirs allow. Waits for collectives are a kind more.
    """
    least_waits = waits.scale(waits.least_us)
    if any(row.error is None for row in rows):
        least = [replace(row, us=(row.bound_us or 0.0) if row.error is None
                         else row.us * (1 - row.error)) for row in rows]  # fmt: skip
        made = _launch(report, least, LaunchCosts(), least_waits)
        return _time_call(made, is_graphed=is_graphed), None
    slow_host = _launch(report, rows, _SLOW_HOST, waits.by_kernel)
    slow = _time_call(slow_host, is_graphed=is_graphed)
    shorter, longer = [0.0], [slow - call_us]
    for kind in {row.kind for row in rows if row.error}:
        for side, found in ((-1, shorter), (1, longer)):
            changed = [
                replace(row, us=row.us * (1 + side * (row.error or 0.0)))
                if row.kind == kind
                else row
                for row in rows
            ]
            made = _launch(report, changed, LaunchCosts(), waits.by_kernel)
            found.append(_time_call(made, is_graphed=is_graphed) - call_us)
    most_us = waits.us if waits.most_us is None else waits.most_us
    for own, found in ((least_waits, shorter), (waits.scale(most_us), longer)):
        made = _launch(report, rows, LaunchCosts(), own)
        found.append(_time_call(made, is_graphed=is_graphed) - call_us)
    if not waits.by_kernel:  # no kernel is known to wait: it comes on top
        longer.append(most_us)
    least_us = max(call_us - math.hypot(*shorter), 0.0)
    return least_us, None if waits.most_us is None else call_us + math.hypot(*longer)


def _launch(
    report: Report,
    rows: Sequence[KernelForecast],
    costs: LaunchCosts,
    waits: Mapping[str, float],
) -> Launches:
    """The call with these times of its kernels, and waits where they stand."""
    times = {row.kernel: row.us + waits.get(row.kernel, 0.0) for row in rows}
    kernels = [replace(kernel, time_us=times[kernel.id]) for kernel in report.kernels]
    table = Table.of(Kernel, kernels)
    return launches(replace(report, tables={**report.tables, "kernels": table}), costs)


def _time_call(made: Launches, *, is_graphed: bool) -> float:
    return made.graph_us if is_graphed else made.plain_us


def _list_notes(rows: Sequence[KernelForecast]) -> Iterator[str]:
    """What is to be known of it: kernels without a model, GPUs without measurements."""
    missing = [row for row in rows if row.source == "bound"]
    if missing:
        names = list(dict.fromkeys(row.name for row in missing))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield (
            f"{plural(len(missing), 'kernel')} that the model does not know: at their bound, which "
            f"is too low ({', '.join(names[:3])}{more})"
        )
    reason = next((row.why for row in rows if row.source == "modelled" and row.error is None), "")
    if reason:
        yield reason.partition(";")[0]


def find_forecast(report: Report) -> Forecast | None:
    """The forecast of a record that can have one, made once."""
    return report.once(_try)


def _try(report: Report) -> Forecast | None:
    try:
        return forecast(report)
    except UsageError:
        return None
