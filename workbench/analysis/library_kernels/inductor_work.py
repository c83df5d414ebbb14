"""Bytes of Inductor's Triton kernels, whose arguments a profile lists as an operator's."""

from __future__ import annotations

import math

from workbench.analysis.library_kernels.kernel_work import Work, unknown
from workbench.analysis.library_kernels.library_kernel import LibraryKernel
from workbench.analysis.library_kernels.operator_call import OperatorCall, Tensor

_PARTLY_READ = ("embedding", "index", "gather", "slice", "select", "scatter", "constant_pad")
"""Words in a name that say that a tensor is read by indices or in part."""


def estimate_inductor(call: OperatorCall, kernel: LibraryKernel) -> Work:
    """Every tensor once: no more of each than the kernel has elements to go through.

    What is written in place counts once here, since a profile does not tell it apart.
    """
    tensors = call.all_tensors()
    if not tensors:
        return unknown("the shapes of its inputs were not recorded")
    if kernel.has_matrix_units:
        return estimate_template(tensors)
    elements = _count_elements(call) or max(tensor.numel for tensor in tensors)
    counted = [min(tensor.unique, elements) * tensor.itemsize for tensor in tensors]
    total, largest = sum(counted), max(tensor.numel for tensor in tensors)
    is_partly_read = any(word in call.name for word in _PARTLY_READ)
    result = counted[-1]
    return Work(
        operations=min(elements, max(largest, 1)),
        read_bytes=0 if is_partly_read else total - result,
        written_bytes=min(counted) if is_partly_read else result,
        dtype="float32",
        rows=_find_rows(call) if kernel.kind == "reduction" else None,
        elements=min(elements, max(largest, 1)),
        gathered_bytes=total - min(counted) if is_partly_read else 0,
        is_strided=len({tensor.fastest == len(tensor.shape) - 1 for tensor in tensors
                        if 2 * tensor.numel > largest and tensor.shape}) > 1,
    )  # fmt: skip


def _list_sizes(call: OperatorCall) -> list[int]:
    """The numbers among the arguments: for how many elements the kernel is started."""
    values = [call.value(place) for place in range(len(call)) if call.dtypes[place] == "Scalar"]
    return [n for n in values if isinstance(n, int) and not isinstance(n, bool) and n > 0]


def _count_elements(call: OperatorCall) -> int | None:
    sizes = _list_sizes(call)
    return math.prod(sizes[-3:]) if sizes else None


def _find_rows(call: OperatorCall) -> tuple[int, int] | None:
    """The number of rows and their length: the last two numbers."""
    sizes = _list_sizes(call)
    return (math.prod(sizes[:-1]), sizes[-1]) if len(sizes) > 1 else None


def estimate_template(tensors: list[Tensor]) -> Work:
    """A product, by the shapes: two factors that fit, and the last tensor as their result."""
    result = tensors[-1]
    for left in tensors[:-1]:
        for right in tensors[:-1]:
            is_matrix = len(left.shape) == len(right.shape) == len(result.shape) == 2
            if left is right or not is_matrix or left.shape[1] != right.shape[0]:
                continue
            if result.shape == (left.shape[0], right.shape[1]):
                return _describe_product(left, right, result)
    return unknown("which of its inputs are factors, its shapes do not say")


def _describe_product(left: Tensor, right: Tensor, result: Tensor) -> Work:
    (m, k), n = left.shape, right.shape[1]
    return Work(
        2 * m * n * k, left.bytes + right.bytes, result.numel * result.itemsize, left.dtype,
        is_matrix=True, product=(1, m, n, k), elements=m * n,
    )  # fmt: skip
