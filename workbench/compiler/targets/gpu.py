"""The GPU that a compilation is made for, in the words that torch and Triton ask in."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace


@dataclass(frozen=True)
class Gpu:
    """What the compiler asks of a device.

    Memory sizes are bytes, rates kHz, the bus width bits. `arch` is Triton's: 90 for compute
    capability 9.0, or an AMD name such as "gfx942".
    """

    target: str
    name: str
    arch: int | str
    major: int
    minor: int
    multiprocessors: int
    warp_size: int
    threads_per_multiprocessor: int
    registers_per_multiprocessor: int
    shared_per_block: int
    shared_per_block_optin: int
    shared_per_multiprocessor: int
    l2_bytes: int
    memory_bytes: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    threads_per_block: int = 1024

    @property
    def is_amd(self) -> bool:
        """Whether it runs AMD code, which torch also calls "cuda"."""
        return isinstance(self.arch, str)

    @property
    def backend(self) -> str:
        """Triton's name of the vendor."""
        return "hip" if self.is_amd else "cuda"

    def properties(self) -> SimpleNamespace:
        """What `torch.cuda.get_device_properties` would answer."""
        return SimpleNamespace(
            name=self.name,
            major=self.major,
            minor=self.minor,
            total_memory=self.memory_bytes,
            multi_processor_count=self.multiprocessors,
            max_threads_per_multi_processor=self.threads_per_multiprocessor,
            max_threads_per_block=self.threads_per_block,
            regs_per_multiprocessor=self.registers_per_multiprocessor,
            warp_size=self.warp_size,
            shared_memory_per_block=self.shared_per_block,
            shared_memory_per_block_optin=self.shared_per_block_optin,
            shared_memory_per_multiprocessor=self.shared_per_multiprocessor,
            L2_cache_size=self.l2_bytes,
            # the switches that the drivers of these accelerators report by default
            gcnArchName=f"{self.arch}:sramecc+:xnack-" if self.is_amd else "",
            clock_rate=self.clock_khz,
            memory_clock_rate=self.memory_clock_khz,
            memory_bus_width=self.memory_bus_bits,
            is_integrated=0,
            is_multi_gpu_board=0,
            uuid="0",
            pci_bus_id=0,
        )

    def driver_properties(self) -> dict[str, int]:
        """What Triton's driver would answer."""
        return {
            "max_shared_mem": self.shared_per_block_optin,
            "multiprocessor_count": self.multiprocessors,
            "warpSize": self.warp_size,
            "max_num_regs": self.registers_per_multiprocessor,
            "sm_clock_rate": self.clock_khz,
            "mem_clock_rate": self.memory_clock_khz,
            "mem_bus_width": self.memory_bus_bits,
        }
