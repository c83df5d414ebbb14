"""One program on meshes of several sizes: what a step takes, waits for and holds, by models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.collectives.links import (
    ERRORS,
    LEAST_CHECKED,
    LEAST_CHECKED_BYTES,
    MOST_CHECKED_NODES,
)
from workbench.analysis.collectives.streams import MISSING as MISSING_OF_TIMES
from workbench.analysis.collectives.streams import bound_exposed, find_streams
from workbench.analysis.forecast.forecast import find_forecast
from workbench.analysis.layers.fit import extend_line
from workbench.arguments import checked
from workbench.number_text import join_words, number_text, plural
from workbench.report import Report
from workbench.report.collectives.collective_rows import is_unplaced
from workbench.report.presenter import Presented, presenter
from workbench.worlds.clusters.findings.rank_programs import (
    RankProgram,
    group_by_program,
    rename_groups,
)
from workbench.worlds.clusters.rows import ScalingRow

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MOST_GPUS = 4096
_SLIGHT = 0.01  # of a step: what smaller messages may take without its error being unknown
MISSING = (
    f"the optimizer's step, data loading, {MISSING_OF_TIMES}, congestion between nodes, ranks "
    "other than the first (which has the largest shards), and pipeline stages"
)
"""What the figures of a mesh do not hold."""


PUBLISHED = ((0.9, 1.56), (1.07, 1.13))
"""What published training runs took and reserved, as multiples of what is told: least, most.

torchtitan's, by `tests/bench/published_training.json`.
"""
HELD_BACK = 1.64
"""The same of the time of a published run that a check held back: none of those above is it."""


@dataclass(frozen=True)
class StepTime:
    """Hold a modelled step time, in µs.

    `error` is the relative error of the whole, None if a part was not measured. Exposed time is a
    difference and may have a larger error. Its least and most follow from the same errors.
    """

    whole_us: float
    exposed_us: float
    kernels_us: float
    error: float | None = None
    exposed_least_us: float | None = None
    exposed_most_us: float | None = None
    why: str = ""  # why its error is unknown


@dataclass(frozen=True)
class MeshProgram:
    """Hold a mesh: its row, and the first rank's program with the most compiled layers."""

    row: ScalingRow
    program: RankProgram


@dataclass(frozen=True, repr=False)
class Scaling(Presented):
    """Hold step time, exposed communication and memory per rank for several meshes.

    Every number is modelled or counted; nothing was run. `compilations` is the number of compiled
    programs. `extended` has the numbers of layers that figures were extrapolated from. `capacity`
    is the memory of a GPU in bytes. `missing` lists what no figure includes.
    """

    name: str
    target: str
    capacity: int
    meshes: tuple[MeshProgram, ...]
    compilations: int
    optimizer: str = ""
    extended: str = ""
    missing: str = MISSING

    @property
    def reports(self) -> tuple[Report | None, ...]:
        """The report of the first rank of each mesh; None if there is none."""
        return tuple(mesh.program.report for mesh in self.meshes)

    @cached_property
    def same_code(self) -> tuple[tuple[int, ...], ...]:
        """Groups of meshes whose first ranks run the same code, by position."""
        return group_alike([mesh.program for mesh in self.meshes])

    @cached_property
    def rows(self) -> tuple[ScalingRow, ...]:
        """A row for each mesh, in the given order."""
        programs = {place: n for n, same in enumerate(self.same_code) for place in same}
        return tuple(
            replace(mesh.row, program=programs.get(place)) for place, mesh in enumerate(self.meshes)
        )

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The conclusions in plain words: times and memory first, then their errors."""
        return tuple(_tell(self))

    @checked
    def frame(self) -> pandas.DataFrame:
        """Return a row for each mesh."""
        return presenter().rows_frame(self.rows, ScalingRow)

    def plot(self) -> Figure:
        """Plot step time and memory per rank, a bar for each mesh."""
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained page, which needs no network; written to `path` when given."""
        return presenter().page(self, path)


def time_step(report: Report) -> StepTime | str:
    """What a call of one rank takes by the models; else why that is not known."""
    rows = list(report.collectives)
    if any(map(is_unplaced, rows)):
        return "hooks around the program start collectives with unknown overlap"
    forecast = find_forecast(report)
    if forecast is None:
        return "kernel times unknown"
    if not rows:
        return StepTime(forecast.kernels_us, 0.0, forecast.kernels_us, forecast.error, 0.0, 0.0)
    streams = find_streams(report)
    if streams is None:
        why = next((row.why for row in rows if row.why), None)
        return why or "the kernels that start the collectives were not found"
    nodes = max(row.group_nodes or 1 for row in rows)
    errors = [row.error for row in forecast.rows if row.error is not None]
    unknown = _explain_unknown(nodes, len(forecast.rows) - len(errors))
    step = StepTime(streams.whole_us, streams.exposed_us, streams.kernels_us, why=unknown)
    if unknown:
        return step
    # kernels that collectives hide add nothing to the whole, so that the joined error of all of
    # them may be too small; nothing makes the whole longer by more than the largest error of a part
    kernels, links = max(errors), ERRORS[min(nodes, 2) - 1]
    least, most = bound_exposed(report, kernels, links)
    # a small message was held against no measurement: it may take nothing, or twice its time
    step = replace(step, exposed_least_us=least, exposed_most_us=most)
    small = sum(row.est_us or 0.0 for row in rows if (row.bytes or 0) < LEAST_CHECKED_BYTES)
    if small > _SLIGHT * streams.whole_us:
        return step
    return replace(step, error=max(kernels, links))


def _explain_unknown(nodes: int, kernels: int) -> str:
    """Why the error of a step is not known; empty where it is."""
    if nodes > MOST_CHECKED_NODES:
        return (
            f"step error unknown: collectives over {nodes} nodes were not compared "
            "with measurements"
        )
    if kernels:
        many = plural(kernels, "kernel")
        return f"step error unknown: the error of {many} was not measured"
    return ""


def extend_step(steps: Sequence[tuple[int, StepTime]], layers: int) -> StepTime:
    """That of so many layers, by the line through those of the least and of the most."""

    def extend(name: str) -> float | None:
        points = [(count, getattr(step, name)) for count, step in steps]
        return None if None in dict(points).values() else extend_line(points, layers)

    least, most = extend("exposed_least_us"), extend("exposed_most_us")
    return StepTime(
        whole_us=extend("whole_us") or 0.0,
        exposed_us=max(extend("exposed_us") or 0.0, 0.0),
        kernels_us=extend("kernels_us") or 0.0,
        error=None if extend("error") is None else steps[-1][1].error,
        why=next((step.why for _, step in steps if step.why), ""),
        exposed_least_us=None if least is None else max(least, 0.0),
        exposed_most_us=None if most is None else max(most, 0.0),
    )


def group_alike(programs: Sequence[RankProgram]) -> tuple[tuple[int, ...], ...]:
    """The places of programs that are the same, together; groups are called as on their meshes."""
    alike = {
        place: rename_groups(program)
        for place, program in enumerate(programs)
        if program.report is not None
    }
    return group_by_program(alike)


def name_mesh(mesh: Mapping[str, int]) -> str:
    """Its dimensions in words."""
    return " × ".join(f"{name} {size}" for name, size in mesh.items())


def _tell(scaling: Scaling) -> Iterator[str]:
    timed = [row for row in scaling.rows if row.step_us is not None]
    if timed:
        yield _tell_times(timed)
    held = [row for row in scaling.rows if row.peak_bytes is not None]
    if held:
        yield _tell_memory(scaling, held)
    for row in scaling.rows:
        if row.why:
            yield f"{row.mesh}: {row.why.splitlines()[0].rstrip('.:')}."
    if timed:
        yield _tell_error(timed)
        yield _tell_published()
    many = plural(len(scaling.same_code), "different program")
    meshes = plural(len(scaling.meshes), "mesh", "meshes")
    yield (
        f"Compiled the first rank of {meshes}: {plural(scaling.compilations, 'compilation')}, "
        f"{many}.{scaling.extended}"
    )
    yield f"Not included: {scaling.missing}."


def _tell_times(rows: Sequence[ScalingRow]) -> str:
    meshes: dict[tuple[str, str], list[str]] = {}
    for row in (rows[0], *([rows[-1]] if rows[1:] else [])):
        if row.step_us:
            took = number_text(row.step_us * 1e-6, "seconds")
            waits = number_text((row.exposed_us or 0) / row.step_us, "percent")
            meshes.setdefault((took, waits), []).append(row.mesh)
    parts = [
        f"{took} on {' and on '.join(on)}, {waits} of it exposed communication"
        for (took, waits), on in meshes.items()
    ]
    return f"A step takes {'; '.join(parts)} (modelled)."


def _tell_memory(scaling: Scaling, rows: Sequence[ScalingRow]) -> str:
    most = max(rows, key=lambda row: row.peak_bytes or 0)
    least = min(rows, key=lambda row: row.peak_bytes or 0)
    too_much = [row.mesh for row in rows if (row.peak_bytes or 0) > scaling.capacity]
    between = number_text(most.peak_bytes, "bytes")
    if least.peak_bytes != most.peak_bytes:
        between = f"{number_text(least.peak_bytes, 'bytes')} ({least.mesh}) to {between}"
    words = (
        f"Peak memory per rank is {between} of {number_text(scaling.capacity, 'bytes')} "
        f"(counted{f', with {scaling.optimizer}' if scaling.optimizer else ''})"
    )
    if most.reserved_bytes is not None:
        reserved = number_text(most.reserved_bytes, "bytes")
        words = f"{words}; torch's allocator reserves up to {reserved} (modelled)"
    more = f" The peak exceeds the capacity on {join_words(too_much)}." if too_much else ""
    return f"{words}.{more}"


def _tell_error(rows: Sequence[ScalingRow]) -> str:
    errors = [row.error for row in rows if row.error is not None]
    words = f"± {number_text(max(errors), 'percent')} of the step time" if errors else ""
    unknown = [row.mesh for row in rows if row.error is None]
    if not unknown:
        return f"Largest model error, from comparisons with measurements: {words}."
    about = (
        f"The error of the step time is unknown on {join_words(unknown)}. Only collectives of at "
        f"least {LEAST_CHECKED} on up to {MOST_CHECKED_NODES} nodes were compared with "
        "measurements, and some kernels were not compared."
    )
    return f"{about} Elsewhere: {words}." if words else about


def _tell_published() -> str:
    took, held = PUBLISHED
    return (
        f"Four published Llama 3.1 runs on H100s took {took[0]} to {took[1]} times the modelled "
        f"time, and a held-out run {HELD_BACK} times. Three of the four runs reserved {held[0]} to "
        f"{held[1]} times the modelled memory."
    )
