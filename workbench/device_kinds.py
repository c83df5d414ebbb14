"""The kinds of devices: what torch, builds, C++ and people call each, and in what they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

CPU = "cpu"
GPU = "cuda"
"""Torch's name of NVIDIA's and of AMD's GPUs."""
TARGETS = ("host", CPU, GPU)
"""What code is compiled for, besides virtual GPUs: `host` is wherever the inputs are."""
ATEN: Mapping[str, str] = {CPU: "at::kCPU", GPU: "at::kCUDA", "xpu": "at::kXPU"}
"""The kinds in C++."""
AUTOCAST = tuple(ATEN)
"""Those for which torch has an autocast of its own."""

VendorName = Literal["nvidia", "amd"]


@dataclass(frozen=True)
class Vendor:
    """Who makes GPUs: `build` names the toolkit in torch's builds, Triton and `wb.machine()`.

    `toolkit` is its name in words, `sector_bytes` what memory is fetched in at least.
    """

    name: VendorName
    build: str
    toolkit: str
    sector_bytes: int


NVIDIA = Vendor("nvidia", GPU, "CUDA", 32)
AMD = Vendor("amd", "hip", "ROCm", 64)
VENDORS: Mapping[str, Vendor] = {vendor.name: vendor for vendor in (NVIDIA, AMD)}


def is_gpu(device: Any) -> bool:
    """Whether a device of torch, or its name such as `cuda:0`, is a GPU."""
    return str(device).partition(":")[0] == GPU
