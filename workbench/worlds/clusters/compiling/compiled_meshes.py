"""Compiles the first rank of meshes of several sizes, here or by the workers of an executor.

A model of many equal layers may be compiled at several depths and extended on a line, and the
same with twice the batch says how memory grows with it. Where the shallowest program of a mesh is
that of an earlier one, nothing else is compiled for it: groups of other sizes take other times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import prod

from workbench.analysis.collectives.links import find_links
from workbench.analysis.collectives.streams import time_collectives
from workbench.analysis.layers.fit import MISSING_OF_STEP, Depth, Fit, extend_line, read_depth
from workbench.analysis.layers.optimizers import name_optimizer, state_bytes
from workbench.analysis.memory.memory import memory
from workbench.arguments import check_executor
from workbench.compiler.process_groups.cluster import Topology
from workbench.compiler.request.compile_request import CompileOptions
from workbench.errors import CaptureError, UsageError, WorkbenchError, read_first_line
from workbench.number_text import join_words, number_text
from workbench.report.collectives.collective_rows import CLUSTER, Collective
from workbench.report.table import Table
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback, step, tell_count
from workbench.worlds.clusters.compiling.compiled_parts import (
    Hand,
    MeshedModel,
    Part,
    Waiting,
    Wanted,
    enter_compiler,
)
from workbench.worlds.clusters.compiling.compiled_ranks import Build
from workbench.worlds.clusters.compiling.virtual_cluster import check_mesh, check_topology
from workbench.worlds.clusters.findings.ranks import RankProgram
from workbench.worlds.clusters.findings.scaling import (
    MOST_GPUS,
    MeshProgram,
    Scaling,
    StepTime,
    extend_step,
    group_alike,
    name_mesh,
    time_step,
)
from workbench.worlds.clusters.rows import ScalingRow

_INTERRUPTED = CaptureError("interrupted")


@dataclass(frozen=True)
class ScalingRequest:
    """What `wb.scaling` was asked for; `layers` None compiles the whole model."""

    build: Build
    meshes: tuple[Mapping[str, int], ...]
    topology: Topology
    options: CompileOptions
    layers: tuple[int, ...] | None = None
    optimizer: str | float | None = "adamw"
    moments: str = "float32"
    largest_batch: bool = True
    executor: Executor | None = None
    progress: ProgressCallback | None = None

    @property
    def subject(self) -> MeshedModel:
        """What is compiled on each of the meshes."""
        how = self.topology, self.options, self.optimizer, self.moments
        return MeshedModel(self.build, *how, self.progress)


@dataclass
class _Begun:
    """A mesh whose shallowest program is there, and what is to come of the others."""

    place: int
    mesh: Mapping[str, int]
    first: Part
    alike: tuple[_Begun, ...]
    deeper: list[Waiting] = field(default_factory=list)
    doubled: list[Waiting] = field(default_factory=list)
    is_handed: bool = False
    found: Mesh | None = None

    def is_there(self) -> bool:
        """Whether nothing of it has to be waited for."""
        waiting = (*self.deeper, *self.doubled)
        is_known = any(other.found is not None for other in self.alike)
        return is_known or (self.is_handed and all(task.done() for task in waiting))


@dataclass
class _Table:
    """The meshes as far as they are."""

    request: ScalingRequest
    made: dict[int, MeshProgram] = field(default_factory=dict)
    known: dict[str, Mesh] = field(default_factory=dict)
    failed: list[tuple[Mapping[str, int], Exception]] = field(default_factory=list)
    compilations: int = 0

    def keep(self, begun: _Begun, compiled: Mesh, compilations: int) -> None:
        """A mesh with all its programs."""
        begun.found = self.known[name_mesh(begun.mesh)] = compiled
        self.compilations += compilations
        row = read_row(self.request.subject, begun.mesh, compiled)
        self.made[begun.place] = MeshProgram(row, compiled.depths[-1].program)

    def fail(self, place: int, error: Exception) -> None:
        """A mesh without a program, and why."""
        mesh = self.request.meshes[place]
        self.failed.append((mesh, error))
        self.made[place] = _fail(self.request, mesh, error)

    def write(self) -> Scaling:
        """The answer; meshes that are not there were interrupted."""
        request = self.request
        if not self.known:
            mesh_names = {str(error): name_mesh(mesh) for mesh, error in self.failed[::-1]}
            words = " ".join(f"On {name}: {why}" for why, name in reversed(mesh_names.items()))
            raise UsageError(f"No mesh was compiled. {words}") from self.failed[0][1]
        for place in range(len(request.meshes)):
            if place not in self.made:
                self.made[place] = _fail(request, request.meshes[place], _INTERRUPTED)
        order = [name for name in map(name_mesh, request.meshes) if name in self.known]
        meshes = {name: self.known[name] for name in order}
        first = meshes[order[0]].depths[0]
        held = name_optimizer(request.optimizer, request.moments)
        return Scaling(
            name=first.name,
            target=request.options.target,
            capacity=request.subject.gpu.dram_bytes,
            meshes=tuple(self.made[place] for place in sorted(self.made)),
            compilations=self.compilations,
            optimizer=held if first.trains else "",
            extended=_tell_extended(meshes),
        )


def compile_scaling(request: ScalingRequest) -> Scaling:
    """Build and compile the first rank on each mesh; see `workbench.scaling`.

    On an interrupt what is done is the `scaling` attribute of the KeyboardInterrupt.
    """
    _check(request)
    table = _Table(request)
    begun: list[_Begun] = []
    with enter_compiler(request.subject, request.executor) as hand:
        try:
            _compile_meshes(table, begun, hand)
        except KeyboardInterrupt as interrupt:
            for entry in begun:  # what workers have done until now
                if entry.place not in table.made and entry.is_there():
                    _finish(table, entry, hand)
            if table.known:
                interrupt.scaling = table.write()  # type: ignore[attr-defined]
            raise
    return table.write()


def _compile_meshes(table: _Table, begun: list[_Begun], hand: Hand) -> None:
    """Shallowest programs first, those of workers all at once; here a mesh after the other."""
    request, depths = table.request, _list_depths(table.request)
    is_here = request.executor is None
    firsts = [hand(Wanted(mesh, depths[0])) for mesh in request.meshes]
    count = len(firsts)
    for place, mesh in enumerate(request.meshes):
        with step(request.progress, name_mesh(mesh)):
            if is_here:
                tell_count(request.progress, place, count, "mesh")
            try:
                first = firsts[place].result()
            except WorkbenchError as error:
                table.fail(place, error)
                continue
            alike = tuple(other for other in begun if _is_same(other.first, first))
            begun.append(_Begun(place, mesh, first, alike))
            if is_here:
                _finish(table, begun[-1], hand)
            elif not alike:
                _begin(request, begun[-1], hand)
    if is_here:
        return
    with step(request.progress, "waiting for workers"):
        for entry in begun:
            tell_count(request.progress, len(table.made), count, "mesh")
            _finish(table, entry, hand)
        tell_count(request.progress, len(table.made), count, "mesh")


def _list_depths(request: ScalingRequest) -> Sequence[int | None]:
    return sorted(set(request.layers)) if request.layers else [None]


def _is_same(one: Part, other: Part) -> bool:
    holds_same = (one.total, one.program.shards) == (other.total, other.program.shards)
    return holds_same and len(group_alike([one.program, other.program])) == 1


def _begin(request: ScalingRequest, begun: _Begun, hand: Hand) -> None:
    """Have the other programs of a mesh compiled: deeper ones, and those of twice the batch."""
    mesh, first, depths = begun.mesh, begun.first, _list_depths(request)
    begun.is_handed = True
    count = 1 + sum(before is not None and before < first.total for before in depths[:-1])
    begun.deeper = [hand(Wanted(mesh, layers)) for layers in depths[1:count]]
    if request.largest_batch and first.can_double:
        begun.doubled = [hand(Wanted(mesh, layers, is_doubled=True)) for layers in depths[:count]]


def _finish(table: _Table, begun: _Begun, hand: Hand) -> None:
    """Wait for the programs of a mesh; those of an earlier one that is alike are taken over."""
    request, first = table.request, begun.first
    for other in begun.alike:
        if other.found is not None:
            deeper = (_retime(part, first, request.subject.gpu) for part in other.found.depths[1:])
            table.keep(begun, replace(other.found, depths=(first, *deeper)), 1)
            return
    if not begun.is_handed:
        _begin(request, begun, hand)
    try:
        depths = (first, *(part.result() for part in begun.deeper))
    except WorkbenchError as error:
        table.fail(begun.place, error)
        return
    compiled = Mesh(depths, ())
    if request.largest_batch and not first.can_double:
        why = "only batch-first plain tensor inputs of a module can be enlarged"
        compiled = replace(compiled, why_not_doubled=why)
    try:
        compiled = replace(compiled, doubled=tuple(part.result() for part in begun.doubled))
    except WorkbenchError as error:
        why = f"doubling the batch failed to compile: {shorten(error)}"
        compiled = replace(compiled, why_not_doubled=why)
    table.keep(begun, compiled, len(depths) + len(compiled.doubled))


def _check(request: ScalingRequest) -> None:
    """Raise `UsageError` for meshes, depths or a target of which nothing can be told."""
    if not request.meshes:
        raise UsageError("meshes is empty: give at least one, such as `[{'dp': 8}]`.")
    seen: list[Mapping[str, int]] = []
    for mesh in request.meshes:
        check_mesh(mesh)
        if (size := prod(mesh.values())) > MOST_GPUS:
            raise UsageError(
                f"The mesh {name_mesh(mesh)} has {size} GPUs: give at most {MOST_GPUS}. The models "
                "were validated on far fewer GPUs."
            )
        if list(mesh.items()) in [list(other.items()) for other in seen]:
            raise UsageError(f"meshes has {name_mesh(mesh)} twice: give each mesh once.")
        seen.append(mesh)
    if request.layers is not None and (len(set(request.layers)) < 2 or min(request.layers) < 1):
        raise UsageError(
            f"layers is {request.layers}: give at least two depths to extrapolate from, such as "
            "(1, 2), or None to compile the whole model."
        )
    check_executor(request.executor)
    check_topology(request.topology)
    state_bytes([], request.optimizer, request.moments)  # one that is not known is refused at once
    if request.options.gpu is None:
        raise UsageError(
            f"target is {request.options.target!r}: give a GPU from wb.targets(), such as 'h100', "
            "to model its times. The GPU itself is not needed."
        )
    cluster = {
        "nvlink_gb_s": request.topology.nvlink_gb_s,
        "nic_gb_s": request.topology.nic_gb_s,
    }
    links = find_links(request.subject.gpu, cluster)
    if isinstance(links, str):
        raise UsageError(f"Times of collectives are unknown for this target: {links}.")


def _retime(part: Part, first: Part, gpu: Gpu) -> Part:
    """A program of another mesh with the groups, and so the times, of this one."""
    own = {group.label: group.ranks for group in first.program.groups.values()}

    def regroup(row: Collective) -> Collective:
        ranks = own[part.program.groups[row.group].label]
        nodes = first.cluster.count_nodes(ranks)
        return replace(row, group_size=len(ranks), group_nodes=nodes)

    report = part.report
    rows = Table.of(Collective, [regroup(row) for row in report.collectives])
    moved = replace(
        report,
        tables={**report.tables, "collectives": rows},
        extra={**report.extra, CLUSTER: first.report.extra[CLUSTER]},
    )
    program = replace(part.program, report=time_collectives(moved, gpu), shards=part.program.shards)
    return replace(part, program=program, cluster=first.cluster)


def _tell_extended(by_name: Mapping[str, Mesh]) -> str:
    """From which depths figures were extended; empty where the whole was compiled."""
    meshes: dict[str, list[str]] = {}
    for name, compiled in by_name.items():
        counts = [part.layers for part in compiled.depths]
        total = compiled.depths[0].total
        if counts[-1] < total:
            lines = f"from {join_words([*map(str, counts)])} layers to {total}"
            meshes.setdefault(lines, []).append(name)
    if not meshes:
        return ""
    is_one = [len(names) for names in meshes.values()] == [len(by_name)]
    words = [
        lines if is_one else f"{lines} on {join_words(names)}" for lines, names in meshes.items()
    ]
    return (
        f" Figures are extrapolated linearly {join_words(words)}, assuming that every further "
        "layer adds the same time, exposed communication and memory."
    )


def _fail(request: ScalingRequest, mesh: Mapping[str, int], error: Exception) -> MeshProgram:
    size = prod(mesh.values())
    nodes = -(-size // request.topology.gpus_per_node)
    row = ScalingRow(name_mesh(mesh), size, nodes, why=f"not compiled: {error}")
    return MeshProgram(row, RankProgram(0, dict.fromkeys(mesh, 0), error=str(error)))


_FAR_APART = 0.1  # of the memory of all layers
_NO_LINE = (
    "no memory figure: the two depths have different temporaries (add a third, such as layers=(2, "
    "3, 4), to test whether memory is linear)"
)


@dataclass(frozen=True)
class Mesh:
    """The programs of a mesh by their layers, and those of twice the batch."""

    depths: tuple[Part, ...]
    doubled: tuple[Part, ...]
    why_not_doubled: str = ""


def read_row(subject: MeshedModel, mesh: Mapping[str, int], found: Mesh) -> ScalingRow:
    """What is known of a mesh, and why the rest is not."""
    first = found.depths[0]
    why: list[str] = []
    unknown: list[str] = []
    size = prod(mesh.values())
    row = ScalingRow(
        mesh=name_mesh(mesh),
        gpus=size,
        nodes=first.cluster.count_nodes(range(size)),
        batch=first.shape[0],
    )
    steps = [(part.layers, time_step(part.report)) for part in found.depths]
    timed = [(count, step_time) for count, step_time in steps if isinstance(step_time, StepTime)]
    if len(timed) == len(steps):
        whole = extend_step(timed, first.total)
        row = replace(
            row,
            step_us=whole.whole_us,
            exposed_us=whole.exposed_us,
            exposed_least_us=whole.exposed_least_us,
            exposed_most_us=whole.exposed_most_us,
            kernels_us=whole.kernels_us,
            error=whole.error,
        )
        unknown = [whole.why] if whole.why else []
    else:
        why += [
            f"no step time, since {step_time}"
            for _, step_time in steps
            if isinstance(step_time, str)
        ][:1]
    try:
        fit = _count_memory(subject, found)
        off = _explain_line(fit, found)
        if off is None:
            why.append(_NO_LINE)
        else:
            why += [off] if off else []
            row = replace(row, peak_bytes=fit.peak)
            reserved = _count_reserved(found)
            if reserved is not None and reserved < fit.peak:
                why.append("no reserved memory: the extrapolated value is below the peak")
            else:
                row = replace(row, reserved_bytes=reserved)
            if found.doubled:
                row = replace(row, largest_batch=fit.largest_batch())
        if found.why_not_doubled:
            why.append(f"no largest batch: {found.why_not_doubled}")
    except UsageError as error:
        why.append(f"no memory figure: {shorten(error)}")
    return replace(row, parameter_bytes=_count_parameters(found), why="; ".join([*why, *unknown]))


def shorten(error: WorkbenchError) -> str:
    """The first line of an error, to stand in a sentence."""
    return read_first_line(error).rstrip(".")


def _count_parameters(compiled: Mesh) -> int:
    points = [
        (part.layers, sum(shard.bytes for shard in part.program.shards if shard.is_parameter))
        for part in compiled.depths
    ]
    return round(extend_line(points, compiled.depths[0].total))


def _count_memory(subject: MeshedModel, compiled: Mesh) -> Fit:
    """What the first rank needs at all layers, and with other batches: by the two most depths."""
    first = compiled.depths[0]
    twice = tuple(map(_read_depth, compiled.doubled[-2:]))
    return Fit(
        name=first.name,
        gpu=subject.gpu.title,
        capacity=subject.gpu.dram_bytes,
        layers=first.total,
        is_training=first.trains,
        optimizer=name_optimizer(subject.optimizer, subject.moments),
        shape=first.shape,
        depths=tuple(map(_read_depth, compiled.depths[-2:])),
        missing=MISSING_OF_STEP,
        doubled=lambda _: twice,
    )


def _count_reserved(compiled: Mesh) -> int | None:
    """What the allocator reserves with all layers; None where it is not known of a depth.

    On the line through the least and the most layers: every second one finds other blocks free.
    """
    points = []
    for part in compiled.depths:
        whole = memory(part.report).peaks[-1]
        if whole.reserved_bytes is None:
            return None
        held = whole.reserved_bytes + (part.state if part.trains else 0)
        points.append((part.layers, float(held)))
    return round(extend_line(points, compiled.depths[0].total))


def _explain_line(fit: Fit, compiled: Mesh) -> str | None:
    """How far a further depth is from the line of the memory; None where that is to be known.

    Raises `UsageError` where another two depths say something else of all layers.
    """
    counts = [depth.layers for depth in fit.depths]
    if counts[-1] >= fit.layers or not fit.has_growing_temporaries:
        return ""
    if not compiled.depths[2:]:
        return None
    held = _read_depth(compiled.depths[0])
    wide = replace(fit, depths=(held, fit.depths[-1])).peak
    if abs(wide / fit.peak - 1) > _FAR_APART:
        raise UsageError(
            f"the depths extrapolate to different values ({number_text(fit.peak, 'bytes')} from "
            f"{join_words([*map(str, counts)])} layers, {number_text(wide, 'bytes')} from "
            f"{held.layers} and {counts[-1]})"
        )
    predicted = replace(fit, layers=held.layers).peak
    off = predicted / replace(fit, layers=held.layers, depths=(held,)).peak - 1
    words = f"memory extrapolated from {join_words([*map(str, counts)])} layers has an error of"
    return f"{words} {off:+.1%} at {held.layers}"


def _read_depth(part: Part) -> Depth:
    state = part.state if part.trains else 0
    return read_depth(memory(part.report), part.layers, state, part.seconds)
