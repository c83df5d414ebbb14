"""Names of products, convolutions and attention in the libraries of NVIDIA's GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from workbench.analysis.library_kernels.library_kernel import LibraryKernel, Part

Reader = Callable[[str], LibraryKernel | None]

_DTYPES = {
    "bf16": "bfloat16",
    "f16": "float16",
    "fp16": "float16",
    "h": "float16",
    "f32": "float32",
    "fp32": "float32",
    "s": "float32",
    "tf32": "tf32",
    "f64": "float64",
    "d": "float64",
    "e4m3": "float8",
    "e5m2": "float8",
    "s8": "int8",
    "i8": "int8",
    "u8": "int8",
}
_NVJET_DTYPES = {"t": "bfloat16", "h": "float16", "s": "float32", "d": "float64", "q": "float8"}
_GENERATIONS = {
    "maxwell": "sm_50",
    "pascal": "sm_60",
    "volta": "sm_70",
    "turing": "sm_75",
    "ampere": "sm_80",
    "ada": "sm_89",
    "hopper": "sm_90",
    "blackwell": "sm_100",
}
_PARTS: dict[str, Part] = {
    "fprop": "forward",
    "dgrad": "input gradient",
    "wgrad": "weight gradient",
    "bprop": "gradients",
}
_EPILOGUES = ("bias", "relu", "gelu", "silu", "dgelu", "drelu", "aux")


def _read_epilogue(words: list[str]) -> str | None:
    epilogues = [word for word in words if word in _EPILOGUES]
    return " ".join(epilogues) or None


def _read_part(text: str) -> Part | None:
    return next((part for word, part in _PARTS.items() if word in text.lower()), None)


def _read_sizes(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(n) for n in text.split("x"))


def _find(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return None if match is None else match[1]


def _find_number(pattern: str, text: str) -> int | None:
    number = _find(pattern, text)
    return None if number is None else int(number)


_NVJET = re.compile(
    r"nvjet_(?:sm(?P<arch>\d+)_)?(?P<types>[a-z]+)_(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)"
    r"_(?P<cluster>\d+x\d+)_(?P<rest>\w+)"
)


def read_nvjet(name: str) -> LibraryKernel | None:
    """A kernel of cuBLASLt: `nvjet_sm90_tst_176x128_64x5_1x2_h_bz_bias_TNN`."""
    match = _NVJET.search(name)
    if match is None:
        return None
    words = match["rest"].split("_")
    layout = words[-1].lower()
    return LibraryKernel(
        name,
        "product",
        "cuBLASLt",
        "nvjet",
        f"sm_{match['arch']}" if match["arch"] else None,
        tile=(int(match["m"]), int(match["n"]), int(match["k"])),
        stages=int(match["stages"]),
        cluster=_read_sizes(match["cluster"]),
        split_k="splitK" in words,
        stream_k=True if "streamK" in words else None,
        layout=layout[:2] if re.fullmatch("[nt]{2,3}", layout) else None,
        input_dtype=_NVJET_DTYPES.get(match["types"][0]),
        accumulate_dtype=_NVJET_DTYPES.get(match["types"][-2]) if len(match["types"]) > 2 else None,
        has_matrix_units=True,
        epilogue=_read_epilogue(words),
    )


_XMMA = re.compile(r"sm(?P<arch>\d+)_xmma_(?P<rest>(?:gemm|fprop|dgrad|wgrad|sparse)\w*)")
_XMMA_TYPES = re.compile(r"_(?P<a>[a-z]+\d+)(?P<b>[a-z]+\d+)_(?P<c>[a-z]+\d+)(?P<acc>[a-z]+\d+)_")


def read_xmma(name: str) -> LibraryKernel | None:
    """A kernel of cuBLAS or cuDNN: `sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_…`.

    Values in float32 that are multiplied as TF32 have it in the third place: `f32f32_tf32f32_f32`.
    """
    match = _XMMA.search(name)
    if match is None:
        return None
    rest = match["rest"]
    if "_execute_split_k_" in rest:
        return LibraryKernel(name, "reduction", None, "split sum", part="split sum")
    types = _XMMA_TYPES.search(rest)
    dtype = accumulate = None
    if types is not None:
        factors = {types["a"], types["b"], types["c"]}
        dtype = "tf32" if "tf32" in factors else _DTYPES.get(types["a"])
        accumulate = _DTYPES.get(types["acc"])
    is_product = rest.startswith(("gemm", "sparse"))
    library = next((title for end, title in _XMMA_ENDS.items() if name.endswith(end)), None)
    return LibraryKernel(
        name,
        "product",
        library or ("cuBLAS" if is_product else "cuDNN"),
        "xmma gemm" if is_product else "xmma convolution",
        f"sm_{match['arch']}",
        part=None if is_product else _read_part(rest),
        tile=_read_sizes(
            _find(r"tilesize(\d+x\d+x\d+)", rest) or _find(r"_tile(\d+x\d+x\d+)", rest)
        ),
        stages=_find_number(r"_stage(\d+)", rest),
        alignment=_find_number(r"_aligna(\d+)", rest),
        split_k="segment_k_on" in rest,
        layout=_find(r"_([nt]{2})_[nt]_", rest),
        input_dtype=dtype,
        accumulate_dtype=accumulate,
        has_matrix_units="_ffma_" not in rest,
        epilogue=_read_epilogue(rest.split("_")),
    )


_XMMA_ENDS = {"cublas": "cuBLAS", "cudnn": "cuDNN", "cublasLt": "cuBLASLt"}

_CUTLASS = re.compile(
    r"(?:cutlass(?P<x>3x)?_(?:sm)?(?P<arch>\d+)?_?|(?P<generation>"
    + "|".join(_GENERATIONS)
    + r")_)(?P<rest>\w+)"
)
_INSTRUCTION = re.compile(
    r"(?:^|_)(?P<acc>[hsdi])(?P<shape>\d+x\d+x\d+|\d+)?(?P<type>tf32|bf16)?"
    r"(?P<what>gemm|fprop|dgrad|wgrad|cudnn|sgemm)"
)
_TILE = re.compile(r"_(?P<m>\d+)x(?P<n>\d+)(?:x(?P<k>\d+))?(?=_|$)")
_STEP = re.compile(r"_(?:stages_)?(?P<k>\d+)x(?P<stages>\d+)(?=_|$)")


def read_cutlass(name: str) -> LibraryKernel | None:
    """A kernel that CUTLASS generated, or cuBLAS in its manner.

    `cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1`,
    `ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn`.
    """
    match = next((one for one in _CUTLASS.finditer(name) if _INSTRUCTION.search(one["rest"])), None)
    if match is None:
        return None
    rest = match["rest"]
    instruction = _INSTRUCTION.search(rest)
    assert instruction is not None
    tile, stages = _read_cutlass_tile(rest[instruction.end() :])
    generation = match["generation"]
    is_simple = "simt" in rest or (instruction["shape"] is None and instruction["acc"] == "s")
    is_product = instruction["what"] == "gemm"
    number = match["arch"]
    return LibraryKernel(
        name,
        "product",
        ("cuBLAS" if is_product else "cuDNN") if generation else "CUTLASS",
        "gemm" if is_product else "convolution",
        _GENERATIONS[generation] if generation else (f"sm_{number}" if number else None),
        part=None if is_product else (_read_part(rest) or ("forward" if generation else None)),
        tile=tile,
        stages=stages,
        alignment=_find_number(r"_align(\d+)", rest) or _find_number(r"_ldg(\d+)", rest),
        split_k=True if re.search(r"split_?k", rest, re.IGNORECASE) else None,
        stream_k=True if re.search(r"stream_?k", rest, re.IGNORECASE) else None,
        layout=_find(r"_([nt]{2})[nt]?(?=_|$)", rest),
        input_dtype="float32" if is_simple else _read_cutlass_dtype(rest, instruction),
        accumulate_dtype={"s": "float32", "h": "float16", "d": "float64"}.get(instruction["acc"]),
        has_matrix_units=not is_simple,
        epilogue=_read_epilogue(rest.split("_")),
    )


def _read_cutlass_dtype(rest: str, instruction: re.Match[str]) -> str | None:
    if instruction["type"]:
        return _DTYPES[instruction["type"]]
    for word in (*rest[instruction.end() :].split("_"), *rest[: instruction.start()].split("_")):
        if word in ("bf16", "f16", "fp16", "tf32", "e4m3", "e5m2", "s8"):
            return _DTYPES[word]
    return "float64" if instruction["acc"] == "d" else None


def _read_cutlass_tile(text: str) -> tuple[tuple[int, ...] | None, int | None]:
    """M, N and K of the tile, and the stages: `_256x128_64x3`, or `_128x128x64_2x1x1`."""
    tile = _TILE.search(text)
    if tile is None:
        return None, None
    sizes = (int(tile["m"]), int(tile["n"]))
    if tile["k"]:
        return (*sizes, int(tile["k"])), None
    step = _STEP.search(text, tile.end())
    return (sizes, None) if step is None else ((*sizes, int(step["k"])), int(step["stages"]))


_MANGLED_SHAPE = re.compile(r"GemmShapeILi(\d+)ELi(\d+)ELi(\d+)E")
_MANGLED_DTYPES = {
    "tfloat32_t": "tf32",
    "bfloat16_t": "bfloat16",
    "half_t": "float16",
    "float_e4m3": "float8",
    "float_e5m2": "float8",
}
_SHAPE = re.compile(
    r"GemmShape<(\d+), *(\d+), *(\d+)>"
    r"|(?:Shape|cute::tuple)<cute::C<(\d+)>, ?cute::C<(\d+)>, ?cute::C<(\d+)> ?>"
)


def read_cutlass_type(name: str) -> LibraryKernel | None:
    """A kernel of CUTLASS whose name is its C++ type, mangled or not."""
    if "cutlass" not in name:
        return None
    if "ReduceSplitK" in name:
        return LibraryKernel(name, "reduction", "CUTLASS", "split sum", part="split sum")
    is_convolution = "ImplicitGemm" in name or "implicit_gemm" in name
    if not is_convolution and not re.search("GemmUniversal|gemm::kernel|GemmShape|_gemm", name):
        return None
    shape = _MANGLED_SHAPE.search(name) or _SHAPE.search(name)
    sizes = None if shape is None else tuple(int(n) for n in shape.groups() if n is not None)
    architecture = _find(r"[Ss]m(\d\d+)", name)
    words = [dtype for word, dtype in _MANGLED_DTYPES.items() if word in name]
    return LibraryKernel(
        name,
        "product",
        "cuDNN" if "cudnn" in name else "CUTLASS",
        "convolution" if is_convolution else "gemm",
        None if architecture is None else f"sm_{architecture}",
        part=_read_part(name) if is_convolution else None,
        tile=sizes,
        input_dtype=words[0] if len(words) == 1 else None,
    )


_TRTLLM_TYPE = r"(?:Mx)?(?:Bfloat16|Fp16|Fp32|Int4|E[2345]m[123])"
_TRTLLM = re.compile(
    rf"(?:^|[ :])(?:bmm|gemm)_(?:{_TRTLLM_TYPE}_)?(?P<types>(?:{_TRTLLM_TYPE}){{1,2}})"
    r"_(?P<acc>Fp32|Fp16)(?P<rest>(?:_\w*)?)"
)
_TRTLLM_DTYPES = {"Bfloat16": "bfloat16", "Fp16": "float16", "Fp32": "float32", "E4m3": "float8"}


def read_trtllm(name: str) -> LibraryKernel | None:
    """A product of TensorRT-LLM: `bmm_Bfloat16_E4m3E4m3_Fp32_t128x16x128_s6_…_TN_…_sm100f`."""
    match = _TRTLLM.search(name)
    if match is None:
        return None
    rest = match["rest"]
    types = {dtype.removeprefix("Mx") for dtype in re.findall(_TRTLLM_TYPE, match["types"])}
    architecture = _find(r"_sm(\d+)", rest)
    layout = _find(r"_([TN]{2})(?=_|$)", rest)
    return LibraryKernel(
        name,
        "product",
        "TensorRT-LLM",
        "batched gemm" if "bmm_" in name else "gemm",
        None if architecture is None else f"sm_{architecture}",
        tile=_read_sizes(_find(r"_t(\d+x\d+x\d+)", rest)),
        stages=_find_number(r"_s(\d+)(?=_|$)", rest),
        cluster=_read_sizes(_find(r"_(?:c|cga)(\d+x\d+x\d+)(?=_|$)", rest)),
        layout=None if layout is None else layout.lower(),
        input_dtype=_TRTLLM_DTYPES.get(types.pop()) if len(types) == 1 else None,
        accumulate_dtype=_TRTLLM_DTYPES[match["acc"]],
        has_matrix_units=True,
    )


_VECTORS = re.compile(r"gemv|gemmk1_kernel|gemmSN_|cublas.*dot_kernel|gemm_?[sS]mall")


def read_cublas_vectors(name: str) -> LibraryKernel | None:
    """A kernel of cuBLAS for a matrix and a vector, or that sums up the parts of a product."""
    if "splitKreduce_kernel" in name:
        return LibraryKernel(name, "reduction", "cuBLASLt", "split sum", part="split sum")
    if "epilogue::impl::" in name:  # adds the bias to what another kernel multiplied
        return LibraryKernel(name, "elementwise", "cuBLASLt", "epilogue", part="helper")
    if _VECTORS.search(name) is None or "at::native" in name:
        return None
    has_types = re.search(r"<(?:int, int, |int, )(__nv_bfloat16|__half|float|double)", name)
    dtypes = {
        "__nv_bfloat16": "bfloat16",
        "__half": "float16",
        "float": "float32",
        "double": "float64",
    }
    return LibraryKernel(
        name,
        "product",
        "cuBLAS",
        "matrix and vector",
        input_dtype=None if has_types is None else dtypes[has_types[1]],
        has_matrix_units=False,
    )


_FLASH_2 = re.compile(
    r"flash_(?P<what>fwd|bwd)\w*<.*?(?:kernel_traits|traits)<(?P<width>\d+), (?P<m>\d+), (?P<n>\d+)"
)
_CUDNN_ATTENTION = re.compile(
    r"cudnn_generated\w*_sdpa_sm(?P<arch>\d+)_\w*?(?P<part>[fb]prop)\w*?_(?P<tile>\d+x\d+x\d+)_"
)
_EFFICIENT = re.compile(
    r"fmha_cutlass(?P<part>[FB])_(?P<type>[a-z]+\d+)\w*?_(?P<tile>\d+x\d+)\w*?_sm(?P<arch>\d+)"
)
_ATTENTION_HELPERS = re.compile(
    r"dot_do_o|convert_d[qkv]|cudnn::fusion::lean_reduction|flash_fwd_splitkv_combine"
    r"|FlashAttnBwd(?:Preprocess|Postprocess)|FlashAttnFwdCombine"
)


def read_attention(name: str) -> LibraryKernel | None:
    """A kernel of flash attention, cuDNN's, or xFormers' memory-efficient attention."""
    if _ATTENTION_HELPERS.search(name):
        library = "cuDNN" if "cudnn" in name else "flash attention"
        return LibraryKernel(name, "attention", library, "helper", part="helper")
    if match := _CUDNN_ATTENTION.search(name):
        sizes = _read_sizes(match["tile"]) or ()
        return LibraryKernel(
            name,
            "attention",
            "cuDNN",
            "attention",
            f"sm_{match['arch']}",
            part=_ATTENTION_PARTS[match["part"]],
            tile=sizes[:2],
            head_width=sizes[2],
            has_matrix_units=True,
        )
    if "FlashAttnFwdSm" in name or "FlashAttnBwdSm" in name:
        return _read_flash_3(name)
    if match := _FLASH_2.search(name):
        return LibraryKernel(
            name,
            "attention",
            "flash attention 2",
            "attention",
            "sm_80",
            part=_ATTENTION_PARTS[match["what"]],
            tile=(int(match["m"]), int(match["n"])),
            input_dtype=_read_flash_dtype(name),
            accumulate_dtype="float32",
            has_matrix_units=True,
            head_width=int(match["width"]),
        )
    if match := _EFFICIENT.search(name):
        return LibraryKernel(
            name,
            "attention",
            "memory-efficient attention",
            "attention",
            f"sm_{match['arch']}",
            part="forward" if match["part"] == "F" else "gradients",
            tile=_read_sizes(match["tile"]),
            input_dtype=_DTYPES.get(match["type"]),
        )
    return None


_ATTENTION_PARTS: dict[str, Part] = {
    "fwd": "forward",
    "bwd": "gradients",
    "fprop": "forward",
    "bprop": "gradients",
}


def _read_flash_3(name: str) -> LibraryKernel:
    tile = re.search(r"tuple<cute::C<(\d+)>, cute::C<(\d+)>, cute::C<(\d+)> *>, (\d+)", name)
    architecture = _find(r"FlashAttn(?:Fwd|Bwd)Sm(\d+)", name)
    return LibraryKernel(
        name,
        "attention",
        "flash attention 3",
        "attention",
        f"sm_{architecture}",
        part="forward" if "FlashAttnFwdSm" in name else "gradients",
        tile=None if tile is None else (int(tile[1]), int(tile[2])),
        input_dtype=_read_flash_dtype(name),
        accumulate_dtype="float32",
        has_matrix_units=True,
        head_width=None if tile is None else int(tile[3]),
    )


def _read_flash_dtype(name: str) -> str | None:
    return next((dtype for word, dtype in _MANGLED_DTYPES.items() if word in name), None)


def list_readers() -> Iterator[Reader]:
    """The readers of this file, the most certain first."""
    yield from (read_nvjet, read_trtllm, read_attention, read_xmma, read_cutlass)
    yield read_cutlass_type
    yield read_cublas_vectors
