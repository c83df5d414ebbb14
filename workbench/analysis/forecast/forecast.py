"""The time of one call on its GPU, by the calibrated model: kernels, library calls, launches.

Each kernel is modelled by its work (`workbench.analysis.kernel_time`), never below its bound; a
measured one keeps its measured time. The launches are those of
`workbench.analysis.gpu_model.launches`.

The interval: errors of kernels of one kind are correlated and add up. Errors of matmuls,
convolutions, attention and memory-bound kernels are independent, and their squares add up. Launches
take up to the time on the slowest host that was measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.analysis.calls.call_tree import join_path, part_kernels, split_path
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
from workbench.report.collectives.collective_rows import (
    ERRORS,
    LEAST_CHECKED_BYTES,
    MOST_CHECKED_NODES,
    NETWORK,
    Collective,
    is_unplaced,
)
from workbench.report.machine_rows import KernelRoofline
from workbench.report.measures import number
from workbench.report.presenter import Presented, presenter
from workbench.report.rows import split_line
from workbench.report.table import Table
from workbench.settings import Settings
from workbench.specs import Catalogue, Gpu

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class NetworkWaits:
    """Exposed communication in µs, by the waiting kernel; `least_us` and `most_us` bound the total.

    `most_us` is None if a collective's time is unknown, or was never compared with a measurement.
    `est_us` is the total time of all collectives, exposed or not.
    """

    by_kernel: Mapping[str, float] = field(default_factory=dict)
    least_us: float = 0.0
    most_us: float | None = 0.0
    est_us: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def us(self) -> float:
        """All waits together."""
        return sum(self.by_kernel.values())

    def scale(self, whole_us: float) -> Mapping[str, float]:
        """The same waits, so much longer or shorter that they come to `whole_us`."""
        if not self.by_kernel:
            return {}
        if not self.us:
            return dict.fromkeys(self.by_kernel, whole_us / len(self.by_kernel))
        return {kernel: us * whole_us / self.us for kernel, us in self.by_kernel.items()}


def find_waits(report: Report, kernels_us: float, error: float | None) -> NetworkWaits:
    """Find a report's exposed communication; kernels take `kernels_us`, with relative `error`.

    A slower collective adds at most its own extra time to the exposed time. Faster kernels hide
    less of it, by at most the time that they save. The bounds follow from both together.
    """
    rows = list(report.collectives)
    if not rows:
        return NetworkWaits()
    estimated = [row for row in rows if row.est_us is not None]
    waits: defaultdict[str, float] = defaultdict(float)
    unsure = 0.0  # what may be hidden or not
    for row in estimated:
        exposed = 0.0 if is_unplaced(row) else row.exposed_us
        place = row.wait_kernel or row.kernel
        if exposed is None or place is None:
            exposed, unsure = row.est_us or 0.0, unsure + (row.est_us or 0.0)
        if place is not None:
            waits[place] += exposed
    exposed_us, est_us = sum(waits.values()), sum(row.est_us or 0.0 for row in estimated)
    hooked = sum(row.est_us or 0.0 for row in estimated if is_unplaced(row))
    off = sum((row.est_us or 0.0) * _find_error(row) for row in estimated if not is_unplaced(row))
    shorter = (error or 0.0) * kernels_us
    hidden = max(est_us - hooked - exposed_us, 0.0)
    most_us = exposed_us + off + min(shorter, hidden) + hooked * (1 + ERRORS[1])
    nodes = max(row.group_nodes or 1 for row in rows)
    is_known = len(estimated) == len(rows) and nodes <= MOST_CHECKED_NODES and error is not None
    return NetworkWaits(
        by_kernel=dict(waits),
        least_us=max(exposed_us - unsure - off - shorter, 0.0),
        most_us=most_us if is_known else None,
        est_us=est_us,
        notes=tuple(_list_wait_notes(rows, hooked, nodes)),
    )


def _find_error(row: Collective) -> float:
    """The relative error of its time; a small transfer is not validated."""
    if (row.bytes or 0) < LEAST_CHECKED_BYTES:
        return 1.0
    return ERRORS[min(row.group_nodes or 1, 2) - 1]


def _list_wait_notes(rows: list[Collective], hooked: float, nodes: int) -> Iterator[str]:
    unknown = [row for row in rows if row.est_us is None]
    if unknown:
        why = next((row.why for row in unknown if row.why), None)
        many = plural(len(unknown), "collective")
        yield f"without the network time of {many}{f': {why}' if why else ''}"
    if hooked:
        took = number_text(hooked * 1e-6, "seconds")
        yield f"hooks start {took} of collectives; how much of it is exposed is not known"
    if nodes > MOST_CHECKED_NODES:
        yield (f"collectives over {nodes} nodes are not validated and may take longer")


MISSING = (
    "guards and other Python overhead of the call, gaps between kernels, copies to and from the "
    "host, the first calls"
)
"""What no forecast includes."""
SLOW_HOST = LaunchCosts(kernel_us=22.0, library_us=22.0)
"""A host as slow as the slowest that was measured; `workbench.analysis.gpu_model.launches`."""


@dataclass(frozen=True, repr=False)
class Forecast(Presented):
    """Hold the modelled time of one call on a GPU, in µs; nothing was run.

    `call_us` is until the last kernel ends, launched as the report says: one by one, or as the CUDA
    graphs that torch records. By the measured errors, it is between `least_us` and `most_us` about
    four times of five. `most_us` is None if a kernel's error is unknown (its GPU was not measured,
    or the model does not cover it); `least_us` then uses its bound. Both include exposed
    communication, by NCCL's own model; `waits` has it separately.

    `graph_us` is with CUDA graphs, `kernels_us` the device alone with its relative `error`,
    `launches_us` the CPU's launch time. `missing` lists what is not included.
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
        """The total time of the kernels alone."""
        return sum(row.us for row in self.rows)

    @property
    def bound_us(self) -> float:
        """The roofline time of the kernels, as far as it is known."""
        return sum(row.bound_us or 0.0 for row in self.rows)

    @property
    def error(self) -> float | None:
        """The relative error of `kernels_us`; None if that of a kernel is unknown."""
        return join_errors((row, 1.0) for row in self.rows)

    @property
    def sentence(self) -> str:
        """The time of the call with its interval, that of the kernels, and their bound."""
        return presenter().sentences(self)[0]

    @checked
    def frame(self, name: str = "kernels") -> pandas.DataFrame:
        """Return the `"kernels"` in order, the `"lines"`, or the `"modules"`; raises `UsageError`.

        A kernel is shared among its lines, and among its modules, in proportion to sizes.
        """
        if name == "kernels":
            return presenter().rows_frame(self.rows, KernelForecast)
        if name == "lines":
            return presenter().rows_frame(self.lines, LineForecast)
        if name == "modules":
            return presenter().rows_frame(self.modules, ModuleForecast)
        raise UsageError(f"Table {name!r} does not exist; choose 'kernels', 'lines' or 'modules'.")

    @property
    def lines(self) -> list[LineForecast]:
        """The lines with their callees, the costliest first."""
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
        """The report with the times of this forecast instead of measured ones."""
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

    Raises `UsageError` for a report without kernels on a GPU, or on one that is not known.
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
    """The target of the report, or the GPU of its rooflines; one of the catalogue."""
    name = report.request.name or "The report"
    if not len(report.kernels):
        raise UsageError(
            f"{name} has no GPU kernels to forecast, because no code was generated. Compile with "
            "target='h100' or another GPU from wb.targets(); this machine needs no GPU."
        )
    if any(kernel.language == "cpp" for kernel in report.kernels):
        raise UsageError(
            f"{name} was compiled for the CPU, and only GPU kernels are modelled. Compile with "
            "target='h100' or another GPU from wb.targets(); this machine needs no GPU."
        )
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    names = [report.request.target, *(row.target for row in report.own_roofline)]
    gpu = next((gpus[name] for name in names if name in gpus), None)
    if gpu is None:
        raise UsageError(
            f"{name} was compiled for a GPU that is not in wb.targets() "
            f"({report.request.target}). Compile with target='h100' or another GPU on that list."
        )
    return gpu


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


def _take(row: KernelForecast, kernel_time: KernelTime) -> KernelForecast:
    """The modelled time of all calls, else their bound."""
    if kernel_time.us is None:
        return replace(row, us=row.bound_us or 0.0, source="bound", why=kernel_time.because)
    us, why = kernel_time.us * row.calls, kernel_time.because
    return replace(
        row, us=us, error=kernel_time.error, source="modelled", why=why, kind=kernel_time.kind
    )


def _find_interval(
    report: Report,
    rows: Sequence[KernelForecast],
    waits: NetworkWaits,
    call_us: float,
    *,
    is_graphed: bool,
) -> tuple[float, float | None]:
    """The shortest and longest time of the call; the latter is None if an error is not known.

    Each kind of kernel is taken longer and shorter by its error while the others stay, since a
    launch can hide a kernel's time. If an error is not known, the shortest time has that kernel at
    its bound, and all others as short as their errors allow. Waits for collectives are a kind, too.
    """
    least_waits = waits.scale(waits.least_us)
    if any(row.error is None for row in rows):
        least = [
            replace(
                row, us=(row.bound_us or 0.0) if row.error is None else row.us * (1 - row.error)
            )
            for row in rows
        ]
        modelled = _launch(report, least, LaunchCosts(), least_waits)
        return _time_call(modelled, is_graphed=is_graphed), None
    slow_host = _launch(report, rows, SLOW_HOST, waits.by_kernel)
    slow = _time_call(slow_host, is_graphed=is_graphed)
    shorter, longer = [0.0], [slow - call_us]
    for kind in {row.kind for row in rows if row.error}:
        for side, shifts in ((-1, shorter), (1, longer)):
            changed = [
                replace(row, us=row.us * (1 + side * (row.error or 0.0)))
                if row.kind == kind
                else row
                for row in rows
            ]
            modelled = _launch(report, changed, LaunchCosts(), waits.by_kernel)
            shifts.append(_time_call(modelled, is_graphed=is_graphed) - call_us)
    most_us = waits.us if waits.most_us is None else waits.most_us
    for own, shifts in ((least_waits, shorter), (waits.scale(most_us), longer)):
        modelled = _launch(report, rows, LaunchCosts(), own)
        shifts.append(_time_call(modelled, is_graphed=is_graphed) - call_us)
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
    """The call with these times of its kernels, and the waits in their places."""
    times = {row.kernel: row.us + waits.get(row.kernel, 0.0) for row in rows}
    kernels = [replace(kernel, time_us=times[kernel.id]) for kernel in report.kernels]
    table = Table.of(Kernel, kernels)
    return launches(replace(report, tables={**report.tables, "kernels": table}), costs)


def _time_call(modelled: Launches, *, is_graphed: bool) -> float:
    return modelled.graph_us if is_graphed else modelled.plain_us


def _list_notes(rows: Sequence[KernelForecast]) -> Iterator[str]:
    """The notes of a forecast: kernels without a model, GPUs without measurements."""
    missing = [row for row in rows if row.source == "bound"]
    if missing:
        names = list(dict.fromkeys(row.name for row in missing))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield (
            f"roofline time, which is too low, for {plural(len(missing), 'unmodelled kernel')} "
            f"({', '.join(names[:3])}{more})"
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


_MODELLED = "GPU time by the calibrated model"
_ERROR = (
    "Relative error: 80 % of the kernels outside the fit are within it. Unknown for roofline "
    "bounds."
)
NO_LINE = "no source line"


@dataclass(frozen=True, slots=True)
class KernelForecast:
    """All calls of a kernel in one call of the program; µs on the device.

    `us` is their modelled time, `bound_us` their roofline time. `source` is "measured", "modelled",
    "bound" if the model does not cover it, or "network" for a collective: `Forecast.waits` has its
    exposed time. `error` is relative, 0 for a measured time, None if it was not measured. `kind`
    says which error it is: "product", "convolution", "attention", "mover". `why` has the basis of
    the time.
    """

    kernel: str  # the kernel, by its id
    name: str  # its name
    calls: int
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    source: str = "modelled"
    why: str = ""
    lines: tuple[str, ...] = ()  # the lines that it computes, by their ids
    kind: str = ""
    language: str = ""  # "triton", or "extern" for a call of a library
    bound_us: float | None = number("Bound", "us", "Roofline time of all calls", source="model")


@dataclass(frozen=True, slots=True)
class LineForecast:
    """A source line: its estimated share of the kernels that it ended in; µs on the device.

    `us` includes callees, `own_us` does not. `bound_us` is the roofline time of all `kernels` that
    it has a share of. `line` is its number, `code` its text, `line_id` its id. `error` is relative,
    None if that of a kernel is unknown. For work without a source line, `file` is empty and `code`
    says so.
    """

    file: str
    line: int | None
    code: str = ""
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    own_us: float = number("Own", "us", "Without its callees", default=0.0, source="model")
    share: float = number("Share", "share", "Of all kernels", default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    bound_us: float = number("Bound", "us", "Roofline time", default=0.0, source="model")
    kernels: int = 0
    line_id: str = ""


@dataclass(frozen=True, slots=True)
class ModuleForecast:
    """A module: its estimated share of the kernels that it ended in; µs on the device.

    `us` includes its submodules, `own_us` does not. `bound_us` is the roofline time of all
    `kernels` that it has a share of. `module` is its path, empty for the call with work outside any
    module; `depth` is its nesting depth. `error` is relative, None if that of a kernel is unknown.
    """

    module: str
    depth: int
    us: float = number("Modelled", "us", _MODELLED, default=0.0, source="model")
    own_us: float = number("Own", "us", "Without its submodules", default=0.0, source="model")
    share: float = number("Share", "share", "Of all kernels", default=0.0, source="model")
    error: float | None = number("± of it", "share", _ERROR, source="model")
    bound_us: float = number("Bound", "us", "Roofline time", default=0.0, source="model")
    kernels: int = 0


Parts = list[tuple[KernelForecast, float]]
"""Kernels, each with the part of it that is meant, from 0 to 1."""


def join_errors(parts: Iterable[tuple[KernelForecast, float]]) -> float | None:
    """The relative error of a sum: correlated within a kind of kernel, independent between kinds.

    None if that of a kernel is not known.
    """
    total, by_kind = 0.0, defaultdict[str, float](float)
    for row, part in parts:
        if row.error is None:
            return None
        total += row.us * part
        by_kind[row.kind] += row.us * part * row.error
    return math.hypot(*by_kind.values()) / total if total else 0.0


def _sum_parts(parts: Parts, own: Parts, total: float) -> dict[str, Any]:
    """The fields that a line and a module share."""
    us = sum(row.us * part for row, part in parts)
    return {
        "us": us,
        "own_us": sum(row.us * part for row, part in own),
        "share": us / total if total else 0.0,
        "error": join_errors(parts),
        "bound_us": sum((row.bound_us or 0.0) * part for row, part in parts),
        "kernels": len({row.kernel for row, _ in parts}),
    }


def list_lines(report: Report, rows: Iterable[KernelForecast]) -> list[LineForecast]:
    """The lines of the program with what they call, the costliest first."""
    by_kernel = {row.kernel: row for row in rows}
    parts: dict[str, Parts] = defaultdict(list)
    own: dict[str, Parts] = defaultdict(list)
    for kernel, chains in part_kernels(report):
        whole = sum(chains.values())
        for (lines, _), weight in chains.items():
            part = by_kernel[kernel.id], weight / whole
            for line in dict.fromkeys(lines or ("",)):
                parts[line].append(part)
            own[lines[-1] if lines else ""].append(part)
    total = sum(row.us for row in by_kernel.values())
    sources = {source.id: source for source in report.sources}
    forecasts = []
    for line, line_parts in parts.items():
        id, number = split_line(line)
        place = None if id not in sources else number
        code = NO_LINE if place is None else _read_line(report, id, place)
        file = "" if id not in sources else sources[id].file
        sums = _sum_parts(line_parts, own[line], total)
        forecasts.append(LineForecast(file, place, code, line_id=line, **sums))
    return sorted(forecasts, key=lambda row: -row.us)


def _read_line(report: Report, id: str, line: int) -> str:
    source = next(source for source in report.sources if source.id == id)
    lines = report.texts.get(source.text or "", "").split("\n")
    place = line - source.first_line
    return lines[place].strip() if 0 <= place < len(lines) else ""


def list_modules(report: Report, rows: Iterable[KernelForecast]) -> list[ModuleForecast]:
    """The modules as a tree in the order of the program, the call as its root."""
    by_kernel = {row.kernel: row for row in rows}
    parts: dict[tuple[str, ...], Parts] = defaultdict(list)
    own: dict[tuple[str, ...], Parts] = defaultdict(list)
    for kernel, chains in part_kernels(report):
        whole = sum(chains.values())
        for (_, module), weight in chains.items():
            path = split_path(module)
            for end in range(len(path) + 1):
                parts[path[:end]].append((by_kernel[kernel.id], weight / whole))
            own[path].append((by_kernel[kernel.id], weight / whole))
    total = sum(row.us for row in by_kernel.values())
    order = {path: place for place, path in enumerate(parts)}
    tree = sorted(parts, key=lambda path: [order[path[: n + 1]] for n in range(len(path))])
    return [
        ModuleForecast(join_path(*path), len(path), **_sum_parts(parts[path], own[path], total))
        for path in tree
    ]
