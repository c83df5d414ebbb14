"""What the programs of a mesh say of a step of its first rank: times and memory of all layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from workbench.analysis.layers.fit import MISSING_OF_STEP, Depth, Fit, extend_line, read_depth
from workbench.analysis.layers.optimizers import name_optimizer
from workbench.analysis.memory.memory import memory
from workbench.analysis.ranks.scaling import StepTime, extend_step, name_mesh, time_step
from workbench.errors import UsageError, WorkbenchError, read_first_line
from workbench.handles.cluster.compiled_parts import Part, Subject
from workbench.number_text import join_words, number_text
from workbench.report.cluster.cluster_rows import ScalingRow

_FAR_APART = 0.1  # of the memory of all layers
_NO_LINE = (
    "no memory, since the two depths hold other temporaries, so that it may leave the line: give a "
    "third, such as layers=(2, 3, 4), which says how far"
)


@dataclass(frozen=True)
class Mesh:
    """The programs of a mesh by their layers, and those of twice the batch."""

    depths: tuple[Part, ...]
    doubled: tuple[Part, ...]
    why_not_doubled: str = ""


def read_row(subject: Subject, mesh: Mapping[str, int], found: Mesh) -> ScalingRow:
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
        unknown = [whole.why] if whole.why else []
    else:
        why += [f"no time of a step, since {told}" for _, told in steps if isinstance(told, str)][
            :1
        ]
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
                why.append("nothing of the allocator, whose line falls below what lives at once")
            else:
                row = replace(row, reserved_bytes=reserved)
            if found.doubled:
                row = replace(row, largest_batch=fit.largest_batch())
        if found.why_not_doubled:
            why.append(f"no largest batch, since {found.why_not_doubled}")
    except UsageError as error:
        why.append(f"no memory, since {shorten(error)}")
    return replace(row, parameter_bytes=_count_parameters(found), why="; ".join([*why, *unknown]))


def shorten(error: WorkbenchError) -> str:
    """The first line of an error, to stand in a sentence."""
    return read_first_line(error).rstrip(".")


def _count_parameters(found: Mesh) -> int:
    points = [
        (part.layers, sum(shard.bytes for shard in part.program.shards if shard.is_parameter))
        for part in found.depths
    ]
    return round(extend_line(points, found.depths[0].total))


def _count_memory(subject: Subject, found: Mesh) -> Fit:
    """What the first rank needs at all layers, and with other batches: by the two most depths."""
    first = found.depths[0]
    twice = tuple(map(_read_depth, found.doubled[-2:]))
    return Fit(
        name=first.name,
        gpu=subject.gpu.title,
        capacity=subject.gpu.dram_bytes,
        layers=first.total,
        is_training=first.trains,
        optimizer=name_optimizer(subject.optimizer, subject.moments),
        shape=first.shape,
        depths=tuple(map(_read_depth, found.depths[-2:])),
        missing=MISSING_OF_STEP,
        doubled=lambda _: twice,
    )


def _count_reserved(found: Mesh) -> int | None:
    """What the allocator reserves with all layers; None where it is not known of a depth.

    On the line through the least and the most layers: every second one finds other blocks free.
    """
    points = []
    for part in found.depths:
        whole = memory(part.report).peaks[-1]
        if whole.reserved_bytes is None:
            return None
        held = whole.reserved_bytes + (part.state if part.trains else 0)
        points.append((part.layers, float(held)))
    return round(extend_line(points, found.depths[0].total))


def _explain_line(fit: Fit, found: Mesh) -> str | None:
    """How far a further depth is from the line of the memory; None where that is to be known.

    Raises `UsageError` where another two depths say something else of all layers.
    """
    counts = [depth.layers for depth in fit.depths]
    if counts[-1] >= fit.layers or not fit.has_growing_temporaries:
        return ""
    if not found.depths[2:]:
        return None
    held = _read_depth(found.depths[0])
    wide = replace(fit, depths=(held, fit.depths[-1])).peak
    if abs(wide / fit.peak - 1) > _FAR_APART:
        raise UsageError(
            f"lines through its depths lie apart: {number_text(fit.peak, 'bytes')} by that of "
            f"{join_words([*map(str, counts)])} layers, {number_text(wide, 'bytes')} by that of "
            f"{held.layers} and {counts[-1]}"
        )
    told = replace(fit, layers=held.layers).peak
    off = told / replace(fit, layers=held.layers, depths=(held,)).peak - 1
    words = f"memory through {join_words([*map(str, counts)])} layers is {off:+.1%} off at"
    return f"{words} {held.layers}"


def _read_depth(part: Part) -> Depth:
    state = part.state if part.trains else 0
    return read_depth(memory(part.report), part.layers, state, part.seconds)
