"""The GPUs of this machine, asked of the drivers without starting CUDA, HIP or torch."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KFD = Path("/sys/class/kfd/kfd/topology/nodes")
_NVML = "libnvidia-ml.so.1"
_NUMBER = re.compile(r"sm_(\d+)(\d)([af]?)$")


@dataclass(frozen=True)
class GpuFacts:
    """One GPU: its name as torch reports it, "sm_90" or "gfx942", bytes of memory, or None."""

    name: str
    arch: str
    memory_bytes: int | None = None

    def runs(self, code: str) -> bool:
        """Whether it runs machine code for an architecture, such as "sm_90a" or "gfx942".

        NVIDIA's code runs on the same major compute capability from its minor one on; code with the
        letter a only on exactly its own, with f on its family
        (CUDA C++ Programming Guide, "Binary Compatibility" and "Feature Set Compiler Targets").
        """
        needed, there = _NUMBER.match(code), _NUMBER.match(self.arch)
        if needed is None or there is None:
            return code == self.arch
        same_major = needed[1] == there[1]
        if needed[3] == "a":
            return same_major and needed[2] == there[2]
        return same_major and int(there[2]) >= int(needed[2])

    def compiles(self, ptx: str) -> bool:
        """Whether its driver can compile PTX for an architecture to its own.

        PTX is compiled for its own and for every later compute capability; with the letter a only
        for exactly its own, with f for its family
        (CUDA C++ Programming Guide, "PTX Compatibility").
        """
        needed, there = _NUMBER.match(ptx), _NUMBER.match(self.arch)
        if needed is None or there is None or needed[3]:
            return self.runs(ptx)
        return (int(there[1]), int(there[2])) >= (int(needed[1]), int(needed[2]))


@dataclass(frozen=True)
class GpusOfMachine:
    """All GPUs of a machine and the release of their driver."""

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None


def find_gpus(kfd: Path = _KFD) -> GpusOfMachine:
    """The GPUs of this machine: NVIDIA's by its management library, AMD's by the kernel."""
    gpus = _nvidia()
    return gpus if gpus.gpus else GpusOfMachine(tuple(find_amd_gpus(kfd)))


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _nvidia() -> GpusOfMachine:
    try:
        library: Any = ctypes.CDLL(_NVML)
    except OSError:
        return GpusOfMachine()
    if library.nvmlInit_v2() != 0:
        return GpusOfMachine()
    try:
        count, driver = ctypes.c_uint(), ctypes.create_string_buffer(80)
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        library.nvmlSystemGetDriverVersion(driver, len(driver))
        gpus = tuple(_nvidia_gpu(library, n) for n in range(count.value))
        return GpusOfMachine(gpus, driver.value.decode(errors="replace") or None)
    finally:
        library.nvmlShutdown()


def _nvidia_gpu(library: Any, index: int) -> GpuFacts:
    handle, memory = ctypes.c_void_p(), _Memory()
    name, major, minor = ctypes.create_string_buffer(96), ctypes.c_int(), ctypes.c_int()
    library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
    library.nvmlDeviceGetName(handle, name, len(name))
    library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    known = library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    return GpuFacts(
        name.value.decode(errors="replace"),
        f"sm_{major.value}{minor.value}",
        int(memory.total) if known else None,
    )


def find_amd_gpus(kfd: Path) -> Iterator[GpuFacts]:
    """The GPUs that the kernel lists in `kfd`; a node without compute units is a processor."""
    for node in sorted(kfd.glob("*/properties"), key=lambda file: file.parent.name):
        lines = (line.split() for line in node.read_text().splitlines())
        facts = {parts[0]: parts[1] for parts in lines if len(parts) == 2}
        version = int(facts.get("gfx_target_version", "0"))
        if not version:
            continue
        major, rest = divmod(version, 10000)
        minor, step = divmod(rest, 100)
        arch = f"gfx{major}{minor:x}{step:x}"
        yield GpuFacts(f"AMD {arch}", arch)
