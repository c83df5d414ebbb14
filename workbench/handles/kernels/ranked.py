"""A static sweep of one kernel: its configurations compiled for a GPU and ranked by a model.

Loops and reductions are ranked by `analysis.kernel_configs.config_model`, which takes registers and
spills from compiled code, templates of products by `virtual_gpu.device.template_model`, by tile,
products that the user wrote by `analysis.product_configs`, which counts what their loop issues.
Nothing is run: a device may order the first few differently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.analysis.forecast.forecast import time_record_kernel
from workbench.analysis.gpu_model.roofline import rooflines
from workbench.analysis.kernel_configs.config_model import (
    Estimate,
    RankedConfigs,
    Work,
    estimate,
    rank_rows,
)
from workbench.analysis.kernel_configs.config_space import (
    GROUPS,
    Config,
    changed,
    explain_wide_grid,
    find_tunable,
    launch_of,
    space,
)
from workbench.analysis.kernel_configs.triton_source import TritonSource, read_source, replace_fixed
from workbench.analysis.product_configs.user_product import (
    Placing,
    check_sizes,
    estimate_user_product,
    explain_no_step,
    read_prior,
    read_product,
)
from workbench.compiler.internals.local_device import has_gpu
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import CrossCompiler, build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.device.template_model import Product, Tile, estimate_template_ms
from workbench.compiler.virtual_gpu.kernel_choice import (
    Build,
    Built,
    find_kernel,
    list_triton_kernels,
    values_of,
)
from workbench.errors import UsageError
from workbench.handles.local_gpu import describe_local_gpu
from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import KernelRoofline, RankedConfig, Resources
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback

_WIDTHS = {"64": 8, "32": 4, "16": 2, "8": 1, "1": 1}
_NO_MODEL = "There is no model for the grid of this kernel: ordered by spills and occupancy."


@dataclass(frozen=True)
class _Sweep:
    """One kernel on one GPU, and what is known of its work."""

    gpu: Gpu
    kernel: Kernel
    text: str
    source: TritonSource
    roof: KernelRoofline | None
    own: tuple[Config, ...]
    product: Mapping[str, int]  # sizes of a product that the user wrote, those that are known
    kernel_us: float | None = None  # a call by the calibrated model, as a forecast has it


def rank_configs(
    report: Report,
    gpu: Gpu,
    kernel: str,
    *,
    blocks: Mapping[str, Iterable[int]] | None = None,
    warps: Iterable[int] | None = None,
    stages: Iterable[int] | None = None,
    sizes: Mapping[str, int] | None = None,
    prior: Any = None,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
) -> RankedConfigs:
    """Compile the configurations of a kernel for a GPU and rank them.

    The report must be that of a compilation of this process: its source is run through Triton.
    `sizes` and `prior` are for products that the user wrote: see `user_product.SIZES` and
    `read_prior` there. Raises `UsageError` for what does not exist.
    """
    sweep = _sweep(report, gpu, kernel, blocks or ())
    if not sweep.source.is_user_product and (sizes or prior is not None):
        raise UsageError(
            f"sizes and prior are for products that you wrote in Triton: {sweep.kernel.id} is none."
        )
    check_sizes(sizes or {})
    sweep = replace(sweep, product={**sweep.product, **(sizes or {})})
    place = None
    if sweep.source.is_user_product:
        place = read_prior(prior, list_known_gpus(), gpu, sweep.source, sweep.product)
    configs = space(sweep.source, sweep.own, blocks=blocks, warps=warps, stages=stages)
    return _ranked(report, sweep, configs, progress, worker, place)


def rank_changed(
    report: Report, gpu: Gpu, kernel: str, changes: Mapping[str, int]
) -> RankedConfigs:
    """Compile the kernel's own configurations with some values changed, and rank them.

    `changes` are block sizes by parameter, `num_warps` and `num_stages`.
    """
    sweep = _sweep(report, gpu, kernel)
    configs = dict.fromkeys(changed(config, changes) for config in sweep.own)
    return _ranked(report, sweep, list(configs))


def list_changeable(report: Report, kernel: str) -> tuple[str, ...]:
    """The block sizes of a kernel that a sweep may change."""
    text = report.texts.get(find_kernel(report, kernel).text or "")
    return () if text is None else find_tunable(read_source(text))


def _ranked(
    report: Report,
    sweep: _Sweep,
    configs: Sequence[Config],
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
    place: Placing | None = None,
) -> RankedConfigs:
    gpu = sweep.gpu
    against = {
        config: explain_no_step(sweep.source, sweep.product, config)
        if sweep.source.is_user_product
        else None
        for config in configs
    }
    builds = {
        f"{sweep.kernel.id}:r{n}": config for n, config in enumerate(configs) if not against[config]
    }
    built = build_all(
        [_build(sweep, id, config) for id, config in builds.items()],
        worker or keep_warm_worker(),
        progress,
        "configuration",
    )
    made = [_row(sweep, config, built[id]) for id, config in builds.items()]
    if place is not None:
        placed = place(list(builds.values()), [row.model_us for row in made])
        if isinstance(placed, str):
            made = [
                row if row.note == placed else replace(row, note=f"{row.note}; {placed}")
                for row in made
            ]
        else:
            pairs = zip(made, placed, strict=True)
            made = [replace(row, placed_us=us) for row, us in pairs]
    wrong = (
        replace(_make_empty_row(sweep, config), rejection=why)
        for config, why in against.items()
        if why
    )
    rows = rank_rows([*made, *wrong])
    others = [
        r for r in report.ranked_configs if (r.kernel, r.target) != (sweep.kernel.id, gpu.name)
    ]
    table = Table.of(RankedConfig, [*others, *rows])
    kept = replace(report, tables={**report.tables, "ranked_configs": table})
    return RankedConfigs(kept, sweep.kernel.id, gpu.name)


def get_gpu(report: Report) -> Gpu:
    """The GPU that a compilation of this machine was made for.

    Raises
    ------
    UsageError
        It has no Triton kernels, or there is no GPU in this machine.
    """
    list_triton_kernels(report)
    catalogue = list_known_gpus()
    if report.request.target in catalogue:
        return catalogue[report.request.target]
    if not has_gpu():
        raise UsageError(
            "This was compiled for the GPU of another machine. Compile it for that GPU by name, "
            'such as target="h100", to rank its configurations here.'
        )
    return describe_local_gpu()[0].spec


def _sweep(report: Report, gpu: Gpu, name: str, asked: Collection[str] = ()) -> _Sweep:
    kernel = find_kernel(report, name)
    text = report.texts.get(kernel.text or "")
    if text is None:
        raise UsageError(f"The source of {kernel.id} is not in the report: compile it again.")
    source = read_source(text)
    names = find_tunable(source, asked)
    if not names:
        fixed = ", ".join(source.signature) or "none"
        raise UsageError(f"{kernel.id} has no block sizes to change: its arguments are {fixed}.")
    own = []
    for row in report.resources:
        if row.kernel == kernel.id:
            values = {**source.constants, **source.fixed, **values_of(row.choice)}
            sizes = tuple((n, values[n]) for n in names if type(values.get(n)) is int)
            own.append(Config(sizes, row.warps, row.stages))
    roof = next((row for row in rooflines(report, gpu) if row.kernel == kernel.id), None)
    programs = (report.texts.get(row.text or "") for row in report.wrappers)
    product: Mapping[str, int] = {}
    if source.is_user_product:
        product = read_product(source, kernel.name, filter(None, programs))
    kernel_us = time_record_kernel(report, kernel, gpu)
    return _Sweep(gpu, kernel, text, source, roof, tuple(own), product, kernel_us)


def _build(sweep: _Sweep, id: str, config: Config) -> Build:
    sizes = dict(config.sizes)
    fixed = {name: size for name, size in sizes.items() if name in sweep.source.fixed}
    return Build(
        id=id,
        kernel=sweep.kernel.id,
        gpu=Device(sweep.gpu),
        source=replace_fixed(sweep.text, fixed) if fixed else sweep.text,
        values={name: size for name, size in sizes.items() if name not in fixed},
        choice=config.choice,
        warps=config.warps,
        stages=config.stages,
        with_code=sweep.source.is_user_product,
    )


def _make_empty_row(sweep: _Sweep, config: Config) -> RankedConfig:
    return RankedConfig(
        kernel=sweep.kernel.id,
        target=sweep.gpu.name,
        choice=config.choice,
        warps=config.warps,
        stages=config.stages,
    )


def _row(sweep: _Sweep, config: Config, built: Built) -> RankedConfig:
    """One configuration before it has a rank."""
    row = describe_built(_make_empty_row(sweep, config), built)
    if row.rejection is not None or built.resources is None:
        return row
    launch = launch_of(sweep.source, config)
    if launch is not None and (why := explain_wide_grid(launch.grid, sweep.gpu)):
        return replace(row, rejection=f"cannot be launched: {why}")
    time, why = _model(sweep, config, built, built.resources)
    return replace(row, model_us=time, note=row.note or why)


def describe_built(row: RankedConfig, built: Built) -> RankedConfig:
    """A row with what its code takes of the GPU, rejected where it cannot be launched."""
    taken = built.resources
    if taken is None:
        return replace(row, rejection="does not compile", note=built.note)
    row = replace(
        row,
        registers=taken.registers,
        spills=taken.spills,
        smem_bytes=taken.smem_bytes,
        blocks=taken.blocks,
        occupancy=taken.occupancy,
        limiter=taken.limiter,
        note=built.note or taken.note,
    )
    if taken.blocks == 0:
        return replace(row, rejection=f"cannot be launched: {taken.note}", note=built.note)
    return row


def _model(
    sweep: _Sweep, config: Config, built: Built, taken: Resources
) -> tuple[float | None, str | None]:
    """What a model gives the configuration in µs, and a remark."""
    resident, stack = taken.blocks or 1, taken.stack or 0
    if sweep.source.is_user_product:
        codes = (row.text for row in built.assembly if row.stage in ("sass", "amdgcn"))
        code = built.texts.get(next(codes, None) or "")
        found = estimate_user_product(
            sweep.gpu, sweep.source, sweep.product, config, resident=resident, code=code
        )  # fmt: skip
        if isinstance(found, str):
            return None, found
        why = f"by the model a step along K mostly waits for {found.because}"
        group = next((name for name, _ in config.sizes if name in GROUPS), None)
        return found.us, f"{why}; it does not know what {group} changes" if group else why
    if sweep.source.kind == "template":
        time = _template_us(sweep, config)
        return time, None if time is not None else _NO_MODEL
    timing = _estimate(sweep, config, resident, stack)
    if timing is None:
        return None, _NO_MODEL
    return timing.time_us, f"by the model mostly {timing.because}"


def _estimate(sweep: _Sweep, config: Config, resident: int, stack: int) -> Estimate | None:
    launch, roof = launch_of(sweep.source, config), sweep.roof
    if launch is None or roof is None or roof.moved_bytes is None:
        return None
    work = Work(
        moved_bytes=float(roof.moved_bytes),
        flops=float(roof.flops or 0),
        tflops=roof.rate_tflops,
        width=max((_width(kind) for kind in sweep.source.pointers), default=4),
    )
    threads = config.warps * sweep.gpu.warp_size
    return estimate(
        sweep.gpu,
        work,
        launch,
        resident=resident,
        threads=threads,
        stack=stack,
        kernel_us=sweep.kernel_us,
    )


def _template_us(sweep: _Sweep, config: Config) -> float | None:
    """The model of templates, for products whose sizes stand in the text."""
    sizes, roof = {**sweep.source.fixed, **dict(config.sizes)}, sweep.roof
    if roof is None or roof.rate_tflops is None or not {"M", "N", "K"} <= sizes.keys():
        return None
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    batch = max(1, round((roof.flops or 0) / (2 * m * n * k)))
    widths = [_width(kind) for kind in sweep.source.pointers] or [4]
    product = Product(batch, m, n, k, widths[0], widths[-1])
    tile = Tile(sizes["BLOCK_M"], sizes["BLOCK_N"], sizes["BLOCK_K"], config.warps, config.stages)
    return estimate_template_ms(sweep.gpu, product, tile, roof.rate_tflops) * 1e3


def _width(kind: str) -> int:
    """Bytes of a value of Triton's type: "bf16", "fp8e4nv", "i1"."""
    digits = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    return next((size for bits, size in _WIDTHS.items() if digits.startswith(bits)), 4)
