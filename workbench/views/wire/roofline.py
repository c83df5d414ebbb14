"""What the Roofline pane shows: roofs of GPUs, and kernels under them.

See `document.py`. What a model gives is an estimate.
"""

from __future__ import annotations

from typing import TypedDict


class Roof(TypedDict):
    """The roof of one GPU: its bandwidth, and the peak rates (TFLOPS) that its kernels use."""

    target: str
    bandwidth_gbs: float
    rates: list[tuple[str, float]]


class RooflinePoint(TypedDict):
    """Where one kernel lies under the roof of a GPU; `share` is its part of the time of all."""

    kernel: str
    target: str
    moved_bytes: int | None
    flops: int | None
    rate: str | None
    intensity: float | None
    ridge: float | None
    bound: str | None
    bound_us: float | None
    attainable_tflops: float | None
    measured_us: float | None
    estimate: bool
    share: float
    note: str | None
