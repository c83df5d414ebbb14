"""Compiles every Triton kernel of a report for several GPUs.

What is compared is one source: the kernels as Inductor generated them for the target of the
compilation, each in one configuration, compiled by Triton for every GPU. Inductor itself may
generate other code for another GPU: a matrix says what the compiler makes of the same kernel.
A number of warps is taken as it is; on AMD's GPUs a warp has 64 threads.

A report may come from a file: then none of its source is run through Triton's front end, which
follows what a source imports and calls. Its TTIR, which is only data, is compiled instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.forecast.forecast import list_kernels
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.analysis.gpu_model.roofline import rooflines
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import CrossCompiler, build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.kernel_choice import (
    Build,
    Built,
    Chosen,
    chosen,
    list_triton_kernels,
)
from workbench.errors import UsageError
from workbench.report import Report, Table, TextWriter
from workbench.report.machine_rows import Assembly, KernelRoofline, MatrixCell
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback

_NOT_KEPT = "The report does not contain this kernel's source. Recompile the function."


def compare(
    report: Report,
    targets: Sequence[str],
    *,
    is_ours: bool,
    configs: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
) -> Matrix:
    """Compile every Triton kernel of a report for several GPUs and compare the results.

    `is_ours` is True if the report's sources were generated or trusted in this process. Raises
    `UsageError` if a target is unknown or there are no Triton kernels.
    """
    gpus = find_target_gpus(targets)
    kernels = chosen(report, list_triton_kernels(report), configs or {})
    builds = {b.id: b for one in kernels for b in _builds(one, gpus, is_ours=is_ours)}
    built = _built(builds, worker or keep_warm_worker(), progress)
    return Matrix(record_matrix(report, gpus, builds, built), tuple(gpu.name for gpu in gpus))


def find_target_gpus(targets: Sequence[str]) -> tuple[Gpu, ...]:
    """Return the GPUs with these names without duplicates, or raise `UsageError` for others."""
    if isinstance(targets, str) or not all(isinstance(name, str) for name in targets):
        raise UsageError(
            f'targets is {targets!r}: expected a list of GPUs, such as ["a100", "h100"].'
        )
    catalogue = list_known_gpus()
    gpus = {catalogue[name].name: catalogue[name] for name in targets}
    if not gpus:
        raise UsageError(
            'targets is empty: name at least one GPU from wb.targets(), such as ["a100", "h100"].'
        )
    return tuple(gpus.values())


def _builds(one: Chosen, gpus: Sequence[Gpu], *, is_ours: bool) -> Iterator[Build]:
    source = one.source if is_ours else one.ttir
    for gpu in gpus:
        yield Build(
            id=f"{one.kernel}:{gpu.name}",
            kernel=one.kernel,
            gpu=Device(gpu),
            source=source or "",
            values=one.values,
            choice=one.row.choice,
            warps=one.row.warps,
            stages=one.row.stages,
            is_ttir=not is_ours,
            ttir_lines=() if is_ours else one.ttir_lines,
        )


def _built(
    builds: Mapping[str, Build], worker: CrossCompiler, progress: ProgressCallback | None
) -> Mapping[str, Built]:
    whole = [build for build in builds.values() if build.source]
    built = build_all(whole, worker, progress) if whole else {}
    return {id: built.get(id, Built(id, None, note=_NOT_KEPT)) for id in builds}


def record_matrix(
    report: Report, gpus: Sequence[Gpu], builds: Mapping[str, Build], by_id: Mapping[str, Built]
) -> Report:
    """Return the report with the built kernels in tables `matrix`, `assembly` and `roofline`."""
    texts = TextWriter()
    for text in report.texts.values():
        texts.add(text)
    roofs = {gpu.name: {row.kernel: row for row in rooflines(report, gpu)} for gpu in gpus}
    forecasts = {
        gpu.name: {row.kernel: row for row in list_kernels(report, gpu, roofs[gpu.name])}
        for gpu in gpus
    }
    cells, assembly = [], [row for row in report.assembly if row.config not in builds]
    for id, built in by_id.items():
        build = builds[id]
        cell = _cell(build, built, roofs[build.gpu.target].get(build.kernel))
        expected = forecasts[build.gpu.target][build.kernel]
        if expected.source == "modelled":
            us = expected.us / expected.calls
            cell = replace(cell, modelled_us=us, modelled_error=expected.error)
        cells.append(cell)
        for text in built.texts.values():
            texts.add(text)
        assembly += built.assembly
    here = {row.target for row in report.roofline}
    more = (row for name, rows in roofs.items() if name not in here for row in rows.values())
    tables: dict[str, Table[Any]] = {
        **report.tables,
        "matrix": Table.of(MatrixCell, cells),
        "assembly": Table.of(Assembly, assembly),
        "roofline": Table.of(KernelRoofline, [*report.roofline, *more]),
    }
    return replace(report, tables=tables, texts=texts.finish())


def _cell(build: Build, built: Built, roof: KernelRoofline | None) -> MatrixCell:
    cell = MatrixCell(
        kernel=build.kernel,
        target=build.gpu.target,
        config=build.id,
        choice=build.choice,
        warps=build.warps,
        stages=build.stages,
        bound=roof.bound if roof else None,
        bound_us=roof.bound_us if roof else None,
        note=built.note,
        vendor=build.gpu.spec.vendor,
    )
    row = built.resources
    if row is None:
        return cell
    return replace(
        cell,
        registers=row.registers,
        spills=row.spills,
        smem_bytes=row.smem_bytes,
        blocks=row.blocks,
        occupancy=row.occupancy,
        limiter=row.limiter,
        instructions=row.instructions,
        estimate=row.estimate,
        note=built.note or row.note,
    )
