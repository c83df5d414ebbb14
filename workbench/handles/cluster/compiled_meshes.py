"""Compiles the first rank of meshes of several sizes, and reads times and memory off the programs.

A model of many equal layers may be compiled at several depths and extended on a line, and the
same with twice the batch says how memory grows with it. Where the shallowest program of a mesh is
that of an earlier one, nothing else is compiled for it: groups of other sizes take other times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from workbench.analysis.cluster.links import find_links
from workbench.analysis.cluster.streams import time_collectives
from workbench.analysis.layers.fit import AXES, MISSING_OF_STEP, Depth, Fit, extend_line, read_depth
from workbench.analysis.layers.optimizers import name_optimizer, state_bytes
from workbench.analysis.memory.memory import memory
from workbench.analysis.ranks.ranks import RankProgram
from workbench.analysis.ranks.scaling import (
    MOST_GPUS,
    MeshProgram,
    Scaling,
    StepTime,
    extend_step,
    group_alike,
    name_mesh,
    time_step,
)
from workbench.compiler.cluster.cluster import (
    Cluster,
    Topology,
    check_mesh,
    enter_virtual_cluster,
    find_cluster,
)
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError, WorkbenchError, read_first_line
from workbench.handles.cluster.compiled_ranks import Build, list_groups, locate_error, read_pair
from workbench.handles.cluster.shards import list_layouts, list_shards
from workbench.handles.dispatch import compile_for_target
from workbench.handles.memory.fits import call_shape, copy_without_data, cut_layers
from workbench.number_text import join_words
from workbench.report import Report
from workbench.report.cluster.cluster_rows import CLUSTER, Collective, ScalingRow
from workbench.report.table import Table
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback, step, tell_count

_NO_LINE = (
    "no memory, since the two depths hold other temporaries, so that it may leave the line: give a "
    "third, such as layers=(2, 3, 4), which says how far"
)


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
    progress: ProgressCallback | None = None

    @property
    def gpu(self) -> Gpu:
        """The virtual GPU of each rank."""
        gpu = self.options.gpu
        assert gpu is not None
        return gpu


@dataclass(frozen=True)
class _Part:
    """One program of the first rank: of so many layers, with the batch as it is or twice that."""

    layers: int
    total: int
    name: str
    program: RankProgram
    cluster: Cluster
    shape: tuple[int, ...]
    state: int
    seconds: float
    can_double: bool

    @property
    def report(self) -> Report:
        """What it compiled to."""
        assert self.program.report is not None
        return self.program.report

    @property
    def trains(self) -> bool:
        """Whether it has a backward."""
        return any(kernel.is_backward for kernel in self.report.kernels)


@dataclass(frozen=True)
class _Mesh:
    """The programs of a mesh by their layers, and those of twice the batch."""

    depths: tuple[_Part, ...]
    doubled: tuple[_Part, ...]
    why_not_doubled: str = ""


def compile_scaling(request: ScalingRequest) -> Scaling:
    """Build and compile the first rank on each mesh; see `workbench.scaling`."""
    _check(request)
    known: dict[str, _Mesh] = {}
    made: list[MeshProgram] = []
    failed: list[tuple[Mapping[str, int], Exception]] = []
    compilations = 0
    for number, mesh in enumerate(request.meshes):
        name = name_mesh(mesh)
        with step(request.progress, name):
            tell_count(request.progress, number, len(request.meshes), "mesh")
            try:
                found, count = _compile_mesh(request, mesh, [*known.values()])
            except WorkbenchError as error:
                failed.append((mesh, error))
                made.append(_fail(request, mesh, error))
                continue
        known[name] = found
        compilations += count
        made.append(MeshProgram(_read_row(request, mesh, found), found.depths[-1].program))
    if not known:
        told = {str(error): name_mesh(mesh) for mesh, error in failed[::-1]}
        words = " ".join(f"On {name}: {why}" for why, name in reversed(told.items()))
        raise UsageError(f"No mesh was compiled. {words}") from failed[0][1]
    first = next(iter(known.values())).depths[0]
    held = name_optimizer(request.optimizer, request.moments)
    return Scaling(
        name=first.name,
        target=request.options.target,
        capacity=request.gpu.dram_bytes,
        meshes=tuple(made),
        compilations=compilations,
        optimizer=held if first.trains else "",
        extended=_tell_extended(known),
    )


def _check(request: ScalingRequest) -> None:
    """Raise `UsageError` for meshes, depths or a target of which nothing can be told."""
    if not request.meshes:
        raise UsageError("meshes is empty: give one or more, such as [{'dp': 8}, {'dp': 64}].")
    seen: list[Mapping[str, int]] = []
    for mesh in request.meshes:
        check_mesh(mesh)
        if (size := prod(mesh.values())) > MOST_GPUS:
            raise UsageError(
                f"The mesh {name_mesh(mesh)} has {size} GPUs: the models are asked of at most "
                f"{MOST_GPUS}, far beyond what they were held against. Give a smaller one."
            )
        if list(mesh.items()) in [list(other.items()) for other in seen]:
            raise UsageError(f"meshes has {name_mesh(mesh)} twice: give each mesh once.")
        seen.append(mesh)
    if request.layers is not None and (len(set(request.layers)) < 2 or min(request.layers) < 1):
        raise UsageError(
            f"layers is {request.layers}: give two depths or more, such as (1, 2), through which a "
            "line goes, or None to compile the whole model."
        )
    state_bytes([], request.optimizer, request.moments)  # one that is not known is refused at once
    if request.options.gpu is None:
        raise UsageError(
            f"target is {request.options.target!r}: times on a cluster are modelled of a GPU of "
            "wb.targets(), such as 'h100', which need not be here."
        )
    cluster = {
        "nvlink_gb_s": request.topology.nvlink_gb_s,
        "nic_gb_s": request.topology.nic_gb_s,
    }
    links = find_links(request.gpu, cluster)
    if isinstance(links, str):
        raise UsageError(f"What collectives take on this target is not known: {links}.")


def _compile_mesh(
    request: ScalingRequest, mesh: Mapping[str, int], known: Sequence[_Mesh]
) -> tuple[_Mesh, int]:
    """All programs of a mesh, and how many were compiled for it.

    Where the first is that of an earlier mesh, the others are taken from there.
    """
    asked = sorted(set(request.layers)) if request.layers else [None]
    first = _compile_part(request, mesh, asked[0])
    for other in known:
        there = other.depths[0]
        holds_same = (there.total, there.program.shards) == (first.total, first.program.shards)
        if holds_same and len(group_alike([there.program, first.program])) == 1:
            deeper = (_retime(part, first, request.gpu) for part in other.depths[1:])
            return replace(other, depths=(first, *deeper)), 1
    depths = [first]
    for count in asked[1:]:
        if depths[-1].layers < first.total:
            depths.append(_compile_part(request, mesh, count))
    found = _Mesh(tuple(depths), ())
    if not request.largest_batch:
        return found, len(depths)
    if not first.can_double:
        why = "only inputs of a module that are plain tensors, batch first, can be made larger"
        return replace(found, why_not_doubled=why), len(depths)
    try:
        twice = [
            _compile_part(request, mesh, count, AXES["batch"])
            for count, _ in zip(asked, depths, strict=False)
        ]
    except WorkbenchError as error:
        why = f"twice the batch was not compiled: {_shorten(error)}"
        return replace(found, why_not_doubled=why), len(depths)
    return replace(found, doubled=tuple(twice)), 2 * len(depths)


def _compile_part(
    request: ScalingRequest, mesh: Mapping[str, int], layers: int | None, axis: int | None = None
) -> _Part:
    started = time.perf_counter()
    with enter_virtual_cluster(mesh, 0, request.topology) as virtual:
        try:
            built = request.build(virtual)
        except Exception as error:  # of the user's code, on this mesh alone
            raise UsageError(locate_error(error)) from error
        model, args = read_pair(built, 0)
        callee = resolve(model)
        shape = call_shape(args, {})
        can_double = callee.module is not None and not list_layouts(None, args)
        if axis is not None:
            args = copy_without_data(args, axis, shape)
        with cut_layers(callee.module, callee.name, layers) as (depth, total):
            shards = list_shards(callee.module, args)
            call = CompileRequest.of(model, args, None, request.options)
            report = compile_for_target(call, request.progress).report
        cluster = find_cluster()
        assert cluster is not None
    coordinates = dict.fromkeys(mesh, 0)
    groups = list_groups(cluster)
    if len(mesh) == 1:  # torch makes none of its own for a single dimension
        everyone = groups[cluster.world]
        groups[cluster.world] = replace(everyone, label=next(iter(mesh)))
    program = RankProgram(0, coordinates, shards, groups, report)
    learned = [shard.shape for shard in shards if shard.is_parameter and shard.needs_grad]
    state = state_bytes(learned, request.optimizer, request.moments)
    seconds = time.perf_counter() - started
    return _Part(depth, total, callee.name, program, cluster, shape, state, seconds, can_double)


def _retime(part: _Part, first: _Part, gpu: Gpu) -> _Part:
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


def _read_row(request: ScalingRequest, mesh: Mapping[str, int], found: _Mesh) -> ScalingRow:
    first = found.depths[0]
    why: list[str] = []
    size = prod(mesh.values())
    row = ScalingRow(
        mesh=name_mesh(mesh),
        gpus=size,
        nodes=first.cluster.count_nodes(range(size)),
        batch=first.shape[0],
    )
    steps = [(part.layers, time_step(part.report)) for part in found.depths]
    timed = [(count, told) for count, told in steps if isinstance(told, StepTime)]
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
    else:
        why += [f"no time of a step, since {told}" for _, told in steps if isinstance(told, str)][
            :1
        ]
    try:
        fit = _count_memory(request, found)
        off = _explain_line(fit, found)
        if off is None:
            why.append(_NO_LINE)
        else:
            why += [off] if off else []
            row = replace(row, peak_bytes=fit.peak)
            if found.doubled:
                row = replace(row, largest_batch=fit.largest_batch())
        if found.why_not_doubled:
            why.append(f"no largest batch, since {found.why_not_doubled}")
    except UsageError as error:
        why.append(f"no memory, since {_shorten(error)}")
    return replace(row, parameter_bytes=_count_parameters(found), why="; ".join(why))


def _shorten(error: WorkbenchError) -> str:
    return read_first_line(error).rstrip(".")


def _count_parameters(found: _Mesh) -> int:
    points = [
        (part.layers, sum(shard.bytes for shard in part.program.shards if shard.is_parameter))
        for part in found.depths
    ]
    return round(extend_line(points, found.depths[0].total))


def _count_memory(request: ScalingRequest, found: _Mesh) -> Fit:
    """What the first rank needs at all layers, and with other batches: by the two most depths."""
    first = found.depths[0]
    twice = tuple(map(_read_depth, found.doubled[-2:]))
    return Fit(
        name=first.name,
        gpu=request.gpu.title,
        capacity=request.gpu.dram_bytes,
        layers=first.total,
        is_training=first.trains,
        optimizer=name_optimizer(request.optimizer, request.moments),
        shape=first.shape,
        depths=tuple(map(_read_depth, found.depths[-2:])),
        missing=MISSING_OF_STEP,
        doubled=lambda _: twice,
    )


def _explain_line(fit: Fit, found: _Mesh) -> str | None:
    """How far a further depth is from the line of the memory; None where that is to be known."""
    counts = [depth.layers for depth in fit.depths]
    if counts[-1] >= fit.layers or not fit.has_growing_temporaries:
        return ""
    if not found.depths[2:]:
        return None
    held = _read_depth(found.depths[0])
    told = replace(fit, layers=held.layers).peak
    off = told / replace(fit, layers=held.layers, depths=(held,)).peak - 1
    words = f"memory through {join_words([*map(str, counts)])} layers is {off:+.1%} off at"
    return f"{words} {held.layers}"


def _read_depth(part: _Part) -> Depth:
    state = part.state if part.trains else 0
    return read_depth(memory(part.report), part.layers, state, part.seconds)


def _tell_extended(known: Mapping[str, _Mesh]) -> str:
    """From which depths figures were extended; empty where the whole was compiled."""
    meshes: dict[str, list[str]] = {}
    for name, found in known.items():
        counts = [part.layers for part in found.depths]
        total = found.depths[0].total
        if counts[-1] < total:
            lines = f"from {join_words([*map(str, counts)])} layers to {total}"
            meshes.setdefault(lines, []).append(name)
    if not meshes:
        return ""
    is_one = [len(names) for names in meshes.values()] == [len(known)]
    words = [
        lines if is_one else f"{lines} on {join_words(names)}" for lines, names in meshes.items()
    ]
    return (
        f" Figures are extended on a line {join_words(words)}, as if every further layer ran, "
        "waited and held the same."
    )


def _fail(request: ScalingRequest, mesh: Mapping[str, int], error: Exception) -> MeshProgram:
    size = prod(mesh.values())
    nodes = -(-size // request.topology.gpus_per_node)
    row = ScalingRow(name_mesh(mesh), size, nodes, why=f"not compiled: {error}")
    return MeshProgram(row, RankProgram(0, dict.fromkeys(mesh, 0), error=str(error)))
