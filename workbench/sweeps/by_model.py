"""What a cost model gives a trial for a virtual GPU, in place of a measured time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.analysis.forecast.forecast import find_forecast, list_kernels
from workbench.analysis.trials.axes import COUNTS, split_parameter
from workbench.compiler.virtual_gpu.kernel_choice import find_kernel, list_triton_kernels
from workbench.errors import UsageError
from workbench.handles.kernels.ranked import list_changeable, rank_changed
from workbench.number_text import plural
from workbench.report import Kernel, Report
from workbench.report.trials import Trial
from workbench.specs import Gpu


def estimate_call(trial: Trial, report: Report) -> Trial:
    """The call by the calibrated model, with launches; where that has none, its bounds added up."""
    told = find_forecast(report)
    if told is None:
        bounds = _bounds(report)
        known = [bounds[kernel.id] * _calls(kernel) for kernel in report.kernels
                 if kernel.id in bounds]  # fmt: skip
        missing = len(report.kernels) - len(known)
        count = plural(len(report.kernels), "kernel")
        warning = f"no bound for {missing} of {count}" if missing else None
        return replace(trial, call_us=sum(known) or None, is_model=True, warning=warning)
    missing = sum(row.source == "bound" for row in told.rows)
    warnings = (
        [f"{missing} of {plural(len(told.rows), 'kernel')} at their bound"] if missing else []
    )
    if any(row.error is None and row.source == "modelled" for row in told.rows):
        warnings.append(f"the model's error was not measured on {told.target}")
    return replace(
        trial,
        call_us=told.call_us,
        low_us=told.least_us,
        high_us=told.most_us,
        is_model=True,
        warning="; ".join(warnings) or None,
    )


def estimate_by_configs(
    trial: Trial, report: Report, gpu: Gpu, wanted: Mapping[str, int]
) -> tuple[Trial, Report]:
    """The model's time of the kernels with these parameters, and the report with what was tried.

    What is not wanted of a kernel stays as Inductor's own configurations have it; of those the best
    by the model counts. A call of a library takes what a forecast says. Raises `UsageError` for a
    parameter that no kernel has; the message lists those that there are.
    """
    changes = parse_changes(report, wanted)
    roofs = {row.kernel: row for row in report.own_roofline}
    others = {row.kernel: row.us or None for row in list_kernels(report, gpu, roofs)}
    times: list[float | None] = []
    for kernel in report.kernels:
        if kernel.id not in changes:
            times.append(others[kernel.id])
            continue
        ranked = rank_changed(report, gpu, kernel.id, changes[kernel.id])
        report, best = ranked.report, ranked.rows[0]
        if best.model_us is None:
            sizes = plural(best.warps, "warp"), plural(best.stages, "stage")
            asked = filter(None, (best.choice, *sizes))
            why = best.rejection or best.note or "there is no model for its grid"
            reason = f"{best.kernel} with {', '.join(asked)}: {why}"
            return replace(trial, status="failed", reason=reason, is_model=True), report
        times.append(best.model_us * _calls(kernel))
    known = [time for time in times if time is not None]
    missing = len(times) - len(known)
    count = plural(len(times), "kernel")
    warning = f"a model has no time for {missing} of {count}" if missing else None
    return replace(trial, call_us=sum(known) or None, is_model=True, warning=warning), report


def parse_changes(report: Report, wanted: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """What is wanted of each Triton kernel, by its id; "k0.XBLOCK" is wanted of one alone."""
    kernels = list_triton_kernels(report)
    sizes = {kernel.id: list_changeable(report, kernel.id) for kernel in kernels}
    by_kernel: dict[str, dict[str, int]] = {kernel.id: {} for kernel in kernels}
    for axis, value in sorted(wanted.items(), key=lambda pair: "." in pair[0]):  # the one wins
        name, parameter = split_parameter(axis)
        asked = [find_kernel(report, name).id] if name else list(by_kernel)
        having = [id for id in asked if parameter in (*sizes[id], *COUNTS)]
        if not having:
            known = "; ".join(
                f"{id} has {', '.join((*names, *COUNTS))}" for id, names in sizes.items()
            )
            raise UsageError(f"No kernel has {axis} that a sweep may change: {known}.")
        for id in having:
            by_kernel[id][parameter] = value
    return by_kernel


def _calls(kernel: Kernel) -> int:
    return max(kernel.calls, 1)


def _bounds(report: Report) -> dict[str, float]:
    return {row.kernel: row.bound_us for row in report.roofline if row.bound_us is not None}
