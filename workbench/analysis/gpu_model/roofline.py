"""The least time that a kernel can take on a GPU: by its data, or by its arithmetic.

    memory time   = bytes / bandwidth of the DRAM
    compute time  = operations / peak rate of their dtype
    time          = the longer of the two, which is the bound
    intensity     = operations / bytes
    ridge point   = peak rate / bandwidth: with less intensity, memory is the bound

A lower bound and an estimate: it assumes that every byte moves once, at full bandwidth, between
DRAM and the chip, and that nothing else costs time (launches, latency, partly filled waves). A
kernel whose data stay in the L2 cache can be faster than its memory time.

Of the kernels of a compilation, bytes are Inductor's traffic model, operations those of
`Kernel.flops`, both of one call. Matrix units count for kernels whose source has `tl.dot` and for
library products, convolutions and attention; everything else counts on the vector units, in fp64
where a value is one and in fp32 otherwise. Values in float32 count as TF32 where torch was told so,
and in attention, whose library kernels compute in several passes of TF32: that makes its bound too
low.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from workbench.analysis.fusion.traffic import NodeFacts, bytes_of, read_kernel_nodes
from workbench.errors import UsageError
from workbench.report import Kernel, Report, Table
from workbench.report.collectives.collective_rows import NETWORK
from workbench.report.machine_rows import KernelRoofline
from workbench.report.profile_record import read_measured_call
from workbench.specs import DTYPES, Gpu, Rates

_TORCH_NAMES = {
    "float64": "fp64",
    "double": "fp64",
    "float32": "fp32",
    "float": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float4_e2m1fn_x2": "fp4",
    "uint8": "int8",
}
# Where a device has no matrix unit for a dtype, Triton converts its values to the next one; the
# others are multiplied without matrix units.
_MATRIX_NEXT = {"fp4": "fp16", "fp8": "fp16", "tf32": "fp32"}


@dataclass(frozen=True)
class MeasuredHost:
    """The CPU of a profile as what has a roofline: its rates were measured, of float32 alone."""

    bandwidth_gbs: float
    vector: Rates
    name: str = "host"

    @property
    def matrix(self) -> Rates:
        """None of its own: products and all else count at the one rate that was measured."""
        return Rates()


@dataclass(frozen=True)
class Roofline:
    """Where a kernel stands on a GPU; times are microseconds, rates 10^12 operations per second.

    `bound` is None when nothing is moved or computed, or the rate is not known. `rate` names the
    units that the operations were counted on, such as "matrix.fp16". `intensity` is None without
    bytes, `attainable_tflops` the rate that the roof allows at that intensity.
    """

    bound: Literal["memory", "compute"] | None
    time_us: float
    memory_us: float
    compute_us: float | None
    intensity: float | None
    ridge: float | None
    rate: str | None
    rate_tflops: float | None
    bandwidth_gbs: float
    attainable_tflops: float | None
    estimate: bool = True


def compute_roofline(
    gpu: Gpu | MeasuredHost,
    *,
    moved_bytes: float,
    flops: float,
    dtype: str = "fp32",
    matrix: bool = False,
) -> Roofline:
    """The roofline position of a kernel.

    `moved_bytes` are read from and written to DRAM, `flops` are operations, a multiply-add counted
    as two. `dtype` is one of `DTYPES` or torch's name for it, of the values that are computed with;
    `matrix` says whether matrix units (tensor cores) do the work, as for `tl.dot`. Raises
    `UsageError` for a dtype that is not known, or a negative number.
    """
    if moved_bytes < 0 or flops < 0:
        raise UsageError(f"Bytes and operations cannot be negative: {moved_bytes}, {flops}.")
    rate, tflops = find_peak_rate(gpu, dtype, matrix=matrix)
    memory_us = moved_bytes / gpu.bandwidth_gbs / 1e3
    compute_us = flops / tflops / 1e6 if tflops else None
    ridge = tflops * 1e3 / gpu.bandwidth_gbs if tflops else None
    intensity = flops / moved_bytes if moved_bytes else None
    return Roofline(
        bound=_bound(memory_us, compute_us),
        time_us=max(memory_us, compute_us or 0.0),
        memory_us=memory_us,
        compute_us=compute_us,
        intensity=intensity,
        ridge=ridge,
        rate=rate,
        rate_tflops=tflops,
        bandwidth_gbs=gpu.bandwidth_gbs,
        attainable_tflops=_attainable(intensity, tflops, gpu.bandwidth_gbs),
    )


def find_peak_rate(
    gpu: Gpu | MeasuredHost, dtype: str, *, matrix: bool = False
) -> tuple[str | None, float | None]:
    """The name and the value of the rate at which a GPU computes with a dtype; None if unknown.

    Without matrix units, types below 32 bits count as fp32, because that is what generated
    kernels convert them to. With them, a type that a device has no unit for counts as the one
    that it is converted to, in the end as fp32 without matrix units.
    """
    wanted = canonical(dtype)
    if matrix:
        step: str | None = wanted
        while step is not None:
            if rate := gpu.matrix.of(step):
                return f"matrix.{step}", rate
            step = _MATRIX_NEXT.get(step)
    plain = wanted if wanted == "fp64" else "fp32"
    rate = gpu.vector.of(plain)
    return (f"vector.{plain}", rate) if rate else (None, None)


def canonical(dtype: str) -> str:
    """The name in `DTYPES` of a dtype that may be written as torch does, "torch.bfloat16".

    Raises `UsageError` where there is no rate for such a dtype.
    """
    plain = dtype.removeprefix("torch.")
    name = "fp8" if plain.startswith("float8") else _TORCH_NAMES.get(plain, plain)
    if name not in DTYPES:
        raise UsageError(f"{dtype!r} has no peak rate; choose one of {', '.join(DTYPES)}.")
    return name


def _bound(memory_us: float, compute_us: float | None) -> Literal["memory", "compute"] | None:
    if compute_us is None or not (memory_us or compute_us):
        return None
    return "compute" if compute_us > memory_us else "memory"


def _attainable(
    intensity: float | None, tflops: float | None, bandwidth_gbs: float
) -> float | None:
    if tflops is None:
        return None
    return tflops if intensity is None else min(tflops, intensity * bandwidth_gbs / 1e3)


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


def list_host_rooflines(report: Report) -> list[KernelRoofline]:
    """The same for a CPU by what a profile measured of it; empty without one, and of a GPU."""
    call = read_measured_call(report)
    if call is None or not call.bytes_per_s or not call.flops_per_s or len(report.roofline):
        return []
    rates = Rates(fp32=call.flops_per_s / 1e12)
    return list(rooflines(report, MeasuredHost(call.bytes_per_s / 1e9, rates)))


def rooflines(report: Report, gpu: Gpu | MeasuredHost) -> Iterator[KernelRoofline]:
    """A row for every kernel and library call, in their order."""
    nodes = read_kernel_nodes(report)
    for kernel in report.kernels:
        if kernel.is_collective:
            row = KernelRoofline(kernel.id, gpu.name, measured_us=_time(kernel), note=NETWORK)
            yield row
            continue
        text = report.texts.get(kernel.text or "", "") if kernel.language == "triton" else ""
        own = [nodes[id] for id in kernel.nodes if id in nodes]
        dtype, is_matrix = _arithmetic(report, kernel, text, own, nodes)
        row = _row(kernel, gpu, dtype, is_matrix=is_matrix)
        symbols = any(isinstance(size, str) for node in own for size in node.shape or ())
        notes = [
            *_unknown(kernel),
            *(["computed with the sizes of the example inputs"] if symbols else []),
        ]
        yield replace(row, note="; ".join(notes) or None)


def _row(kernel: Kernel, gpu: Gpu | MeasuredHost, dtype: str, *, is_matrix: bool) -> KernelRoofline:
    moved, flops = bytes_of(kernel), kernel.flops
    point = compute_roofline(
        gpu, moved_bytes=moved or 0, flops=flops or 0, dtype=dtype, matrix=is_matrix
    )
    is_whole = moved is not None and flops is not None
    return KernelRoofline(
        kernel=kernel.id,
        target=gpu.name,
        moved_bytes=moved,
        flops=flops,
        rate=point.rate,
        rate_tflops=point.rate_tflops,
        bandwidth_gbs=point.bandwidth_gbs,
        intensity=point.intensity if is_whole else None,
        ridge=point.ridge,
        bound=point.bound if is_whole else None,
        bound_us=None if moved is None and flops is None else point.time_us,
        attainable_tflops=point.attainable_tflops if is_whole else None,
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
        why = "the operation count of a hand-written kernel is unknown"
    else:
        why = f"the operations of {', '.join(kernel.ops) or kernel.name} are not known"
    yield why if bytes_of(kernel) is None else f"{why}, so the bound counts only its bytes"


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
