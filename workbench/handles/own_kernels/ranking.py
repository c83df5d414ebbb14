"""Configurations of a hand-written kernel, compiled for its GPU and ranked by a model.

Products of matrices are ranked by `analysis.product_configs`, which counts what their loop issues,
all others by `analysis.kernel_configs.config_model`. What a kernel moves is what a run has counted;
before one every tensor is taken as moved once, which is the same for every configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from workbench.analysis.gpu_model.roofline import rooflines
from workbench.analysis.kernel_configs.config_model import (
    Launch,
    RankedConfigs,
    Work,
    estimate,
    rank_rows,
)
from workbench.analysis.kernel_configs.config_space import Config
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.product_configs.user_product import (
    check_sizes,
    estimate_user_product,
    explain_no_step,
    read_sizes,
)
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.kernels.kernel_variants import Variant, list_variants
from workbench.compiler.virtual_gpu.client import build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.kernel_choice import Built
from workbench.errors import UsageError
from workbench.handles.kernels.ranked import describe_built
from workbench.handles.own_kernels.compiling import explain_grid, make_build
from workbench.handles.own_kernels.kernel_report import KERNEL
from workbench.report import Report, Table
from workbench.report.machine_rows import KernelRoofline, RankedConfig
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback

_ALL_ONCE = "every tensor taken as moved once: k.check counts what is"


@dataclass(frozen=True)
class _Ranking:
    """One call on one GPU, and what is known of its work."""

    call: KernelCall
    gpu: Gpu
    source: TritonSource
    sizes: Mapping[str, int]
    roof: KernelRoofline | None


def rank_call(
    report: Report,
    call: KernelCall,
    gpu: Gpu,
    configs: Iterable[Any] | None,
    sizes: Mapping[str, int],
    progress: ProgressCallback | None = None,
) -> RankedConfigs:
    """The record with the table `ranked_configs`; raises `UsageError` without configurations."""
    given = None if configs is None else list(configs)
    if not given and not call.configs:
        raise UsageError(
            f"{call.name} has no autotuner, so that there are no configurations to rank. Give "
            'them: k.rank_configs([{"BLOCK": 128, "num_warps": 4}, …]).'
        )
    check_sizes(sizes)
    source = describe_source(call)
    if sizes and not source.is_user_product:
        raise UsageError(f"sizes are for products of matrices: {call.name} has no tl.dot.")
    variants = list_variants(call, gpu.kind.build, given)
    ids = {f"{KERNEL}:r{number}": variant for number, variant in enumerate(variants)}
    builds = [
        replace(make_build(call, gpu, variant, id), with_code=source.is_user_product)
        for id, variant in ids.items()
    ]
    built = build_all(builds, keep_warm_worker(), progress, "configuration")
    roof = next((row for row in rooflines(report, gpu) if row.kernel == KERNEL), None)
    asked = _Ranking(call, gpu, source, {**read_sizes(call.arguments), **sizes}, roof)
    rows = rank_rows(_rank(asked, variant, built[id]) for id, variant in ids.items())
    table = Table.of(RankedConfig, rows)
    return RankedConfigs(
        replace(report, tables={**report.tables, "ranked_configs": table}), KERNEL, gpu.name
    )


def describe_source(call: KernelCall) -> TritonSource:
    """What the models ask of a kernel: the types of its arguments, whether it multiplies."""
    from triton._utils import canonicalize_dtype

    signature = {
        name: f"*{canonicalize_dtype(tensor.dtype)}" for name, tensor in call.tensors().items()
    }
    text: str = call.jit.src
    return TritonSource(
        name=call.name,
        kind="user_autotune",
        signature=signature,
        constants={n: v for n, v in call.meta.items() if n in call.constants},
        multiplies="tl.dot(" in text,
    )


def _rank(asked: _Ranking, variant: Variant, built: Built) -> RankedConfig:
    """One configuration before it has a rank."""
    taken = built.resources
    options = variant.options
    row = RankedConfig(
        KERNEL,
        asked.gpu.name,
        variant.choice,
        warps=taken.warps if taken else int(options.get("num_warps", 4)),
        stages=taken.stages if taken else int(options.get("num_stages", 3)),
    )
    row = describe_built(row, built)
    if row.rejection is not None or taken is None:
        return row
    if why := explain_grid(asked.call, asked.gpu, variant):
        return replace(row, rejection=why.removeprefix("it ").rstrip("."))
    config = Config(variant.sizes, row.warps, row.stages)
    if asked.source.is_user_product:
        against = explain_no_step(asked.source, asked.sizes, config)
        if against is not None:
            return replace(row, rejection=against)
        codes = (each.text for each in built.assembly if each.stage in ("sass", "amdgcn"))
        found = estimate_user_product(
            asked.gpu, asked.source, asked.sizes, config, resident=taken.blocks or 1,
            code=built.texts.get(next(codes, None) or ""),
        )  # fmt: skip
        if isinstance(found, str):
            return replace(row, note=row.note or found)
        why = f"by the model a step along K mostly waits for {found.because}"
        return replace(row, model_us=found.us, note=row.note or why)
    counted = None if asked.roof is None else asked.roof.moved_bytes
    tensors = asked.call.tensors(with_parts=True).values()
    moved = counted or sum(t.numel() * t.itemsize for t in tensors)
    work = Work(
        moved_bytes=float(moved),
        flops=float((asked.roof.flops if asked.roof else None) or 0),
        tflops=asked.roof.rate_tflops if asked.roof else None,
        width=max((t.itemsize for t in tensors), default=4),
    )
    blocks = prod(asked.call.resolve_grid({**variant.constants, **variant.options}))
    times = estimate(
        asked.gpu,
        work,
        Launch(blocks, run=max((size for _, size in variant.sizes), default=1)),
        resident=taken.blocks or 1,
        threads=row.warps * asked.gpu.warp_size,
        stack=taken.stack or 0,
    )
    why = f"by the model mostly {times.because}"
    why = why if counted is not None else f"{why}; {_ALL_ONCE}"
    return replace(row, model_us=times.time_us, note=row.note or why)
