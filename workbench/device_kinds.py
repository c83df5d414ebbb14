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
    """Who makes GPUs, and in what code for theirs differs: all that other rooms ask of a kind.

    `build` names the toolkit in torch's builds, Triton and `wb.machine()`, `toolkit` in words.
    `sector_bytes` is what memory is read in at least: a sector of NVIDIA's caches; the smallest
    read that AMD's L2 with its lines of 128 bytes sends on (ROCm Compute Profiler's documentation,
    "L2 cache", of MI200 and MI300). `arch_prefix` is how names of architectures begin,
    `math_library` how those of Triton's mathematical functions do. `most_programs` are those of a
    launch along each axis: CUDA C++ Programming Guide, "Technical Specifications per Compute
    Capability"; of AMD what the integers of Triton's launcher hold.
    """

    name: VendorName
    build: str
    toolkit: str
    assumed_release: str  # of the toolkit where this build of torch has none
    sector_bytes: int
    arch_prefix: str
    is_arch_number: bool  # Triton takes the number behind the prefix, 90 for sm_90
    arch_switches: str  # what drivers of its accelerators add to the name by default
    most_programs: tuple[int, int, int]
    binary: str  # its machine code in Triton's words
    math_library: str
    communication: str  # the library of its collectives
    attention: str  # what torch's kernels of attention are built with, where not from torch itself
    bfloat16_since: int  # the first major architecture that computes in it without emulation
    has_asserts: bool  # Inductor has none in code for ROCm
    has_own_options: bool  # configurations hold options of the compiler beside a kernel's arguments
    reports_one_die: bool  # drivers tell the L2 cache that one multiprocessor reaches
    has_minimum_drivers: bool  # for each release of the toolkit
    is_linked_anywhere: bool  # a package for it needs no toolkit where it is made

    def others(self) -> list[Vendor]:
        """Every other one."""
        return [vendor for vendor in VENDORS.values() if vendor is not self]

    def arch(self, name: str) -> int | str:
        """An architecture as Triton takes it."""
        return int(name.removeprefix(self.arch_prefix)) if self.is_arch_number else name


NVIDIA = Vendor(
    "nvidia",
    GPU,
    "CUDA",
    "13.0",
    32,
    "sm_",
    is_arch_number=True,
    arch_switches="",
    most_programs=(2**31 - 1, 65_535, 65_535),
    binary="cubin",
    math_library="__nv_",
    communication="NCCL",
    attention="",
    bfloat16_since=8,
    has_asserts=True,
    has_own_options=False,
    reports_one_die=False,
    has_minimum_drivers=True,
    is_linked_anywhere=True,
)
AMD = Vendor(
    "amd",
    "hip",
    "ROCm",
    "7.0",
    64,
    "gfx",
    is_arch_number=False,
    arch_switches=":sramecc+:xnack-",
    most_programs=(2**31 - 1,) * 3,
    binary="hsaco",
    math_library="__ocml_",
    communication="RCCL",
    attention="AOTriton",
    bfloat16_since=0,
    has_asserts=False,
    has_own_options=True,
    reports_one_die=True,
    has_minimum_drivers=False,
    is_linked_anywhere=False,
)
VENDORS: Mapping[str, Vendor] = {vendor.name: vendor for vendor in (NVIDIA, AMD)}
SECTOR_BYTES = NVIDIA.sector_bytes
"""What memory is read in at least where no GPU is named."""
SOURCE_LANGUAGES = {".cu": "cuda"}
"""Languages of sources that only toolkits of GPUs compile, by suffix."""


def find_vendor(name: VendorName) -> Vendor:
    """The one of that name."""
    return VENDORS[name]


def vendor_of_arch(arch: str) -> Vendor:
    """Whose an architecture is; NVIDIA's where its name is not known, as PTX."""
    return next((v for v in VENDORS.values() if arch.startswith(v.arch_prefix)), NVIDIA)


def is_gpu(device: Any) -> bool:
    """Whether a device of torch, or its name such as `cuda:0`, is a GPU."""
    return str(device).partition(":")[0] == GPU
