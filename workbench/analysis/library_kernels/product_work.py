"""Operations and bytes of matmuls, convolutions and attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.library_kernels.library_kernel import LibraryKernel, Work, unknown
from workbench.analysis.library_kernels.operator_call import OperatorCall, Tensor

Estimator = Callable[[OperatorCall, LibraryKernel], Work]


def _find_factors(call: OperatorCall, first: int) -> tuple[Tensor, Tensor] | None:
    left, right = call.tensor(first), call.tensor(first + 1)
    if left is None or right is None or len(left.shape) not in (1, 2, 3):
        return None
    return left, right


def estimate_product(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """`mm`, `bmm`, `addmm`, `baddbmm`, `_scaled_mm` and their like."""
    adds = call.base_name.rstrip("_") in _ADDING
    factors = _find_factors(call, 1 if adds else 0)
    if factors is None:
        return unknown("the shapes of the operands were not recorded")
    left, right = factors
    if call.base_name == "linear":
        right = _transpose(right)
    sizes = _find_sizes(left, right)
    if sizes is None:
        return unknown(f"{left.shape} and {right.shape} are not operands of a matmul")
    batch, m, n, k = sizes
    added = call.tensor(0) if adds and call.value(3) != 0 else None
    written = batch * m * n * _find_result_size(call, left)
    return Work(
        operations=2 * batch * m * n * k,
        read_bytes=left.bytes + right.bytes + (added.bytes if added else 0),
        written_bytes=written,
        dtype=left.dtype,
        is_matrix=True,
        product=sizes,
        elements=batch * m * n,
    )


_ADDING = frozenset(("addmm", "baddbmm", "addmv", "addbmm", "_addmm_activation"))


def _transpose(tensor: Tensor) -> Tensor:
    return Tensor(tensor.shape[::-1], tensor.strides[::-1], tensor.dtype, tensor.itemsize)


def _find_sizes(left: Tensor, right: Tensor) -> tuple[int, int, int, int] | None:
    """(batch, M, N, K); a vector is a matrix of one row or column."""
    if len(left.shape) == 1 and len(right.shape) == 1:
        return (1, 1, 1, left.numel) if left.shape == right.shape else None
    if len(right.shape) == 1:
        return (1, left.numel // max(right.numel, 1), 1, right.numel)
    k, n = right.shape[-2:]
    if left.shape[-1] != k:
        return None
    if len(right.shape) == 3:
        return (left.shape[0], left.shape[1], n, k) if len(left.shape) == 3 else None
    return 1, math.prod(left.shape[:-1]), n, k


def _find_result_size(call: OperatorCall, left: Tensor) -> int:
    """The bytes of an element: those of the factors, at least two of what is computed in 8 bits."""
    if call.base_name == "_int_mm":
        return 4
    return 2 if left.dtype.startswith(("float8", "float4")) else left.itemsize


def estimate_grouped(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """`_grouped_mm`: rows of the first factor are shared out among the matrices of the second."""
    left, right = call.tensor(0), call.tensor(1)
    if left is None or right is None or len(left.shape) != 2 or len(right.shape) != 3:
        return unknown("the grouping of rows was not recorded")
    m, k = left.shape
    n = right.shape[2]
    item = 2 if left.itemsize == 1 else left.itemsize
    return Work(
        2 * m * n * k,
        left.bytes,
        m * n * item,
        left.dtype,
        is_matrix=True,
        product=(1, m, n, k),
        elements=m * n,
    )


_CONVOLUTIONS: Mapping[str, tuple[int, int, int, int, int | None]] = {
    "convolution": (4, 3, 5, 8, 6),
    "_convolution": (4, 3, 5, 8, 6),
    "convolution_overrideable": (4, 3, 5, 8, 6),
    "cudnn_convolution": (2, 3, 4, 5, None),
    "cudnn_convolution_relu": (4, 3, 5, 6, None),
    "cudnn_convolution_transpose": (2, 4, 5, 6, None),
    "miopen_convolution": (3, 4, 5, 6, None),
    "miopen_convolution_relu": (4, 3, 5, 6, None),
    "miopen_depthwise_convolution": (3, 4, 5, 6, None),
    "_conv_depthwise2d": (5, 4, 6, 0, None),
    "conv_depthwise3d": (5, 4, 6, 0, None),
}
"""By operator the places of padding, stride, dilation, groups, and whether it is transposed."""


def estimate_convolution(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """The forward pass of a convolution, as the product that it is."""
    source, weight = call.tensor(0), call.tensor(1)
    if source is None or weight is None or len(source.shape) != len(weight.shape):
        return unknown("the shapes of the convolution were not recorded")
    padding, stride, dilation, _, transposed = _CONVOLUTIONS[call.base_name]
    if call.base_name.endswith("_transpose") or (transposed and call.value(transposed)):
        return unknown("transposed convolutions are not counted")
    steps = [_spread(call.value(place), source) for place in (padding, stride, dilation)]
    if any(step is None for step in steps):
        return unknown("the padding and stride of the convolution were not recorded")
    sizes = _find_output(source, weight, *(step or [] for step in steps))
    result = Tensor(sizes, (), source.dtype, source.itemsize)
    return _describe_convolution(source, weight, result, steps[1] or [])


def _spread(value: Any, source: Tensor) -> list[int] | None:
    """One number for each dimension of the picture."""
    if isinstance(value, int):
        value = [value]
    if not isinstance(value, list) or not value:
        return None
    dims = len(source.shape) - 2
    return value * dims if len(value) == 1 else value[-dims:]


def _find_output(
    source: Tensor, weight: Tensor, padding: list[int], stride: list[int], dilation: list[int]
) -> tuple[int, ...]:
    places = zip(source.shape[2:], weight.shape[2:], padding, stride, dilation, strict=False)
    picture = (
        (size + 2 * pad - spread * (kernel - 1) - 1) // max(step, 1) + 1
        for size, kernel, pad, step, spread in places
    )
    return (source.shape[0], weight.shape[0], *picture)


def _describe_convolution(
    source: Tensor, weight: Tensor, result: Tensor, stride: Sequence[int]
) -> Work:
    """The work of it, as the product that it is: pixels by channels by what each is made of."""
    depth = math.prod(weight.shape[1:])  # channels of a group, and the picture of the kernel
    pixels = result.shape[0] * math.prod(result.shape[2:])
    groups = max(source.shape[1] // max(weight.shape[1], 1), 1)
    touched = [
        min(size, out * kernel) if step > kernel else size
        for size, out, kernel, step in zip(
            source.shape[2:], result.shape[2:], weight.shape[2:], stride, strict=False
        )
    ]
    read_elements = source.shape[0] * source.shape[1] * math.prod(touched)
    return Work(
        operations=2 * pixels * weight.shape[0] * depth,
        read_bytes=read_elements * source.itemsize + weight.bytes,
        written_bytes=result.numel * source.itemsize,
        dtype=source.dtype,
        is_matrix=groups == 1 or weight.shape[1] > 1,
        product=(groups, pixels, weight.shape[0] // groups, depth),
        channels=weight.shape[1],
        elements=result.numel,
    )


def estimate_convolution_backward(call: OperatorCall, kernel: LibraryKernel) -> Work:
    """One of the two gradients; which, only the name of the kernel says."""
    gradient, source, weight = (call.tensor(place) for place in range(3))
    if gradient is None or source is None or weight is None:
        return unknown("the shapes of the convolution were not recorded")
    if call.value(7):
        return unknown("transposed convolutions are not counted")
    part = kernel.part
    if part not in ("input gradient", "weight gradient"):
        return unknown("the kernel's name does not show which gradient it computes")
    forward = _describe_convolution(source, weight, gradient, call.value(4) or [])
    groups, pixels, channels, depth = forward.product or (1, 1, 1, 1)
    if part == "input gradient":
        read, written = gradient.bytes + weight.bytes, source.bytes
        input_pixels = source.shape[0] * math.prod(source.shape[2:])
        k = (forward.operations or 0) // max(2 * groups * input_pixels * weight.shape[1], 1)
        sizes = (groups, input_pixels, weight.shape[1], k)
    else:
        read = gradient.bytes + (forward.read_bytes or 0) - weight.bytes
        written, sizes = weight.bytes, (groups, channels, depth, pixels)
    return Work(
        forward.operations,
        read,
        written,
        source.dtype,
        is_matrix=forward.is_matrix,
        product=sizes,
        elements=written // source.itemsize,
        channels=weight.shape[1],
    )


_ATTENTION: Mapping[str, tuple[int, int | None, bool]] = {
    "_flash_attention_forward": (0, 8, True),
    "_flash_attention_backward": (1, 11, True),
    "_efficient_attention_forward": (0, None, True),
    "_efficient_attention_backward": (1, None, True),
    "_cudnn_attention_forward": (0, 9, False),
    "_cudnn_attention_backward": (1, 14, False),
    "_scaled_dot_product_flash_attention": (0, 4, False),
    "_scaled_dot_product_flash_attention_backward": (1, 11, False),
    "_scaled_dot_product_efficient_attention": (0, 6, False),
    "_scaled_dot_product_cudnn_attention": (0, 6, False),
    "_scaled_dot_product_cudnn_attention_backward": (1, 14, False),
    "scaled_dot_product_attention": (0, 5, False),
    "_flash_attn_forward": (0, 5, True),
    "_flash_attn_backward": (1, 11, True),
}
"""By operator where the query stands, where it is said to be causal, whether heads come third."""
_SUMMED = {
    "_flash_attention_forward": 3,
    "_flash_attention_backward": 6,
    "_cudnn_attention_backward": 9,
    "_efficient_attention_forward": 4,
    "_efficient_attention_backward": 6,
}
"""Where the lengths of sequences that are packed behind one another would stand."""


def fill_causal(call: OperatorCall) -> OperatorCall:
    """A call of attention with all its arguments: where it does not say so, it is not causal."""
    place = _ATTENTION.get(call.base_name, (0, None, False))[1]
    if place is None or len(call) > place:
        return call
    numbers = [*call.concrete_inputs, *[""] * (place - len(call.concrete_inputs)), "False"]
    missing = place + 1 - len(call)
    return replace(
        call,
        shapes=[*call.shapes, *[()] * missing],
        dtypes=[*call.dtypes, *[""] * missing],
        concrete_inputs=numbers,
    )


def estimate_attention(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Scores and their products with the values; backward two and a half times as much."""
    first, causal, is_third = _ATTENTION[call.base_name]
    query, key, value = (call.tensor(first + place) for place in range(3))
    if query is None or key is None or value is None:
        return unknown("the shapes of the attention were not recorded")
    packed = _SUMMED.get(call.base_name)
    if len(query.shape) != 4 or (packed is not None and call.tensor(packed) is not None):
        return unknown("profiles do not record the lengths of packed sequences")
    head, length = (2, 1) if is_third else (1, 2)
    heads, rows, columns = (
        query.shape[0] * query.shape[head],
        query.shape[length],
        key.shape[length],
    )
    is_causal = call.value(causal) if causal is not None else None
    pairs = rows * columns if is_causal is False else count_causal(rows, columns)
    widths = query.shape[-1] + value.shape[-1]
    is_backward = first == 1
    # Scores and their product with the values; backward five products in the place of these two.
    per_pair = 3 * query.shape[-1] + 2 * value.shape[-1] if is_backward else widths
    inputs = query.bytes + key.bytes + value.bytes
    result = query.numel // query.shape[-1] * value.shape[-1] * query.itemsize
    return Work(
        operations=2 * heads * pairs * per_pair,
        read_bytes=inputs + 2 * result if is_backward else inputs,
        written_bytes=inputs if is_backward else result,
        dtype=query.dtype,
        is_matrix=True,
        product=(heads, rows, columns, query.shape[-1]),
        elements=query.numel,
        reason="assumed to be causal, because the profile does not record it"
        if is_causal is None
        else None,
    )


def count_causal(rows: int, columns: int) -> int:
    """Scores on and below the diagonal, the least by either way to lay it."""
    both = min(rows, columns)
    return both * (both + 1) // 2


ESTIMATORS: dict[str, Estimator] = {
    **dict.fromkeys(
        (
            *("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "linear", "matmul"),
            *("_scaled_mm", "_int_mm", "_addmm_activation", "addmm_"),
        ),
        estimate_product,
    ),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm"), estimate_grouped),
    **dict.fromkeys(_CONVOLUTIONS, estimate_convolution),
    "convolution_backward": estimate_convolution_backward,
    **dict.fromkeys(_ATTENTION, estimate_attention),
}
"""By operator, without namespace, what counts its work."""
