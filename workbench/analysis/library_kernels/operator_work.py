"""Operations and traffic of one call of an operator, for each kernel that it launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.analysis.library_kernels import product_work
from workbench.analysis.library_kernels.library_kernel import Kind, LibraryKernel, unknown
from workbench.analysis.library_kernels.library_kernel import Work as Work
from workbench.analysis.library_kernels.operator_call import OperatorCall as OperatorCall
from workbench.analysis.library_kernels.operator_call import (
    Tensor,
    broadcast,
    promote,
)
from workbench.analysis.library_kernels.product_work import Estimator
from workbench.analysis.library_kernels.product_work import fill_causal as fill_causal

_SUMS = frozenset(
    f"native_{norm}_norm{end}" for norm in ("batch", "group", "layer") for end in ("", "_backward")
)
"""Norms of torch's own: their helpers are kernels that read everything, and are counted.

Not so those that make scale and shift of each channel from its sums: `ComputeFusedParams`.
"""
_FILLED = frozenset(("fill_", "zero_", "zeros", "ones", "full"))
_KINDS: Mapping[Kind, str] = {
    "attention": "attention",
    "product": "mm addmm bmm baddbmm linear matmul mv dot convolution conv1d conv2d conv3d einsum",
    "collective": "allreduce allgather alltoall reducescatter broadcast",
    "reduction": "sum mean prod norm softmax amax amin argmax argmin var std topk sort cumsum "
    "logsumexp pool1d pool2d pool3d loss nll",
    "copy": "copy to clone cat stack fill zero contiguous index gather embedding",
    "elementwise": "add sub mul div neg abs exp log sqrt rsqrt pow where clamp gelu relu silu tanh "
    "sigmoid hardtanh dropout threshold sin cos foreach",
}
"""By what an operator does, words of which its name has one, parted by underscores."""
_IMPOSSIBLE = (ValueError, IndexError, TypeError, ArithmeticError)
_OF_PRODUCTS: frozenset[Kind] = frozenset(("product", "attention", "other"))


def estimate_work(
    call: OperatorCall, kernel: LibraryKernel | None = None, *, launches: int = 1
) -> Work:
    """The work of a kernel that a call started, or of the whole call where none is given.

    `launches` is how many kernels of the call share its work, helpers not counted: each is given
    an equal part. What is not known is None in the answer, with the reason; nothing is raised.
    """
    own_kernel = kernel or LibraryKernel("", "other")
    if own_kernel.library == "Inductor" or call.name.startswith("triton_"):
        return estimate_inductor(call, own_kernel)
    name = call.base_name
    estimate = product_work.ESTIMATORS.get(name)
    if estimate is not None and own_kernel.kind not in _OF_PRODUCTS:
        return unknown(f"a helper kernel of {name}: another kernel does the main work")
    estimate = estimate or ESTIMATORS.get(name)
    if estimate is None:
        return unknown(f"the traffic and operations of {call.name} are not known")
    if own_kernel.is_helper and (name not in _SUMS or "FusedParams" in own_kernel.name):
        return unknown(f"a helper kernel of {name}: another kernel does the main work")
    if own_kernel.family == "fill" and name not in _FILLED:
        return unknown(f"it clears memory for {name}")
    try:
        return _share(estimate(call, own_kernel), launches)
    except _IMPOSSIBLE:  # a trace comes from outside: its shapes need not be those of the operator
        return unknown(f"the recorded inputs do not match {name}")


def read_operator_kind(name: str) -> Kind:
    """What an operator does, by its name alone: for the CPU, where no kernel has one."""
    words = set(OperatorCall(name).base_name.split("_"))
    return next((kind for kind, names in _KINDS.items() if words & {*names.split()}), "other")


def _share(work: Work, launches: int) -> Work:
    if launches <= 1:
        return work
    return replace(
        work,
        operations=_part(work.operations, launches),
        read_bytes=_part(work.read_bytes, launches),
        written_bytes=_part(work.written_bytes, launches),
        gathered_bytes=work.gathered_bytes // launches,
        reused_bytes=work.reused_bytes // launches,
        elements=_part(work.elements, launches),
        launches=launches,
        reason=work.reason or f"{launches} kernels share the work; equal shares are assumed",
    )


def _part(amount: int | None, launches: int) -> int | None:
    return None if amount is None else amount // launches


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
        is_strided=len(
            {
                tensor.fastest == len(tensor.shape) - 1
                for tensor in tensors
                if 2 * tensor.numel > largest and tensor.shape
            }
        )
        > 1,
    )


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
    return unknown("the recorded shapes do not show which inputs are operands")


def _describe_product(left: Tensor, right: Tensor, result: Tensor) -> Work:
    (m, k), n = left.shape, right.shape[1]
    return Work(
        2 * m * n * k,
        left.bytes + right.bytes,
        result.numel * result.itemsize,
        left.dtype,
        is_matrix=True,
        product=(1, m, n, k),
        elements=m * n,
    )


_NOT_RECORDED = "the shapes of its inputs were not recorded"

# fmt: off
_ONE = frozenset((
    "abs", "acos", "asin", "atan", "bitwise_not", "ceil", "celu", "clamp", "clamp_max", "clamp_min",
    "clip", "cos", "cosh", "elu", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac",
    "gelu", "glu_jvp", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "isfinite", "isinf",
    "isnan", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2", "log_sigmoid", "logical_not",
    "logit", "mish", "nan_to_num", "neg", "reciprocal", "relu", "relu6", "round", "rsqrt", "selu",
    "sigmoid", "sign", "signbit", "silu", "sin", "sinh", "softplus", "softshrink", "sqrt", "square",
    "tan", "tanh", "threshold", "trunc",
))
_TWO = frozenset((
    "__and__", "__or__", "__xor__", "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor",
    "copysign", "div", "elu_backward", "eq", "floor_divide", "fmod", "ge", "gelu_backward", "gt",
    "hardswish_backward", "hardtanh_backward", "hypot", "le", "leaky_relu_backward", "logaddexp",
    "logical_and", "logical_or", "logical_xor", "lt", "masked_fill", "maximum", "minimum", "mul",
    "native_dropout_backward", "ne", "pow", "remainder", "rsub", "sigmoid_backward",
    "silu_backward", "softplus_backward", "sub", "tanh_backward", "threshold_backward",
    "true_divide", "xlogy",
))
_THREE = frozenset(("addcdiv", "addcmul", "lerp", "where", "mse_loss_backward"))
_TO_BOOLS = frozenset((
    "eq", "ge", "gt", "isfinite", "isinf", "isnan", "le", "logical_and", "logical_not",
    "logical_or", "logical_xor", "lt", "ne", "signbit",
))
_FILLS = frozenset((
    "arange", "bernoulli_", "exponential_", "fill_", "full", "linspace", "normal_", "ones",
    "random_", "uniform_", "zero_", "zeros",
))
_REDUCTIONS = frozenset((
    "all", "amax", "amin", "any", "argmax", "argmin", "linalg_vector_norm", "logsumexp", "max",
    "mean", "min", "norm", "nansum", "prod", "std", "std_mean", "sum", "var", "var_mean",
))
_DIM_THIRD = frozenset(("norm", "linalg_vector_norm"))
# fmt: on


def _count_inputs(name: str) -> int | None:
    plain = name if name.startswith("__") else name.rstrip("_")
    return next((n for n, names in ((1, _ONE), (2, _TWO), (3, _THREE)) if plain in names), None)


def estimate_elementwise(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Reads each input once and writes a result of the shape that they have together.

    What comes after the inputs of an operator is where the result is to be written.
    """
    tensors = call.all_tensors()
    count = _count_inputs(call.base_name) or 0
    if not tensors:
        return unknown(_NOT_RECORDED)
    inputs, out = tensors[:count], tensors[count:]
    shape = inputs[0].shape if call.is_inplace else broadcast(inputs)
    dtype, itemsize = promote(inputs[1:] if call.base_name.startswith("where") else inputs)
    if out and out[0].shape == shape:
        itemsize = out[0].itemsize
    elif call.is_inplace:
        itemsize = inputs[0].itemsize
    elif call.base_name in _TO_BOOLS:
        itemsize = 1
    numel = math.prod(shape)
    return Work(
        operations=numel,
        read_bytes=sum(tensor.bytes for tensor in inputs),
        written_bytes=numel * itemsize,
        dtype=dtype,
        elements=numel,
        reused_bytes=numel * itemsize if call.is_inplace else 0,
        is_strided=_is_strided([tensor for tensor in inputs if 2 * tensor.numel > numel]),
    )


def _is_strided(tensors: Sequence[Tensor]) -> bool:
    """Whether memory runs along different dimensions in these, or along none in one of them."""
    rank = max((len(tensor.shape) for tensor in tensors), default=0)
    fastest = {None if t.fastest is None else t.fastest + rank - len(t.shape) for t in tensors}
    return len(fastest) > 1 or fastest == {None}


def estimate_copy(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """`copy_`: reads what it is given, writes the whole target."""
    target, source = call.tensor(0), call.tensor(1)
    if target is None or source is None:
        return unknown(_NOT_RECORDED)
    return Work(
        operations=0 if target.dtype == source.dtype else target.numel,
        read_bytes=source.bytes,
        written_bytes=target.numel * target.itemsize,
        dtype=source.dtype,
        elements=target.numel,
        is_strided=_is_strided([target, source]) if source.numel == target.numel else False,
    )


def estimate_clone(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """`clone`: reads what lies in memory, writes all that the tensor has."""
    source = call.tensor(0)
    if source is None:
        return unknown(_NOT_RECORDED)
    written = source.numel * source.itemsize
    return Work(0, source.bytes, written, source.dtype, elements=source.numel)


def estimate_fill(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Numbers written without anything being read."""
    tensors = call.all_tensors()
    filled = [tensor for tensor in tensors if tensor.shape]
    if not filled:
        return unknown(_NOT_RECORDED)
    target = filled[0] if call.is_inplace else filled[-1]
    return Work(0, 0, target.bytes, target.dtype, elements=target.numel)


def estimate_reduction(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Sums, means and their like: reads everything once."""
    source = call.tensor(0)
    if source is None:
        return unknown(_NOT_RECORDED)
    dims = call.value(2 if call.base_name in _DIM_THIRD else 1)
    rows, length = _split_dims(source.shape, dims)
    return Work(
        operations=source.numel,
        read_bytes=source.bytes,
        written_bytes=rows * source.itemsize,
        dtype=source.dtype,
        rows=(rows, length),
        elements=source.numel,
        is_strided=source.fastest not in _list_dims(source.shape, dims),
    )


def _list_dims(shape: Sequence[int], dims: object) -> list[int]:
    """The dimensions that are reduced: all of them where none is named."""
    listed = [dims] if isinstance(dims, int) and not isinstance(dims, bool) else dims
    if not isinstance(listed, list) or not listed:
        return list(range(len(shape)))
    return [dim % max(len(shape), 1) for dim in listed if isinstance(dim, int)]


def _split_dims(shape: Sequence[int], dims: object) -> tuple[int, int]:
    """How many results there are, and from how many values each is made."""
    length = math.prod(shape[dim] for dim in _list_dims(shape, dims) if dim < len(shape))
    return math.prod(shape) // max(length, 1), length


_SOFTMAX = {
    "_softmax": 1,
    "_log_softmax": 1,
    "_softmax_backward_data": 2,
    "_log_softmax_backward_data": 2,
}


def estimate_softmax(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Softmax and its gradient: one pass, where a row fits into a block."""
    count = _SOFTMAX[call.base_name]
    inputs = [tensor for place in range(count) if (tensor := call.tensor(place)) is not None]
    if len(inputs) < count:
        return unknown(_NOT_RECORDED)
    source = inputs[0]
    is_widened = count == 1 and call.value(2) is True
    dims = call.value(count)
    return Work(
        operations=source.numel,
        read_bytes=sum(tensor.bytes for tensor in inputs),
        written_bytes=source.numel * (4 if is_widened else source.itemsize),
        dtype=source.dtype,
        rows=_split_dims(source.shape, dims),
        elements=source.numel,
        is_strided=source.fastest not in _list_dims(source.shape, dims),
    )


def estimate_norm(call: OperatorCall, kernel: LibraryKernel) -> Work:
    """Normalisations: what a kernel that only collects sums reads, or a whole one moves."""
    count = 2 if "backward" in call.base_name else 1
    inputs = [tensor for place in range(count) if (tensor := call.tensor(place)) is not None]
    if len(inputs) < count:
        return unknown(_NOT_RECORDED)
    source = inputs[0]
    if kernel.part == "helper" and not any(word in kernel.name for word in _WHOLE_SUMS):
        return unknown("a small kernel of the norm; its traffic does not follow from the shapes")
    is_sum = kernel.part in ("helper", "weight gradient")
    return Work(
        operations=source.numel,
        read_bytes=sum(tensor.bytes for tensor in inputs),
        written_bytes=0 if is_sum else source.numel * source.itemsize,
        dtype=source.dtype,
        rows=_find_norm_rows(call, source),
        elements=source.numel,
    )


_WHOLE_SUMS = ("collect_statistics", "RowwiseMoments", "backward_reduce")


def _find_norm_rows(call: OperatorCall, source: Tensor) -> tuple[int, int]:
    if "layer_norm" in call.base_name or "rms_norm" in call.base_name:
        place = 2 if "backward" in call.base_name else 1
        length = math.prod(call.value(place) or source.shape[-1:])
        return source.numel // max(length, 1), length
    channels = source.shape[1] if len(source.shape) > 1 else 1
    return channels, source.numel // max(channels, 1)


def estimate_cat(call: OperatorCall, kernel: LibraryKernel) -> Work:
    """`cat`: everything is read and written once."""
    total = sum(tensor.numel for tensor in call.tensors(0))
    if not total:
        return unknown(_NOT_RECORDED)
    if kernel.itemsize is None:
        return unknown("profiles do not record the dtype of a list of tensors")
    moved = total * kernel.itemsize
    return Work(0, moved, moved, None, elements=total)


def estimate_lookup(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Rows taken by indices: they are written; read at least where no two name the same."""
    source, index, shape = _find_lookup(call)
    if source is None or index is None:
        return unknown(_NOT_RECORDED)
    written = math.prod(shape) * source.itemsize
    return Work(
        0, index.bytes, written, source.dtype, elements=math.prod(shape), gathered_bytes=written
    )


def _find_lookup(call: OperatorCall) -> tuple[Tensor | None, Tensor | None, tuple[int, ...]]:
    name, source = call.base_name, call.tensor(0)
    if name == "embedding":
        index = call.tensor(1)
        shape = () if source is None or index is None else (*index.shape, *source.shape[1:])
        return source, index, shape
    index, dim = call.tensor(2), call.value(1)
    if source is None or index is None or not isinstance(dim, int):
        return None, None, ()
    if name == "gather":
        return source, index, index.shape
    rest = [n for place, n in enumerate(source.shape) if place != dim % max(len(source.shape), 1)]
    return source, index, (index.numel, *rest)


def estimate_bag(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """`_embedding_bag`: rows taken by indices, added up in bags."""
    weight, index, offsets = (call.tensor(place) for place in range(3))
    if weight is None or index is None or offsets is None or len(weight.shape) != 2:
        return unknown(_NOT_RECORDED)
    row = weight.shape[1] * weight.itemsize
    return Work(
        operations=index.numel * weight.shape[1],
        read_bytes=index.bytes + offsets.bytes,
        written_bytes=offsets.numel * row,
        dtype=weight.dtype,
        elements=offsets.numel * weight.shape[1],
        gathered_bytes=index.numel * row,
    )


def estimate_pool(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """The largest of each window, with its place."""
    source = call.tensor(0)
    if call.base_name.endswith("_backward"):
        target, places = call.tensor(1), call.tensor(7)
        if source is None or target is None or places is None:
            return unknown(_NOT_RECORDED)
        written = target.numel * target.itemsize
        return Work(
            source.numel, source.bytes + places.bytes, written, source.dtype, elements=target.numel
        )
    kernel, stride, padding = call.value(1), call.value(2) or call.value(1), call.value(3)
    if source is None or not isinstance(kernel, list) or not isinstance(stride, list):
        return unknown(_NOT_RECORDED)
    pads = padding if isinstance(padding, list) else [0] * len(kernel)
    outer = source.shape[: -len(kernel)]
    sizes = zip(source.shape[-len(kernel) :], kernel, stride, pads, strict=False)
    numel = math.prod(outer) * math.prod((n + 2 * p - k) // s + 1 for n, k, s, p in sizes)
    result = source.itemsize + (8 if "indices" in call.base_name else 0)
    return Work(source.numel, source.bytes, numel * result, source.dtype, elements=source.numel)


_FOREACH: Mapping[str, tuple[int, int]] = {
    "_fused_adam_": (4, 3),
    "_fused_adamw_": (4, 3),
    "_fused_sgd_": (3, 2),
    "_foreach_add_": (2, 1),
    "_foreach_mul_": (2, 1),
    "_foreach_div_": (2, 1),
    "_foreach_lerp_": (2, 1),
    "_foreach_addcmul_": (3, 1),
    "_foreach_addcdiv_": (3, 1),
    "_foreach_sqrt": (1, 1),
    "_foreach_sqrt_": (1, 1),
    "_foreach_zero_": (0, 1),
    "_foreach_copy_": (2, 2),
    "_foreach_norm": (1, 0),
}
"""By operator of lists how many of them are read and written."""


def estimate_foreach(call: OperatorCall, kernel: LibraryKernel) -> Work:
    """Optimizers over lists of tensors."""
    reads, writes = _FOREACH[call.base_name]
    lists = sum(call.has_list(place) for place in range(len(call)))
    numel = sum(tensor.numel for tensor in call.tensors(0))
    if not numel or kernel.itemsize is None:
        return unknown("profiles do not record the dtype of a list of tensors")
    item, read_lists = kernel.itemsize, max(min(reads, lists), min(reads, 1))
    return Work(
        numel, read_lists * numel * item, writes * numel * item, kernel.input_dtype, elements=numel
    )


_SERVED: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "silu_and_mul": ((1,), (0,)),
    "gelu_and_mul": ((1,), (0,)),
    "gelu_tanh_and_mul": ((1,), (0,)),
    "rms_norm": ((1,), (0,)),
    "rmsnorm": ((1,), (0,)),
    "fused_add_rms_norm": ((0, 1), (0, 1)),
    "add_rmsnorm": ((1, 2), (0, 3)),
    "store_cache": ((0, 1), (0, 1)),
    "reshape_and_cache_flash": ((0, 1), (0, 1)),
    "reshape_and_cache": ((0, 1), (0, 1)),
}
"""By operator of servers the places of what is read and, in the same sizes, written."""


def estimate_served(call: OperatorCall, _kernel: LibraryKernel) -> Work:
    """Operators that serving projects bring along and that only stream through tensors."""
    places = _SERVED[call.base_name]
    read, written = ([call.tensor(place) for place in side] for side in places)
    if any(tensor is None for tensor in (*read, *written)):
        return unknown(_NOT_RECORDED)
    first = next(tensor for tensor in read if tensor is not None)
    return Work(
        operations=first.numel,
        read_bytes=sum(tensor.bytes for tensor in read if tensor),
        written_bytes=sum(tensor.numel * tensor.itemsize for tensor in written if tensor),
        dtype=first.dtype,
        rows=(first.numel // max(first.shape[-1], 1), first.shape[-1]) if first.shape else None,
        elements=first.numel,
    )


ESTIMATORS: dict[str, Estimator] = {
    **dict.fromkeys(_ONE | _TWO | _THREE, estimate_elementwise),
    **dict.fromkeys((f"{name}_" for name in _ONE | _TWO | _THREE), estimate_elementwise),
    **dict.fromkeys(_FILLS, estimate_fill),
    **dict.fromkeys(_REDUCTIONS, estimate_reduction),
    **dict.fromkeys(_SOFTMAX, estimate_softmax),
    **dict.fromkeys(
        (
            *("native_layer_norm", "native_layer_norm_backward", "native_group_norm"),
            *("native_batch_norm", "native_batch_norm_backward", "cudnn_batch_norm"),
            *("cudnn_batch_norm_backward", "miopen_batch_norm", "miopen_batch_norm_backward"),
            *("_fused_rms_norm", "_batch_norm_impl_index", "batch_norm"),
        ),
        estimate_norm,
    ),
    **dict.fromkeys(("index_select", "gather", "embedding"), estimate_lookup),
    **dict.fromkeys(
        ("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d"),
        estimate_pool,
    ),
    **dict.fromkeys(_FOREACH, estimate_foreach),
    **dict.fromkeys(_SERVED, estimate_served),
    "_embedding_bag": estimate_bag,
    "cat": estimate_cat,
    "clone": estimate_clone,
    "copy_": estimate_copy,
}
"""By operator, without namespace, what counts its work."""
