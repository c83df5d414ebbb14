"""The GPU that a compilation is made for, in the words that torch and Triton ask in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

from workbench.device_kinds import Vendor
from workbench.specs import Gpu


@dataclass(frozen=True)
class Device:
    """A GPU of the catalogue as the compiler asks for it: sizes in bytes, rates in kHz."""

    spec: Gpu

    @property
    def name(self) -> str:
        """The name that torch reports."""
        return self.spec.device_name

    @property
    def target(self) -> str:
        """The name under which it is a target."""
        return self.spec.name

    @property
    def kind(self) -> Vendor:
        """Whose code it runs: torch calls all of it by one name."""
        return self.spec.kind

    @property
    def backend(self) -> str:
        """Triton's name of the vendor."""
        return self.kind.build

    @cached_property
    def arch(self) -> int | str:
        """Triton's name of the architecture: 90 for sm_90, or "gfx942"."""
        return self.kind.arch(self.spec.arch)

    @property
    def has_bfloat16(self) -> bool:
        """Whether it computes in bfloat16 without emulation."""
        return self.spec.major >= self.kind.bfloat16_since

    def properties(self) -> SimpleNamespace:
        """What `torch.cuda.get_device_properties` would answer."""
        spec = self.spec
        return SimpleNamespace(
            name=spec.device_name,
            major=spec.major,
            minor=spec.minor,
            total_memory=spec.dram_bytes,
            multi_processor_count=spec.sms,
            max_threads_per_multi_processor=spec.max_threads_per_sm,
            max_threads_per_block=spec.max_threads_per_block,
            regs_per_multiprocessor=spec.registers_per_sm,
            warp_size=spec.warp_size,
            shared_memory_per_block=spec.shared_per_block,
            shared_memory_per_block_optin=spec.shared_per_block_optin,
            shared_memory_per_multiprocessor=spec.shared_per_sm,
            L2_cache_size=spec.l2_bytes_per_die if self.kind.reports_one_die else spec.l2_bytes,
            gcnArchName=f"{self.arch}{switches}" if (switches := self.kind.arch_switches) else "",
            clock_rate=_khz(spec.clock_mhz),
            memory_clock_rate=_khz(spec.memory_clock_mhz),
            memory_bus_width=spec.memory_bus_bits or 0,
            is_integrated=0,
            is_multi_gpu_board=0,
            uuid="0",
            pci_bus_id=0,
        )

    def driver_properties(self) -> dict[str, int]:
        """What Triton's driver would answer; 0 for a rate that the vendor does not give."""
        spec = self.spec
        return {
            "max_shared_mem": spec.shared_per_block_optin,
            "multiprocessor_count": spec.sms,
            "warpSize": spec.warp_size,
            "max_num_regs": spec.registers_per_sm,
            "sm_clock_rate": _khz(spec.clock_mhz),
            "mem_clock_rate": _khz(spec.memory_clock_mhz),
            "mem_bus_width": spec.memory_bus_bits or 0,
        }


def _khz(megahertz: float | None) -> int:
    return round((megahertz or 0) * 1000)
