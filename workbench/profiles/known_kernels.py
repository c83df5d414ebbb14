"""What is known of each kernel from its name and its operator: its kind, its bound, why slow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.analysis.library_kernels.kernel_bounds import bound_kernel, list_slow_reasons
from workbench.analysis.library_kernels.kernel_names import read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, estimate_work
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.kernel_rows import KernelRows
from workbench.report.profile.profile_rows import RanKernel
from workbench.specs import Gpu

_OF_COPIES = ("copy", "fill")


def add_facts(work: DeviceWork, kernels: KernelRows, gpu: Gpu | None) -> list[RanKernel]:
    """The rows with what their names and operators say; bounds where the GPU is known."""
    sharing = count_sharing(work, kernels)
    return [
        describe_kernel(row, shared, gpu) for row, shared in zip(kernels.rows, sharing, strict=True)
    ]


def describe_kernel(row: RanKernel, sharing: int, gpu: Gpu | None) -> RanKernel:
    """The row with what is known of it; `sharing` kernels share the work of one operator."""
    if row.kind != "kernel":
        return replace(row, does="copy" if row.kind in _OF_COPIES else "other")
    kernel = read_kernel_name(row.name)
    call = OperatorCall(row.operator, row.shapes, row.dtypes, row.strides, row.inputs)
    work = estimate_work(call, kernel, launches=sharing)
    named = replace(row, does=kernel.kind, operations=work.operations, work_bytes=work.bytes)
    if gpu is None:
        return named
    reasons = list_slow_reasons(kernel, work, gpu, call=call, grid=row.grid)
    bound = bound_kernel(kernel, work, gpu)
    why = "; ".join(reasons)
    if bound is None:
        return replace(named, why_slow=why)
    reached = bound.reached(row.time_us / row.calls)
    return replace(named, bound_us=bound.us, bound_by=bound.limit, reached=reached, why_slow=why)


def count_sharing(work: DeviceWork, kernels: KernelRows) -> list[int]:
    """By row how many kernels one call of its operator starts, helpers not counted."""
    is_helper = [read_kernel_name(row.name).is_helper for row in kernels.rows]
    is_own = [row.kind == "kernel" and not helps
              for row, helps in zip(kernels.rows, is_helper, strict=True)]  # fmt: skip
    counted = np.array(is_own, bool)[kernels.row_of_run]
    operator = work.operator
    runs = np.bincount(operator[counted & (operator >= 0)], minlength=len(work.hosts))
    most = np.ones(len(kernels.rows), np.int64)
    known = operator >= 0
    np.maximum.at(most, kernels.row_of_run[known], runs[operator[known]])
    return [int(count) for count in most]
