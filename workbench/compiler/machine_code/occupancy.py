"""How many warps of a kernel a multiprocessor can hold, and what sets that number.

NVIDIA: the rules of `cuda_occupancy.h` (CUDA Toolkit). AMD: those of LLVM's AMDGPU target, by
whole workgroups. Both are the same arithmetic with other numbers:

    registers of a warp   = round up(registers per thread x warp size, unit)
    warps by registers    = (registers per subpartition // registers of a warp) x subpartitions
    memory of a block     = round up(shared memory + reserved, unit)
    blocks                = least of (warps by registers // warps of a block,
                            shared memory // memory of a block, warp limit, block limit)

It is what fits, not what runs: a grid with fewer blocks fills less.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.specs import Gpu

# In the order in which one is named when several set the same number of blocks.
WARPS, REGISTERS, SCALARS, SHARED, BLOCKS, BARRIERS = (
    "warps",
    "registers",
    "scalar registers",
    "shared memory",
    "blocks",
    "barriers",
)


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that fit on one multiprocessor at the same time.

    `limiters` are the resources that allow no further block, the first of them `limiter`;
    `allowed` says for each resource that is used how many blocks it would allow. With no block
    at all the kernel cannot be launched, and `reason` says why.
    """

    blocks: int
    warps: int
    max_warps: int
    limiters: tuple[str, ...]
    allowed: tuple[tuple[str, int], ...]
    reason: str | None = None
    estimate: bool = True

    @property
    def limiter(self) -> str:
        """The resource to look at first: "warps" is the hardware's own maximum."""
        return self.limiters[0]

    @property
    def ratio(self) -> float:
        """Resident warps as a part of what the hardware can hold, 0 to 1."""
        return self.warps / self.max_warps


def compute_occupancy(
    gpu: Gpu,
    *,
    threads: int,
    registers: int = 0,
    shared: int = 0,
    scalar_registers: int = 0,
) -> Occupancy:
    """The theoretical occupancy of a kernel.

    `threads` are those of a block, `registers` those of a thread; on AMD the total with
    accumulation registers, which the code object calls `.vgpr_count`, see `combine_registers`.
    `shared` are bytes of a block, static and dynamic, without what the driver reserves,
    `scalar_registers` those of a wavefront, AMD only. Raises `UsageError` where a number is
    negative, or there are no threads.
    """
    if threads < 1 or min(registers, shared, scalar_registers) < 0:
        raise UsageError(
            f"Expected at least one thread and no negative resource: got {threads} threads, "
            f"{registers} registers, {shared} bytes, {scalar_registers} scalar registers."
        )
    warps = -(-threads // gpu.warp_size)
    reason = _refused(gpu, threads, warps, registers, shared)
    allowed = _allowed(gpu, warps, registers, shared, scalar_registers)
    blocks = 0 if reason else min(allowed.values())
    limiters = tuple(name for name, count in allowed.items() if count <= blocks)
    if reason:
        limiters = (reason[0],)
    return Occupancy(
        blocks=blocks,
        warps=blocks * warps,
        max_warps=gpu.max_warps_per_sm,
        limiters=limiters,
        allowed=tuple(allowed.items()),
        reason=reason[1] if reason else None,
    )


def combine_registers(vector: int, accumulation: int) -> int:
    """AMD's two kinds of registers as one number, since CDNA 2: they share one file.

    Accumulation registers start at a multiple of four (LLVM, `getTotalNumVGPRs`).
    """
    return _round_up(vector, 4) + accumulation if accumulation else vector


def _allowed(gpu: Gpu, warps: int, registers: int, shared: int, scalars: int) -> dict[str, int]:
    """How many blocks each resource allows."""
    allowed = {WARPS: gpu.max_warps_per_sm // warps}
    if registers:
        per_warp = _round_up(registers * gpu.warp_size, gpu.register_unit)
        share = gpu.registers_per_sm // gpu.subpartitions
        allowed[REGISTERS] = share // per_warp * gpu.subpartitions // warps
    if scalars and gpu.scalar_registers and gpu.scalar_register_unit:
        per_wave = _round_up(scalars, gpu.scalar_register_unit)
        allowed[SCALARS] = gpu.scalar_registers // per_wave * gpu.subpartitions // warps
    if memory := _round_up(shared + gpu.shared_reserved, gpu.shared_unit):
        allowed[SHARED] = gpu.shared_per_sm // memory
    allowed[BLOCKS] = gpu.max_blocks_per_sm
    if gpu.max_barrier_blocks and warps > 1:
        allowed[BARRIERS] = gpu.max_barrier_blocks
    return allowed


def _refused(
    gpu: Gpu, threads: int, warps: int, registers: int, shared: int
) -> tuple[str, str] | None:
    """The resource that a single block exceeds, and a sentence; None when one fits."""
    if threads > gpu.max_threads_per_block:
        return WARPS, (
            f"{threads} threads per block exceed the limit of {gpu.max_threads_per_block}."
        )
    if registers > gpu.max_registers_per_thread:
        most = gpu.max_registers_per_thread
        return REGISTERS, f"{registers} registers per thread exceed the limit of {most}."
    # The hardware checks as if every subpartition took the same number of warps.
    per_warp = _round_up(registers * gpu.warp_size, gpu.register_unit)
    needed = per_warp * _round_up(warps, gpu.subpartitions)
    if needed > gpu.registers_per_block:
        have = gpu.registers_per_block
        return REGISTERS, f"A block needs {needed} registers, more than the {have} available."
    if shared > gpu.shared_per_block_optin:
        most = gpu.shared_per_block_optin
        return SHARED, f"{shared} bytes of shared memory per block exceed the limit of {most}."
    return None


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
