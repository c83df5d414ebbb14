"""What to change in single kernels: sizes, precision, attention, layouts, batches."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Sequence

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.number_text import plural
from workbench.specs import Gpu
from workbench.worlds.profiles.changes.profiled_kernels import ProfiledKernel
from workbench.worlds.profiles.rows.profile_rows import ProfileOpportunity

_WHOLE = 16  # bytes that a thread of a matrix unit's loader takes at once
_FEW_ROWS = 16  # a product with fewer is bound by reading its weights
_LAYOUTS = re.compile(r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|NCHW_to_NHWC|batched_transpose")


def find_kernel_changes(
    kernels: Sequence[ProfiledKernel], gpu: Gpu | None, busy_us: float
) -> Iterator[ProfileOpportunity]:
    """Those of every rule that finds something."""
    yield from _find_odd_sizes(kernels)
    if gpu is not None:
        yield from _find_full_precision(kernels, gpu)
    yield from _find_layouts(kernels)
    yield from _find_small_batches(kernels, busy_us)


def _find_odd_sizes(kernels: Sequence[ProfiledKernel]) -> Iterator[ProfileOpportunity]:
    """Products that are slow since a size is odd: another kernel is taken for them."""
    found: dict[tuple[int, int, str], list[ProfiledKernel]] = {}
    for kernel in kernels:
        odd = _find_odd_size(kernel)
        if odd is not None:
            found.setdefault((*odd, _at(kernel)), []).append(kernel)
    for (size, padded, where), own in found.items():
        savings = [_compare_to_others(kernel, kernels) for kernel in own]
        known = [saving for saving in savings if saving is not None]
        aligned = min(kernel.read.alignment or 1 for kernel in own)
        yield ProfileOpportunity(
            kind="sizes",
            title=f"Pad {size:,} to {padded:,}{where}",
            why=(
                f"Rows of {size:,} values are not aligned to {_WHOLE} bytes, so the kernel loads "
                f"{plural(aligned, 'value')} at a time (align{aligned}). The range assumes that "
                "the padded kernel reaches the share of its bound that other matmuls in this "
                "profile reach (worst to median)."
            ),
            code=f"torch.nn.functional.pad(x, …)  # {size} to {padded}, then slice the result",
            of_us=sum(kernel.row.time_us for kernel in own),
            least_us=sum(least for least, _ in known) if known else None,
            most_us=sum(most for _, most in known) if known else None,
            kernels=tuple(kernel.row.id for kernel in own),
            line=own[0].row.line,
        )


def _find_odd_size(kernel: ProfiledKernel) -> tuple[int, int] | None:
    """The size that keeps a product from the kernels for whole rows, and the next whole one."""
    work, aligned = kernel.work, kernel.read.alignment
    if kernel.kind != "product" or work.product is None or aligned is None:
        return None
    itemsize = next((tensor.itemsize for tensor in kernel.call.all_tensors()), 2)
    needed = _WHOLE // itemsize
    _, m, n, k = work.product
    odd = next((size for size in (n, k, m) if size % needed), None)
    return None if aligned >= needed or odd is None else (odd, -(-odd // needed) * needed)


def _compare_to_others(
    kernel: ProfiledKernel, kernels: Sequence[ProfiledKernel]
) -> tuple[float, float] | None:
    """What it would save if it came as near to its bound as other products of this profile do."""
    reached = [_reach(each) for each in kernels if _is_like(each, kernel)]
    own, known = _reach(kernel), [each for each in reached if each is not None]
    if own is None or not known:
        return None
    saved = sorted(
        max(0.0, kernel.row.time_us * (1 - own / other))
        for other in (min(known), statistics.median(known))
    )
    return saved[0], saved[1]


def _is_like(other: ProfiledKernel, kernel: ProfiledKernel) -> bool:
    """Whether it is a product at least half as large, without the fault."""
    work, own = other.work, kernel.work
    is_large = 2 * (work.operations or 0) >= (own.operations or 0)
    is_whole = (other.read.alignment or 8) > (kernel.read.alignment or 0)
    return other is not kernel and other.kind == "product" and is_large and is_whole


def _reach(kernel: ProfiledKernel) -> float | None:
    return None if kernel.bound is None else kernel.bound.reached(kernel.us)


def _find_full_precision(
    kernels: Sequence[ProfiledKernel], gpu: Gpu
) -> Iterator[ProfileOpportunity]:
    """Float32 products that do not use matrix units."""
    if not gpu.matrix.tf32 or not gpu.arch.startswith("sm_"):  # others have no such switch
        return
    full = [
        each
        for each in kernels
        if each.kind == "product"
        and each.work.dtype == "float32"
        and each.read.has_matrix_units is False
    ]
    of_us = sum(each.row.time_us for each in full)
    if not full:
        return
    bounds = [each.bound for each in full if each.bound and each.bound.compute_us]
    faster = find_peak_rate(gpu, "tf32", matrix=True)[1] or 0.0
    slower = find_peak_rate(gpu, "float32", matrix=False)[1] or 0.0
    most = None
    if bounds and faster > slower:  # reading and writing takes as long as before
        most = sum(
            max(each.row.time_us - max(each.row.time_us * slower / faster, _move(each)), 0.0)
            for each in full
        )
    yield ProfileOpportunity(
        kind="precision",
        title=f"Use TF32 for {plural(len(full), 'float32 matmul')}",
        why=(
            "They run without Tensor Cores. TF32 has the range of float32 and a 10-bit mantissa; "
            f"the {gpu.title} computes it at {faster / slower:.0f} times the rate."
            if slower
            else "They run without Tensor Cores."
        ),
        code='torch.set_float32_matmul_precision("high")',
        of_us=of_us,
        most_us=most,
        kernels=tuple(each.row.id for each in full),
        line=full[0].row.line,
    )


def _move(kernel: ProfiledKernel) -> float:
    """µs that all calls take at least to read and write, as far as that is known."""
    return 0.0 if kernel.bound is None else kernel.bound.memory_us * kernel.row.calls


def _find_layouts(kernels: Sequence[ProfiledKernel]) -> Iterator[ProfileOpportunity]:
    """Kernels that only turn a layout into the one that the next kernel wants."""
    turned = [
        each for each in kernels if each.read.part == "layout" or _LAYOUTS.search(each.row.name)
    ]
    if not turned:
        return
    of_us = sum(each.row.time_us for each in turned)
    yield ProfileOpportunity(
        kind="layout",
        title="Keep images in channels_last",
        why=(
            f"{plural(sum(each.row.calls for each in turned), 'kernel call')} only convert data to "
            "the layout that a convolution expects. Conversions of weights may remain."
        ),
        code="model, x = (each.to(memory_format=torch.channels_last) for each in (model, x))",
        of_us=of_us,
        most_us=of_us,
        kernels=tuple(each.row.id for each in turned),
        line=turned[0].row.line,
    )


def _find_small_batches(
    kernels: Iterable[ProfiledKernel], busy_us: float
) -> Iterator[ProfileOpportunity]:
    """Products of so few rows that reading the weights is all that they do."""
    small = [
        each
        for each in kernels
        if each.kind == "product"
        and each.work.product is not None
        and min(each.work.product[1:3]) <= _FEW_ROWS
        and each.work.product[0] == 1
        and (each.work.read_bytes or 0) > 1 << 20
    ]
    of_us = sum(each.row.time_us for each in small)
    if not small or of_us < busy_us / 10:
        return
    rows = max(min(each.work.product[1:3]) for each in small if each.work.product)
    yield ProfileOpportunity(
        kind="small batch",
        title=f"Process more than {plural(rows, 'row')} at a time",
        why=(
            "These matmuls read all their weights for few rows, so adding rows costs little time. "
            "This saves time per row, not per call."
        ),
        of_us=of_us,
        kernels=tuple(each.row.id for each in small),
        line=small[0].row.line,
    )


def _at(kernel: ProfiledKernel) -> str:
    """Where it is, in a title."""
    name = kernel.row.module.rpartition(".")[2].strip()
    return f" in {name}" if name and not name.isdigit() else ""
