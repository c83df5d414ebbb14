"""Names of products, convolutions and attention in ROCm's libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.library_kernels.library_kernel import LibraryKernel, Part
from workbench.analysis.library_kernels.product_names import Reader

_DTYPES = {
    "B": "bfloat16",
    "H": "float16",
    "S": "float32",
    "D": "float64",
    "X": "tf32",
    "F8": "float8",
    "B8": "float8",
    "I8": "int8",
}
_TENSILE = re.compile(r"Cijk_(?P<a>A\w*?k?)_(?P<b>B[a-z]+)_(?P<types>[A-Z0-9]+?)(?:_|$)")


def read_tensile(name: str) -> LibraryKernel | None:
    """A product of hipBLASLt or rocBLAS: `Cijk_Alik_Bljk_BBS_BH_Bias_…_MT256x192x64_…_ISA942_…`.

    `l` is the summed index; the first of each factor's indices lies closest in memory.
    """
    if "Cijk_" not in name:
        return None
    if "PostGSU" in name or re.search(r"Cijk_(?:D|S|B)\w*?_?(?:GlobalAccum|Reduction)", name):
        return LibraryKernel(name, "reduction", "hipBLASLt", "split sum", part="split sum")
    match = _TENSILE.search(name)
    splits = _find_number(r"_GSU(\d+)_", name)
    stream = re.search(r"_SK(\d)", name)
    tile = re.search(r"_MT(\d+)x(\d+)x(\d+)", name)
    isa = re.search(r"_ISA([0-9a-f]+)", name)
    is_light = "UserArgs" in name or "_Bias" in name
    epilogue = re.search(r"_(?:Relu|Gelu|Silu|Sigmoid|Tanh|Clamp)(?=_)", name)
    return LibraryKernel(
        name,
        "product",
        "hipBLASLt" if is_light else "rocBLAS",
        "Tensile gemm",
        None if isa is None else f"gfx{isa[1]}",
        tile=None if tile is None else (int(tile[1]), int(tile[2]), int(tile[3])),
        split_k=None if splits is None else splits > 1,
        splits=splits,
        stream_k=None if stream is None else stream[1] != "0",
        layout=None if match is None else _read_layout(match["a"], match["b"]),
        input_dtype=None if match is None else _read_dtype(match["types"]),
        accumulate_dtype=None if match is None or match["types"][-1] != "S" else "float32",
        has_matrix_units=True if re.search(r"_MI\d+x", name) else None,
        epilogue=None if epilogue is None else epilogue[0].strip("_").lower(),
        vector=_find_number(r"_GRVWA(\d+)", name),
    )


def _read_layout(a: str, b: str) -> str | None:
    first, second = a[1:2], b[1:2]
    if first not in ("i", "l") or second not in ("j", "l"):
        return None
    return ("t" if first == "l" else "n") + ("n" if second == "l" else "t")


def _read_dtype(types: str) -> str | None:
    return next((_DTYPES[n] for n in (types[:2], types[:1]) if n in _DTYPES), None)


def _find_number(pattern: str, text: str) -> int | None:
    match = re.search(pattern, text)
    return None if match is None else int(match[1])


_IGEMM = re.compile(
    r"igemm_(?P<part>fwd|bwd|wrw)_gtc(?P<arch>x\d?)?_\w*?_(?P<type>bf16|fp16|fp32)_\w*?"
    r"_bt(?P<tile>\d+x\d+x\d+)"
)
_IGEMM_PARTS: dict[str, Part] = {
    "fwd": "forward",
    "bwd": "input gradient",
    "wrw": "weight gradient",
}
_IGEMM_ARCHES = {"x": "gfx908", "x2": "gfx90a", "x3": "gfx942"}
_IGEMM_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_MIOPEN_LAYOUTS = re.compile(r"^batched_transpose_|^transpose_(?:CNHW|NCHW)|Im2d2Col|Im2Col|Col2Im")
_MIOPEN_HELPERS = re.compile(r"^SubTensorOp|^OpTensor|miopen.*(?:Xform|Transform)", re.IGNORECASE)
_MIOPEN_CONVOLUTIONS = re.compile(
    r"^miopen\w*[cC]onv|^naive_conv|^gcnAsmConv|winograd", re.IGNORECASE
)


def read_miopen(name: str) -> LibraryKernel | None:
    """A convolution of MIOpen, or what it does before and after one."""
    if match := _IGEMM.search(name):
        return LibraryKernel(
            name,
            "product",
            "MIOpen",
            "implicit gemm",
            _IGEMM_ARCHES.get(match["arch"] or ""),
            part=_IGEMM_PARTS[match["part"]],
            tile=tuple(int(n) for n in match["tile"].split("x")),
            split_k=True if name.endswith("_gkgs") else None,
            input_dtype=_IGEMM_DTYPES[match["type"]],
            accumulate_dtype="float32",
            has_matrix_units=True,
        )
    if _MIOPEN_LAYOUTS.search(name):
        return LibraryKernel(name, "copy", "MIOpen", "layout", part="layout")
    if _MIOPEN_HELPERS.search(name):
        return LibraryKernel(name, "elementwise", "MIOpen", "helper", part="helper")
    if _MIOPEN_CONVOLUTIONS.search(name):
        return LibraryKernel(name, "product", "MIOpen", "convolution")
    if name.startswith("MIOpenBatchNorm"):
        return LibraryKernel(name, "reduction", "MIOpen", "batch norm")
    return None


_CK_PARTS: tuple[tuple[str, Part], ...] = (
    ("bwd_weight", "weight gradient"),
    ("bwd_data", "input gradient"),
    ("conv_fwd", "forward"),
)
_CK_SHAPE = re.compile(r"TileFmhaShapeINS_8sequenceIJLi(\d+)ELi(\d+)ELi\d+ELi(\d+)")


def read_composable(name: str) -> LibraryKernel | None:
    """A kernel of Composable Kernel, whose name is its C++ type."""
    if not re.search(r"2ck16tensor|ck::|ck_tile", name):
        return None
    if "Fmha" in name or "fmha" in name:
        shape = _CK_SHAPE.search(name)
        part: Part = "gradients" if "Bwd" in name else "forward"
        return LibraryKernel(
            name,
            "attention",
            "Composable Kernel",
            "attention",
            part=part,
            tile=None if shape is None else (int(shape[1]), int(shape[2])),
            has_matrix_units=True,
            input_dtype="bfloat16" if "ProblemIDF16b" in name else None,
            head_width=None if shape is None else int(shape[3]),
        )
    if re.search(r"[Nn]orm|[Ss]oftmax|[Rr]educe", name):
        return LibraryKernel(name, "reduction", "Composable Kernel", "norm")
    if re.search(r"[Gg]emm|conv", name):
        return LibraryKernel(
            name,
            "product",
            "Composable Kernel",
            "convolution" if "conv" in name or "bwd_weight" in name else "gemm",
            part=next((part for word, part in _CK_PARTS if word in name), None),
            has_matrix_units=True if re.search("xdl|wmma", name) else None,
        )
    return LibraryKernel(name, "other", "Composable Kernel")


def read_aiter(name: str) -> LibraryKernel | None:
    """A kernel of AITER, of AOTriton, or that servers for ROCm bring along."""
    if re.match(r"(?:_ZN5aiter\d*)?(?:f?mha_|fmha_(?:fwd|bwd))", name):
        return LibraryKernel(name, "attention", "AITER", "attention")
    if name in ("attn_fwd", "bwd_kernel_dk_dv", "bwd_kernel_dq", "bwd_kernel_fuse"):
        part: Part = "forward" if name == "attn_fwd" else "gradients"
        return LibraryKernel(name, "attention", "AOTriton", "attention", part=part)
    if "5aiter" not in name and "aiter::" not in name:
        return None
    if re.search(r"norm|softmax|topk", name):
        return LibraryKernel(name, "reduction", "AITER", "norm" if "norm" in name else None)
    if re.search(r"gemm|moe", name):
        return LibraryKernel(name, "product", "AITER")
    return LibraryKernel(name, "other", "AITER")


def list_readers() -> Iterator[Reader]:
    """The readers of this file."""
    yield from (read_tensile, read_miopen, read_composable, read_aiter)
