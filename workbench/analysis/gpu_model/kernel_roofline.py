"""Where the kernels of a compilation lie under the roofline of a GPU, from bytes and operations.

Bytes are Inductor's traffic model, operations those of `Kernel.flops`, both of one call. Matrix
units count for kernels whose source has `tl.dot` and for library products, convolutions and
attention; everything else counts on the vector units, in fp64 where a value is one and in fp32
otherwise. Values in float32 count as TF32 where torch was told so, and in attention, whose library
kernels compute in several passes of TF32: that makes its bound too low.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.analysis.fusion.traffic import NodeFacts, bytes_of, select_nodes
from workbench.analysis.gpu_model.roofline import canonical, compute_roofline
from workbench.errors import UsageError
from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.specs import Gpu

PRODUCTS, CONVOLUTIONS = "products", "convolutions"
"""What a request may list under `tf32`."""

_PRODUCTS = frozenset(
    (
        *("mm", "addmm", "bmm", "baddbmm", "_int_mm", "_scaled_mm", "_grouped_mm"),
        *("_scaled_grouped_mm", "_sparse_semi_structured_mm", "_weight_int8pack_mm"),
    )
)
_TRITON_TF32 = re.compile(r"ALLOW_TF32 : tl.constexpr = True|FLOAT32_PRECISION : \S+ = .*tf32")


def add_rooflines(report: Report, gpu: Gpu) -> Report:
    """The report with the table `roofline`."""
    table = Table.of(KernelRoofline, rooflines(report, gpu))
    return replace(report, tables={**report.tables, "roofline": table})


def add_measured(report: Report) -> Report:
    """The report with the times of its kernels, of one call, beside the bounds in `roofline`."""
    if not len(report.roofline):
        return report
    times = {kernel.id: _time(kernel) for kernel in report.kernels}
    rows = [replace(row, measured_us=times.get(row.kernel)) for row in report.roofline]
    return replace(report, tables={**report.tables, "roofline": Table.of(KernelRoofline, rows)})


def rooflines(report: Report, gpu: Gpu) -> Iterator[KernelRoofline]:
    """A row for every kernel and library call, in their order."""
    nodes = select_nodes(report, "id", {id for kernel in report.kernels for id in kernel.nodes})
    inputs = {id for node in nodes.values() for id in node.inputs}
    nodes |= select_nodes(report, "id", inputs - nodes.keys())
    for kernel in report.kernels:
        text = report.texts.get(kernel.text or "", "") if kernel.language == "triton" else ""
        own = [nodes[id] for id in kernel.nodes if id in nodes]
        dtype, is_matrix = _arithmetic(report, kernel, text, own, nodes)
        row = _row(kernel, gpu, dtype, is_matrix=is_matrix)
        symbols = any(isinstance(size, str) for node in own for size in node.shape or ())
        notes = [*_unknown(kernel), *(["with the sizes of the example inputs"] if symbols else [])]
        yield replace(row, note="; ".join(notes) or None)


def _row(kernel: Kernel, gpu: Gpu, dtype: str, *, is_matrix: bool) -> KernelRoofline:
    moved, flops = bytes_of(kernel), kernel.flops
    found = compute_roofline(
        gpu, moved_bytes=moved or 0, flops=flops or 0, dtype=dtype, matrix=is_matrix
    )
    is_whole = moved is not None and flops is not None
    return KernelRoofline(
        kernel=kernel.id,
        target=gpu.name,
        moved_bytes=moved,
        flops=flops,
        rate=found.rate,
        rate_tflops=found.rate_tflops,
        bandwidth_gbs=found.bandwidth_gbs,
        intensity=found.intensity if is_whole else None,
        ridge=found.ridge,
        bound=found.bound if is_whole else None,
        bound_us=None if moved is None and flops is None else found.time_us,
        attainable_tflops=found.attainable_tflops if is_whole else None,
        measured_us=_time(kernel),
    )


def _time(kernel: Kernel) -> float | None:
    return None if kernel.time_us is None else kernel.time_us / max(kernel.calls, 1)


def _unknown(kernel: Kernel) -> Iterator[str]:
    """Why a number is missing, and what the rest then means."""
    if bytes_of(kernel) is None:
        yield "the bytes that it moves are not known"
    if kernel.flops is not None:
        return
    if any(op.startswith("triton_kernel_wrapper") for op in kernel.ops):
        why = "the operations of a kernel that the user wrote are not known"
    else:
        why = f"the operations of {', '.join(kernel.ops) or kernel.name} are not known"
    yield why if bytes_of(kernel) is None else f"{why}: the bound is that of its bytes"


def _arithmetic(
    report: Report, kernel: Kernel, text: str, own: list[NodeFacts], nodes: Mapping[str, NodeFacts]
) -> tuple[str, bool]:
    """The dtype that a kernel computes in, and whether matrix units do."""
    multiplied = [node for node in own if _kind(node.target) is not None]
    if "tl.dot" not in text and not (kernel.language == "extern" and multiplied):
        return ("fp64" if any(_is_double(node, nodes) for node in own) else "fp32"), False
    dtypes = [nodes[id].dtype for node in multiplied for id in node.inputs if id in nodes] + [
        node.dtype for node in own
    ]
    dtype = _rated(next((dtype for dtype in dtypes if dtype is not None), "float32"))
    if dtype == "fp32" and _takes_tf32(report, kernel, text, multiplied):
        dtype = "tf32"
    return dtype, True


def _kind(target: str) -> str | None:
    """Which of the operators that libraries compute on matrix units it is."""
    name = target.partition(".")[2].partition(".")[0] or target
    if name in _PRODUCTS:
        return PRODUCTS
    if "convolution" in name:
        return CONVOLUTIONS
    return "attention" if "attention" in name else None


def _takes_tf32(report: Report, kernel: Kernel, text: str, multiplied: list[NodeFacts]) -> bool:
    if kernel.language != "extern":
        return _TRITON_TF32.search(text) is not None
    kinds = {_kind(node.target) for node in multiplied}
    return "attention" in kinds or bool(kinds.intersection(report.request.tf32))


def _is_double(node: NodeFacts, nodes: Mapping[str, NodeFacts]) -> bool:
    values = (node, *(nodes[id] for id in node.inputs if id in nodes))
    return any(value.dtype in ("float64", "complex128") for value in values)


def _rated(dtype: str) -> str:
    """The name of the rate; what has none, such as complex numbers, is made of float32."""
    try:
        return canonical(dtype)
    except UsageError:
        return "fp32"
