"""Names of the kernels of ATen and Inductor, of cuDNN, of servers, and of copies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.library_kernels.library_kernel import Kind, LibraryKernel, Part
from workbench.analysis.library_kernels.product_names import Reader

_INDUCTOR: dict[str, tuple[Kind, str]] = {
    "poi": ("elementwise", "Triton pointwise"),
    "red": ("reduction", "Triton reduction"),
    "per": ("reduction", "Triton persistent reduction"),
    "for": ("elementwise", "Triton foreach"),
    "tem": ("product", "Triton template"),
    "mm": ("product", "Triton template"),
    "bmm": ("product", "Triton template"),
    "convolution2d": ("product", "Triton template"),
    "flex": ("attention", "Triton template"),
    "spl": ("other", "Triton split scan"),
}


def read_inductor(name: str) -> LibraryKernel | None:
    """A Triton kernel that Inductor wrote: `triton_poi_fused_add_3`."""
    match = re.match(r"triton_([a-z0-9]+)_", name)
    if match is None:
        return None
    kind, family = _INDUCTOR.get(match[1], ("other", "Triton"))
    if match[1] == "tem" and re.search(r"flex_attention|flex_decoding", name):
        kind = "attention"
    units = True if kind in ("product", "attention") else None
    return LibraryKernel(name, kind, "Inductor", family, has_matrix_units=units)


def read_copy(name: str) -> LibraryKernel | None:
    """A copy or a fill by the driver."""
    if re.match(
        r"(?:CopyDeviceToDevice|Copy\w+To\w+|Memcpy|Memset|FillBuffer|__amd_rocclr_)", name
    ):
        return LibraryKernel(name, "copy", "driver", "fill" if "et (" in name else "copy")
    return None


_COPIES = re.compile(
    r"direct_copy_kernel|CatArray|copy_kernel_cuda|FillFunctor|batched_memcpy|conj_kernel|roll_cuda"
    r"|multi_tensor_apply_kernel<.*CopyFunctor"
)
_LOOKUPS = re.compile(
    r"gather|scatter|index(?:Select|_kernel|_elementwise|FuncLarge|FuncSmall|ing_backward)"
    r"|index_put|[Ee]mbedding|compute_grad_weight"
)
_REDUCTIONS = re.compile(
    r"reduce_kernel|[Ss]oft[Mm]ax|layer_norm|LayerNorm|GammaBeta|RowwiseMoments|group_norm|rms_norm"
    r"|batch_norm_(?:collect|backward_reduce|backward_kernel|elemt)|batch_norm_backward|nll_loss"
    r"|cunn_Spatial|lpnorm|LpNorm|multi_tensor_apply_kernel<.*Norm|ComputeInternalGradients"
)
_ELEMENTWISE = re.compile(
    r"elementwise_kernel|multi_tensor_apply_kernel|max_pool|avg_pool|upsample|dropout_kernel"
    r"|distribution_|batch_norm_transform|GammaBetaBackwardSimple|triu_tril|arange"
)


def read_aten(name: str) -> LibraryKernel | None:
    """A kernel of torch itself."""
    is_own = "at::native" in name or "softmax_warp" in name or "at_cuda_detail" in name
    if not is_own and "elementwise_kernel_with_index" not in name:
        return None
    kind, family, part = _classify(name)
    return LibraryKernel(
        name,
        kind,
        "ATen",
        family,
        part=part,
        vector=_read_vector(name),
        input_dtype=_read_dtype(name),
        itemsize=_read_itemsize(name),
    )


def _read_itemsize(name: str) -> int | None:
    match = re.search(r"OpaqueType<(\d+)", name)
    if match is not None:
        return int(match[1])
    dtypes = {"bfloat16": 2, "float16": 2, "float64": 8}
    return dtypes.get(_read_dtype(name) or "") or (4 if re.search(r"<float[,>]", name) else None)


def _classify(name: str) -> tuple[Kind, str | None, Part | None]:
    part = next((part for word, part in _NORM_PARTS if word in name), None)
    kernel = _find(r"(\w+_kernel\w*|\w+Kernel\w*|\w+)(?=<)", name.split("native::", 1)[-1])
    if _REDUCTIONS.search(name):
        return "reduction", _name_reduction(name), part
    if _COPIES.search(name):
        return "copy", "fill" if "FillFunctor" in name else _name_elementwise(name), part
    if _LOOKUPS.search(name):
        return "copy", "lookup", part
    if "conv_depthwise" in name:
        return "product", "depthwise convolution", part
    if _ELEMENTWISE.search(name):
        return "elementwise", _name_elementwise(name), part
    return "other", kernel, part


_NORM_PARTS: tuple[tuple[str, Part], ...] = (
    ("GammaBeta", "weight gradient"),
    ("layer_norm_grad_input", "input gradient"),
    ("batch_norm_collect_statistics", "helper"),
    ("batch_norm_update_stats", "helper"),
    ("batch_norm_calc_invstd", "helper"),
    ("batch_norm_reduce_statistics", "helper"),
    ("RowwiseMoments", "helper"),
    ("FusedParams", "helper"),
    ("batch_norm_backward_reduce", "helper"),
)


def _name_reduction(name: str) -> str:
    if "reduce_kernel" in name:
        return "reduce"
    if re.search("oft[Mm]ax|cunn_Spatial", name):
        return "softmax"
    return "norm" if re.search("[Nn]orm|GammaBeta|Moments", name) else "reduction"


def _name_elementwise(name: str) -> str | None:
    """How an elementwise kernel reads: vectorized ones need tensors that are contiguous."""
    if "CatArray" in name:
        return "cat"
    if "vectorized_elementwise_kernel" in name:
        return "vectorized"
    if "unrolled_elementwise_kernel" in name:
        return "unrolled"
    if "multi_tensor_apply_kernel" in name:
        return "foreach"
    return "strided" if re.search(r"(?<!index_)elementwise_kernel", name) else None


def _read_vector(name: str) -> int | None:
    match = re.search(r"(?:vectorized_elementwise_kernel|cunn_SoftMaxForward\w*)<(\d+)", name)
    return None if match is None else int(match[1])


_CPP_DTYPES = {
    "c10::BFloat16": "bfloat16",
    "c10::Half": "float16",
    "double": "float64",
}


def _read_dtype(name: str) -> str | None:
    """The dtype that a kernel names as its only one of less or more than 32 bits."""
    dtypes = [dtype for word, dtype in _CPP_DTYPES.items() if word in name]
    return dtypes[0] if len(dtypes) == 1 else None


_CUDNN: tuple[tuple[str, Kind, str, Part | None], ...] = (
    (
        r"nchwToNhwc|nhwcToNchw|nhwcAddPadding|convertTensor|scalePackedTensor",
        "copy",
        "layout",
        "layout",
    ),
    (
        r"init_device_workspace|computeOffsets|generateWinogradTiles|flip_filter",
        "other",
        "helper",
        "helper",
    ),
    (r"\bbn_(?:fw|bw)", "reduction", "batch norm", None),
    (
        r"implicit_convolve|convolve_|winograd|conv2d|dgrad|wgrad|fft2d|cgemm",
        "product",
        "convolution",
        None,
    ),
    (r"pooling", "elementwise", "pooling", None),
)


def read_cudnn(name: str) -> LibraryKernel | None:
    """A kernel of cuDNN that is none of its generated ones."""
    if "cudnn" not in name.lower():
        return None
    for pattern, kind, family, part in _CUDNN:
        if re.search(pattern, name):
            return LibraryKernel(name, kind, "cuDNN", family, part=part)
    return LibraryKernel(name, "other", "cuDNN")


_SERVERS: tuple[tuple[str, Kind, str], ...] = (
    (
        r"_matmul_ogs|fused_moe_kernel|_w8a8_\w*matmul|marlin|scaled_mm|(?:^|_)gemm_kernel|_gemm_a\d",
        "product",
        "gemm",
    ),
    (
        r"unified_attention|paged_attention|BatchPrefill|BatchDecode|fmhaSm|_fwd_kernel$|kernel_mha"
        r"|flashinfer.*(?:Prefill|Decode)|_fwd_grouped_kernel",
        "attention",
        "attention",
    ),
    (r"(?i:rms_?norm)|layer_?norm|softmax|topk", "reduction", "norm"),
    (r"act_and_mul|silu|gelu|rotary_embedding|rope", "elementwise", "elementwise"),
    (r"reshape_and_cache|store_cache|cache_kernel|copy_blocks|scatter", "copy", "copy"),
    (r"\bcub::|rocprim|DeviceScan|DeviceRadixSort", "other", "sort or scan"),
    (r"store_kvcache", "copy", "copy"),
)


def read_server(name: str) -> LibraryKernel | None:
    """A kernel of a serving project, by what its name is about; its library is not known."""
    for pattern, kind, family in _SERVERS:
        if re.search(pattern, name):
            return LibraryKernel(name, kind, None, family)
    return None


def _find(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return None if match is None else match[1]


def list_readers() -> Iterator[Reader]:
    """The readers of this file, the most certain first."""
    yield from (read_inductor, read_copy, read_aten, read_cudnn, read_server)
