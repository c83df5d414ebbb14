"""`rank_configs` of a program: the configurations of one of its kernels, searched for its GPU.

They are compiled from the text that Inductor generated, so that sizes known at run time alone and
templates have some, too; `config_search` judges and orders them as it does for `tune`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.analysis.forecast.forecast import RecordedWork, read_record_work
from workbench.analysis.kernel_configs.config_space import (
    Config,
    changed,
    explain_wide_grid,
    find_division,
    find_tunable,
    space,
)
from workbench.analysis.kernel_configs.triton_source import TritonSource, read_source, replace_fixed
from workbench.analysis.product_configs.user_product import (
    Placing,
    check_sizes,
    describe_product,
    explain_no_step,
    read_prior,
    read_product,
)
from workbench.analysis.tuning.candidate import TOO_WIDE, WRONG, Candidate, list_rows
from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.compiler.internals.local_device import has_gpu
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import CrossCompiler, build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.kernel_choice import (
    Build,
    Built,
    find_kernel,
    list_triton_kernels,
    values_of,
)
from workbench.errors import UsageError
from workbench.handles.devices.local_gpu import describe_local_gpu
from workbench.handles.kernels.config_search import (
    Described,
    describe_loop,
    describe_template,
    judge_built,
    order_candidates,
)
from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import RankedConfig, Resources
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback


@dataclass(frozen=True)
class _Sweep:
    """One kernel on one GPU, and what is known of its work."""

    gpu: Gpu
    kernel: Kernel
    text: str
    source: TritonSource
    own: tuple[Config, ...]
    product: Mapping[str, int]  # sizes of a product that the user wrote, those that are known
    recorded: RecordedWork


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

    The report must be from a compilation in this process, because its source is run through Triton.
    `sizes` and `prior` are for user-written matmuls (see `user_product.SIZES` and
    `user_product.read_prior`). Raises `UsageError` if a name is unknown.
    """
    sweep = _sweep(report, gpu, kernel, blocks or ())
    if not sweep.source.is_user_product and (sizes or prior is not None):
        raise UsageError(
            f"sizes and prior are for matmuls that you wrote in Triton, but {sweep.kernel.id} "
            "is not one."
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

    `changes` contains block sizes by parameter name, `num_warps` and `num_stages`.
    """
    sweep = _sweep(report, gpu, kernel)
    configs = dict.fromkeys(changed(config, changes) for config in sweep.own)
    return _ranked(report, sweep, list(configs))


def list_changeable(report: Report, kernel: str) -> tuple[str, ...]:
    """List the block sizes of a kernel that a sweep may change."""
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
    candidates = [_try(sweep, config) for config in configs]
    builds = {
        f"{sweep.kernel.id}:r{n}": config
        for n, (config, one) in enumerate(zip(configs, candidates, strict=True))
        if one.reason is None
    }
    built = build_all(
        [_build(sweep, id, config) for id, config in builds.items()],
        worker or keep_warm_worker(),
        progress,
        "configuration",
    )
    judged = [
        _judge(sweep, one, built[name]) if (name := f"{sweep.kernel.id}:r{n}") in built else one
        for n, one in enumerate(candidates)
    ]
    rows = list_rows(order_candidates(judged, place), sweep.kernel.id, sweep.gpu.name)
    return keep_ranked(report, sweep.kernel.id, sweep.gpu.name, rows)


def keep_ranked(
    report: Report, kernel: str, target: str, rows: Sequence[RankedConfig]
) -> RankedConfigs:
    """Return the report with a kernel's rows for a GPU in its `ranked_configs` table."""
    others = [row for row in report.ranked_configs if (row.kernel, row.target) != (kernel, target)]
    table = Table.of(RankedConfig, [*others, *rows])
    record = replace(report, tables={**report.tables, "ranked_configs": table})
    return RankedConfigs(record, kernel, target)


def get_gpu(report: Report) -> Gpu:
    """Return the GPU in this machine that the code was compiled for.

    Raises
    ------
    UsageError
        The report has no Triton kernels, or this machine has no GPU.
    """
    list_triton_kernels(report)
    catalogue = list_known_gpus()
    if report.request.target in catalogue:
        return catalogue[report.request.target]
    if not has_gpu():
        raise UsageError(
            "This was compiled for another machine's GPU. To rank its configurations here, compile "
            'it for that GPU by name, such as target="h100".'
        )
    return describe_local_gpu()[0].spec


def _sweep(report: Report, gpu: Gpu, name: str, requested: Collection[str] = ()) -> _Sweep:
    kernel = find_kernel(report, name)
    text = report.texts.get(kernel.text or "")
    if text is None:
        raise UsageError(f"The source of {kernel.id} is not in the report. Recompile it.")
    source = read_source(text)
    names = find_tunable(source, requested)
    if not names:
        fixed = ", ".join(source.signature) or "none"
        raise UsageError(f"{kernel.id} has no block sizes to change; its arguments are {fixed}.")
    own = []
    for row in report.resources:
        if row.kernel == kernel.id:
            values = {**source.constants, **source.fixed, **values_of(row.choice)}
            sizes = tuple((n, values[n]) for n in names if type(values.get(n)) is int)
            own.append(Config(sizes, row.warps, row.stages))
    programs = (report.texts.get(row.text or "") for row in report.wrappers)
    product: Mapping[str, int] = {}
    if source.is_user_product:
        product = read_product(source, kernel.name, filter(None, programs))
    recorded = read_record_work(report, kernel, gpu)
    return _Sweep(gpu, kernel, text, source, tuple(own), product, recorded)


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
        with_code=False,
        with_loop=sweep.source.is_user_product,
    )


def _try(sweep: _Sweep, config: Config) -> Candidate:
    """A configuration before it is compiled, with the reason where it need not be."""
    candidate = Candidate(config.sizes, config.warps, config.stages)
    if sweep.source.is_user_product:
        why = explain_no_step(sweep.source, sweep.product, config)
        return candidate if why is None else replace(candidate, verdict=WRONG, reason=why)
    division = find_division(sweep.source, config)
    if division is None:
        return candidate
    why = explain_wide_grid(division.grid, sweep.gpu)
    candidate = replace(candidate, grid=division.blocks)
    return candidate if why is None else replace(candidate, verdict=TOO_WIDE, reason=why)


def _judge(sweep: _Sweep, one: Candidate, built: Built) -> Candidate:
    return judge_built(one, built, sweep.gpu, partial(_describe, sweep, one, built))


def _describe(sweep: _Sweep, one: Candidate, built: Built, resources: Resources) -> Described:
    if sweep.source.is_user_product:
        resident = resources.blocks or 1
        return describe_product(
            sweep.gpu, sweep.source, sweep.product, one.config, resident=resident, loop=built.loop
        )
    if sweep.source.kind == "template":
        return describe_template(sweep.source, sweep.recorded, one)
    return describe_loop(sweep.gpu, sweep.source, sweep.recorded, one, resources)
