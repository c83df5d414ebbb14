"""Compiles a call of a hand-written kernel in the warm worker, for one GPU or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.analysis.gpu_model.matrix import Matrix
from workbench.analysis.kernel_configs.config_space import explain_wide_grid
from workbench.compiler.kernels.kernel_call import EmptyGrid, KernelCall
from workbench.compiler.kernels.kernel_variants import Variant, list_variants, make_source
from workbench.compiler.virtual_gpu.client import build_all, keep_warm_worker
from workbench.compiler.virtual_gpu.kernel_choice import Build, Built
from workbench.errors import CaptureError
from workbench.handles.kernels.compare_targets import find_target_gpus, record_matrix
from workbench.number_text import plural
from workbench.report import Report
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import ProgressCallback
from workbench.worlds.own_kernels.handles.kernel_report import KERNEL, make_report

_MOST_SAID = 4  # configurations that do not fit, in one message


def compile_call(call: KernelCall, gpu: Gpu, progress: ProgressCallback | None = None) -> Report:
    """The record of a call for a GPU, in the first configuration that fits.

    Raises `CaptureError` where none does, or Triton does not compile it.
    """
    variant, built, failed = find_fitting(call, gpu, progress)
    notes = [*_list_notes(call, gpu, variant, failed)]
    return make_report(call, gpu, [(variant, built)], notes)


def find_fitting(
    call: KernelCall, gpu: Gpu, progress: ProgressCallback | None = None
) -> tuple[Variant, Built, list[str]]:
    """The first configuration that fits on a GPU, its code, and why those before it do not."""
    variants = list_variants(call, gpu.kind.build)
    failed: list[str] = []
    for number, variant in enumerate(variants):
        build = make_build(call, gpu, variant, f"{KERNEL}:c{number}")
        built = build_all([build], keep_warm_worker(), progress, "configuration")[build.id]
        why = explain_misfit(built) or explain_grid(call, gpu, variant)
        if why is None:
            return variant, built, failed
        failed.append(f"{variant.choice}: {why}" if call.configs else why)
    if not call.configs:
        raise CaptureError(f"{call.name}: {failed[0]}")
    said = "; ".join(why.rstrip(".") for why in failed[:_MOST_SAID])
    more = f"; and {len(failed) - _MOST_SAID} more" if len(failed) > _MOST_SAID else ""
    raise CaptureError(
        f"{call.name}: none of the autotuner's {plural(len(variants), 'configuration')} fits on "
        f"{gpu.name} ({said}{more}). Add a smaller one."
    )


def make_build(call: KernelCall, gpu: Gpu, variant: Variant, id: str) -> Build:
    """One configuration of a call, to be compiled for a GPU."""
    return Build(id, KERNEL, Device(gpu), choice=variant.choice, own=make_source(call, variant))


def explain_misfit(built: Built) -> str | None:
    """Why a configuration cannot be launched; None where it can."""
    if built.resources is None:
        return built.note or "Triton does not compile it."
    if built.resources.blocks == 0:
        return f"it cannot be launched: {built.resources.note}"
    return None


def explain_grid(call: KernelCall, gpu: Gpu, variant: Variant) -> str | None:
    """Why the grid of a configuration launches nothing on a GPU; None where it does."""
    try:
        grid = call.resolve_grid({**variant.constants, **variant.options})
    except EmptyGrid as error:
        return f"it launches nothing: {str(error).partition(': ')[2]}"
    why = explain_wide_grid(grid, gpu)
    return None if why is None else f"it cannot be launched: {why}."


def _list_notes(
    call: KernelCall, gpu: Gpu, variant: Variant, failed: Sequence[str]
) -> Iterator[str]:
    if call.configs:
        many = plural(len(call.configs), "configuration")
        does = "does" if len(failed) == 1 else "do"
        behind = f", after {len(failed)} that {does} not" if failed else ""
        yield (
            f"The first of the autotuner's {many} that fits on {gpu.name}{behind}: "
            f"{variant.choice}. Nothing was timed; k.rank_configs() ranks them by modelled time."
        )
    if variant.dropped:
        yield f"{', '.join(variant.dropped)}: not an option on {gpu.title}, ignored."
    if call.is_data_free:
        yield "Compiled, but cannot run: a tensor is on meta and has no values."


def compare_call(
    report: Report,
    call: KernelCall,
    targets: Sequence[str],
    progress: ProgressCallback | None = None,
) -> Matrix:
    """The call on several GPUs, each in the configuration of the record, or the first that fits."""
    gpus = find_target_gpus(targets)
    own = report.resources[0].choice
    builds: dict[str, Build] = {}
    against: dict[str, str] = {}
    for gpu in gpus:
        variants = list_variants(call, gpu.kind.build)
        variant = next((each for each in variants if each.choice == own), variants[0])
        build = make_build(call, gpu, variant, f"{KERNEL}:{gpu.name}")
        if why := explain_grid(call, gpu, variant):
            against[build.id] = why
        builds[build.id] = replace(
            build,
            warps=int(variant.options.get("num_warps", build.warps)),
            stages=int(variant.options.get("num_stages", build.stages)),
        )
    built = {
        id: replace(each, note=against.get(id, each.note))
        for id, each in build_all(builds.values(), keep_warm_worker(), progress).items()
    }
    return Matrix(record_matrix(report, gpus, builds, built), tuple(gpu.name for gpu in gpus))
