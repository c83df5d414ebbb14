"""The least time that a kernel can take on a GPU: by its data, or by its arithmetic.

    memory time   = bytes / bandwidth of the DRAM
    compute time  = operations / peak rate of their dtype
    time          = the longer of the two, which is the bound
    intensity     = operations / bytes
    ridge point   = peak rate / bandwidth: with less intensity, memory is the bound

A lower bound and an estimate: it assumes that every byte moves once, at full bandwidth, between
DRAM and the chip, and that nothing else costs time (launches, latency, partly filled waves). A
kernel whose data stay in the L2 cache can be faster than its memory time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.errors import UsageError
from workbench.specs import DTYPES, Gpu

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
    gpu: Gpu, *, moved_bytes: float, flops: float, dtype: str = "fp32", matrix: bool = False
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
    gpu: Gpu, dtype: str, *, matrix: bool = False
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
        raise UsageError(f"There is no peak rate for {dtype!r}; take one of {', '.join(DTYPES)}.")
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
