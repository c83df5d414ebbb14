"""Every Triton kernel of what is given, a function or a compilation of it, on several GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.gpu_model.matrix import Matrix
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.handles.compare_targets import compare, gpus_of
from workbench.handles.compiled import Compiled
from workbench.handles.cross_compiled import CrossCompiled
from workbench.handles.dispatch import compile_for_target
from workbench.processes.messages import ProgressCallback
from workbench.report import Report
from workbench.specs import Gpu


def matrix(
    x: Any,
    args: tuple[Any, ...] | None,
    targets: Sequence[str],
    *,
    configs: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
) -> Matrix:
    """Compile every Triton kernel of `x` for several GPUs; see `workbench.matrix`."""
    report, is_ours = _compiled(x, args, gpus_of(targets)[0], progress)
    return compare(
        report, targets, is_ours=is_ours, configs=configs, progress=progress, worker=worker
    )


def _compiled(
    x: Any, args: tuple[Any, ...] | None, first: Gpu, progress: ProgressCallback | None
) -> tuple[Report, bool]:
    """The record, and whether its sources were generated or vouched for in this process."""
    report = x if isinstance(x, Report) else getattr(x, "report", None)
    if isinstance(report, Report):  # what an inspection of a file has found is nobody's
        return report, isinstance(x, Compiled | CrossCompiled)
    if not callable(x):
        raise UsageError(
            f"A {type(x).__name__} has no kernels. Pass what aot_compile returned, a report, or a "
            "function and its example inputs."
        )
    if args is None:
        raise UsageError(
            "A function has no kernels before it is compiled: pass its example inputs, too, "
            "wb.matrix(fn, (x,), targets=[…])."
        )
    compiled = compile_for_target(x, args, {}, CompileOptions(target=first.name), progress)
    return compiled.report, True
