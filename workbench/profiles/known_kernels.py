"""What is known of each kernel from its name and its operator: its kind, its bound, why slow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.analysis.kernel_time.kernel_time import LibraryLaunch, time_kernel
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel, list_slow_reasons
from workbench.analysis.library_kernels.kernel_names import read_kernel_name
from workbench.analysis.library_kernels.operator_work import (
    OperatorCall,
    estimate_work,
    read_operator_kind,
)
from workbench.number_text import number_text
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.kernel_rows import KernelRows
from workbench.report.profile.profile_rows import RanKernel
from workbench.specs import Gpu

_MAIN = ("product", "attention")
_FASTER = 1.02  # of a bound: what the clock of a profile may be off by
_OF_COPIES = ("copy", "fill")


def add_facts(work: DeviceWork, kernels: KernelRows, gpu: Gpu | None) -> list[RanKernel]:
    """The rows with what their names and operators say; bounds where the GPU is known."""
    sharing = count_sharing(work, kernels)
    beside = find_beside(work, kernels)
    return [
        describe_kernel(row, shared, gpu, is_beside=is_beside)
        for row, shared, is_beside in zip(kernels.rows, sharing, beside, strict=True)
    ]


def describe_kernel(
    row: RanKernel, sharing: int, gpu: Gpu | None, *, is_beside: bool = False
) -> RanKernel:
    """The row with what is known of it; `sharing` kernels share the work of one operator.

    `is_beside` says that another kernel of the operator does its work.
    """
    if row.kind != "kernel":
        does = "copy" if row.kind in _OF_COPIES else read_operator_kind(row.operator)
        return replace(row, does=does)
    kernel = read_kernel_name(row.name)
    if is_beside:
        kernel = replace(kernel, part="helper")
    call = OperatorCall(row.operator, row.shapes, row.dtypes, row.strides, row.inputs)
    work = estimate_work(call, kernel, launches=sharing)
    named = replace(row, does=kernel.kind, operations=work.operations, work_bytes=work.bytes)
    if gpu is None:
        return named
    blocks = kernel.count_blocks(row.grid, row.block)
    reasons = list_slow_reasons(kernel, work, gpu, call=call, blocks=blocks)
    modelled = time_kernel(work, LibraryLaunch(kernel, blocks), gpu)
    told = replace(
        named,
        why_slow="; ".join(reasons),
        modelled_us=modelled.us,
        modelled_error=modelled.error,
        modelled_why=modelled.because,
    )
    bound = bound_kernel(kernel, work, gpu)
    if bound is None:
        return told
    reached = bound.reached(row.time_us / row.calls)
    if reached is not None and reached > _FASTER:
        # what is counted cannot be its own: its operator has other work, or other shapes
        mean_us, least_us = (
            number_text(us * 1e-6, "seconds") for us in (row.time_us / row.calls, bound.us)
        )
        reasons.append(
            f"no bound: it took {mean_us}, and all the work of its operator takes {least_us} at "
            "least, so that only a part of it is its own"
        )
        return replace(named, why_slow="; ".join(reasons))
    return replace(told, bound_us=bound.us, bound_by=bound.limit, reached=reached)


def find_beside(work: DeviceWork, kernels: KernelRows) -> list[bool]:
    """By row whether it is a kernel of unknown kind beside a product or attention of its call.

    What an operator computes is then the work of the latter.
    """
    known = [read_kernel_name(row.name) for row in kernels.rows]
    is_main, is_other = (
        np.array([row.kind == "kernel" and kernel.kind in kinds and not kernel.is_helper
                  for row, kernel in zip(kernels.rows, known, strict=True)], bool)
        for kinds in (_MAIN, ("other",))
    )  # fmt: skip
    has_call = work.operator >= 0
    with_main = np.unique(work.operator[is_main[kernels.row_of_run] & has_call])
    beside = is_other[kernels.row_of_run] & np.isin(work.operator, with_main) & has_call
    found = set(kernels.row_of_run[beside].tolist())
    return [row in found for row in range(len(kernels.rows))]


def count_sharing(work: DeviceWork, kernels: KernelRows) -> list[int]:
    """By row how many kernels of one call of its operator share its part of the work.

    The two gradients of a convolution are two parts; helpers are not counted.
    """
    known = [read_kernel_name(row.name) for row in kernels.rows]
    parts = [(kernel.kind, kernel.part, kernel.family) for kernel in known]
    numbers = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    part_of_run = np.array([numbers[part] for part in parts], np.int64)[kernels.row_of_run]
    is_own = [row.kind == "kernel" and not kernel.is_helper
              for row, kernel in zip(kernels.rows, known, strict=True)]  # fmt: skip
    counted = np.array(is_own, bool)[kernels.row_of_run] & (work.operator >= 0)
    pairs = work.operator[counted] * len(numbers) + part_of_run[counted]
    _, place, runs = np.unique(pairs, return_inverse=True, return_counts=True)
    most = np.ones(len(kernels.rows), np.int64)
    np.maximum.at(most, kernels.row_of_run[counted], runs[place])
    return [int(count) for count in most]
