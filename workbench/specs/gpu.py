"""What is known of one GPU: limits of a multiprocessor, memory, and peak rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from workbench.device_kinds import Vendor, VendorName, find_vendor

DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8")


@dataclass(frozen=True)
class Rates:
    """Peak dense rates in 10^12 operations per second, a multiply-add counted as two.

    None: the vendor gives no rate, or the device has no such unit.
    """

    fp64: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    fp16: float | None = None
    bf16: float | None = None
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None

    def of(self, dtype: str) -> float | None:
        """The rate of one of `DTYPES`."""
        rate: float | None = getattr(self, dtype)
        return rate


@dataclass(frozen=True)
class Gpu:
    """One GPU as a program sees it; for a package of several devices, one of them.

    A multiprocessor (SM) is AMD's compute unit, a warp its wavefront, shared memory its LDS, a
    block its workgroup. Registers have 32 bits; AMD's vector registers (with accumulation
    registers) are counted. Sizes are bytes. `sources` says for each field, for rates as
    "matrix.fp16", where its value comes from.
    """

    name: str  # the name that `target` takes
    title: str  # the name to read
    device_name: str  # what torch.cuda.get_device_name() says there
    vendor: VendorName  # "nvidia" or "amd"
    architecture: str  # the architecture, by its name
    arch: str  # "sm_90", "gfx942"
    major: int  # compute capability, or gfx version as torch reports it
    minor: int  # the second part of the compute capability

    sms: int  # multiprocessors
    subpartitions: int  # warp schedulers (SIMDs) of a multiprocessor, each with its own registers
    warp_size: int  # threads of a warp
    max_warps_per_sm: int  # warps that a multiprocessor can hold
    max_blocks_per_sm: int  # blocks that a multiprocessor can hold
    max_threads_per_block: int  # threads that a block can have
    registers_per_sm: int  # registers of a multiprocessor
    registers_per_block: int  # registers that a block can have
    max_registers_per_thread: int  # registers that a thread can have
    register_unit: int  # registers are given to a warp in multiples of this

    shared_per_sm: int  # shared memory of a multiprocessor
    shared_per_block: int  # without asking for more
    shared_per_block_optin: int  # shared memory that a block can have when it asks
    shared_unit: int  # shared memory is given to a block in multiples of this
    shared_reserved: int  # what the driver takes of it for each block

    l2_bytes: int  # of the whole device
    dram_bytes: int  # the vendor's GB counted as 2^30 bytes, which is what devices report
    bandwidth_gbs: float  # 10^9 bytes per second
    clock_mhz: float  # the highest, at which vendors give rates without matrix units

    vector: Rates
    matrix: Rates  # tensor cores, matrix cores

    l3_bytes: int | None = None  # the cache behind the L2, of the whole device
    dies: int = 1  # parts that have an L2 cache of their own
    memory_clock_mhz: float | None = None  # as CUDA reports it: half the data rate
    memory_bus_bits: int | None = None  # width of the memory's bus
    scalar_registers: int | None = None  # of a SIMD
    scalar_register_unit: int | None = None  # a warp gets scalar registers in multiples of this
    max_barrier_blocks: int | None = None  # blocks of more than one warp
    link_gbs: float | None = None  # 10^9 B/s one way, to the other GPUs of a node
    nic_gbs: float | None = None  # 10^9 B/s one way, to other nodes by its network card
    aliases: tuple[str, ...] = ()  # other names that are understood
    note: str = ""  # a remark
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def max_threads_per_sm(self) -> int:
        """Threads that can be resident on a multiprocessor."""
        return self.max_warps_per_sm * self.warp_size

    @property
    def kind(self) -> Vendor:
        """In what code for it differs from that for GPUs of others."""
        return find_vendor(self.vendor)

    @property
    def l2_bytes_per_die(self) -> int:
        """What one multiprocessor can reach, and what ROCm reports as the size of the L2 cache."""
        return self.l2_bytes // self.dies

    def values(self) -> dict[str, object]:
        """Every field but `sources` in order, rates as "vector.fp32" and "matrix.fp16"."""
        by_name: dict[str, object] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Rates):
                by_name |= {f"{item.name}.{dtype}": value.of(dtype) for dtype in DTYPES}
            elif item.name != "sources":
                by_name[item.name] = value
        return by_name
