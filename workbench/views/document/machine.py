"""What the view shows of GPUs: the matrix, the roofline, ranked configurations, the targets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.analysis.gpu_model.target_spread import spreads
from workbench.report import Report
from workbench.report.machine_rows import KernelRoofline, MatrixCell, RankedConfig
from workbench.specs import Catalogue
from workbench.views import wire_machine as wire

_SIZE = re.compile(r"(\w+)\s*[=:]\s*(\d+)")
_OWN = ("num_warps", "num_stages", "warps", "stages")  # told beside the sizes of blocks
ASLEEP = (
    "This is a saved view: run the cell again, or type "
    "`wb.aot_compile(fn, args, target=NAME)`, to compile for another GPU."
)

ONLY_A_RECORD = (
    "Only the record is here, not the function: show what `wb.aot_compile` returned, or type "
    "`wb.aot_compile(fn, args, target=NAME)`."
)


def matrix_targets(report: Report) -> list[str]:
    """The GPUs of the matrix in the order in which they were asked for."""
    return list(dict.fromkeys(cell.target for cell in report.matrix))


def matrix(report: Report) -> list[wire.MatrixRow]:
    """The kernels, those that differ most first, with a cell for each GPU."""
    targets = matrix_targets(report)
    cells = {(cell.kernel, cell.target): cell for cell in report.matrix}
    return [
        {
            "kernel": found.kernel,
            "spread": round(found.total, 4),
            "spreads": {name: round(value, 4) for name, value in found.figures},
            "differs_in": found.differs_in,
            "cells": [_cell(cells.get((found.kernel, target))) for target in targets],
        }
        for found in spreads(report.matrix)
    ]


def _cell(cell: MatrixCell | None) -> wire.MatrixCell | None:
    if cell is None:
        return None
    return {
        "id": cell.config,
        "choice": _configuration(cell.choice, cell.warps, cell.stages),
        "registers": cell.registers,
        "spills": cell.spills,
        "smem_bytes": cell.smem_bytes,
        "occupancy": cell.occupancy,
        "limiter": cell.limiter,
        "instructions": cell.instructions,
        "bound": cell.bound,
        "bound_us": cell.bound_us,
        "estimate": cell.estimate,
        "note": cell.note,
    }


def _configuration(choice: str, warps: int | None, stages: int | None) -> str:
    """A configuration in words: `XBLOCK=128, 4 warps, 1 stage`."""
    parts = [choice] if choice else []
    for count, word in ((warps, "warp"), (stages, "stage")):
        if count is not None:
            parts.append(f"{count} {word}{'s' * (count != 1)}")
    return ", ".join(parts)


def roofs(report: Report) -> list[wire.Roof]:
    """The roof of each GPU, with the peak rates that its kernels are measured against."""
    found: dict[str, wire.Roof] = {}
    rates: dict[str, dict[str, float]] = {}
    for row in report.roofline:
        if row.bandwidth_gbs is None:
            continue
        here: wire.Roof = {"target": row.target, "bandwidth_gbs": row.bandwidth_gbs, "rates": []}
        found.setdefault(row.target, here)
        if row.rate is not None and row.rate_tflops is not None:
            rates.setdefault(row.target, {})[row.rate] = row.rate_tflops
    for target, known in rates.items():
        found[target]["rates"] = sorted(known.items(), key=lambda item: -item[1])
    return list(found.values())


def points(report: Report) -> list[wire.RooflinePoint]:
    """Every kernel under the roof of its GPU, with its part of the time of all calls.

    The time is the measured one where all kernels of the GPU have one, else the bound.
    """
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    rows = list(report.roofline)
    measured = {row.target for row in rows} - {
        row.target for row in rows if row.measured_us is None and row.bound_us is not None
    }
    times = [_time(row, row.target in measured) * calls.get(row.kernel, 1) for row in rows]
    totals: dict[str, float] = {}
    for row, time in zip(rows, times, strict=True):
        totals[row.target] = totals.get(row.target, 0.0) + time
    return [
        _point(row, time / totals[row.target] if totals[row.target] else 0.0)
        for row, time in zip(rows, times, strict=True)
    ]


def _time(row: KernelRoofline, is_measured: bool) -> float:
    return (row.measured_us if is_measured else row.bound_us) or 0.0


def _point(row: KernelRoofline, share: float) -> wire.RooflinePoint:
    return {
        "kernel": row.kernel,
        "target": row.target,
        "moved_bytes": row.moved_bytes,
        "flops": row.flops,
        "rate": row.rate,
        "intensity": row.intensity,
        "ridge": row.ridge,
        "bound": row.bound,
        "bound_us": row.bound_us,
        "attainable_tflops": row.attainable_tflops,
        "measured_us": row.measured_us,
        "estimate": row.estimate,
        "share": round(share, 4),
        "note": row.note,
    }


def ranked(report: Report) -> list[wire.Ranked]:
    """The configurations that a model ranked, the best of each kernel first."""
    rows = list(report.ranked_configs)
    order = {pair: at for at, pair in enumerate(dict.fromkeys((r.kernel, r.target) for r in rows))}
    last = len(rows) + 1
    places = sorted(
        range(len(rows)),
        key=lambda at: (order[rows[at].kernel, rows[at].target], rows[at].rank or last, at),
    )
    return [_ranked(at, rows[at]) for at in places]


def _ranked(index: int, row: RankedConfig) -> wire.Ranked:
    sizes = {name: int(size) for name, size in _SIZE.findall(row.choice) if name not in _OWN}
    return {
        "id": f"r{index}",
        "kernel": row.kernel,
        "target": row.target,
        "choice": row.choice,
        "sizes": sizes,
        "warps": row.warps,
        "stages": row.stages,
        "registers": row.registers,
        "spills": row.spills,
        "smem_bytes": row.smem_bytes,
        "occupancy": row.occupancy,
        "limiter": row.limiter,
        "model_us": row.model_us,
        "rank": row.rank,
        "losing": row.losing,
        "note": row.note,
    }


def targets(report: Report, live: wire.Targets | None = None) -> wire.Targets:
    """What can be compiled for in place; without a live session only what there would be."""
    if live is not None:
        return live
    name = report.request.target
    return {"present": name, "choices": [{"name": name, "words": name}], "why_not": ASLEEP}


def targets_of(present: str, names: Iterable[str], why_not: str | None = None) -> wire.Targets:
    """The targets of these names with a description of each."""
    gpus = {gpu.name: f"{gpu.title}, {gpu.arch}" for gpu in Catalogue.built_in()}
    words = {**gpus, **_HERE}
    choices: list[wire.TargetChoice] = [
        {"name": name, "words": words.get(name, name)} for name in dict.fromkeys([*names, present])
    ]
    return {"present": present, "choices": choices, "why_not": why_not}


_HERE = {
    "host": "this machine",
    "cpu": "the CPU of this machine",
    "cuda": "the GPU of this machine",
}
