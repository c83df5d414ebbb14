"""Configurations that Inductor adds to a looped reduction whose registers limit the occupancy.

Inductor decides that from the registers that the driver names once a kernel is loaded. They stand
in the machine code too, so the same rule is applied here without a device.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.machine_code import amd
from workbench.compiler.machine_code.binary_tools import cubin_usage
from workbench.compiler.machine_code.device import Device


def can_be_added() -> bool:
    """Whether this torch has the rule in the form that is known here."""
    return tp.SCALE_RBLOCK.find() is not None and tp.COULD_SCALE_RBLOCK.find() is not None


def add_dynamic_rblock(tuner: Any, gpu: Device) -> None:
    """Have Inductor compile what its rule adds; call it once for each tuner, after it compiled."""
    if not can_be_added() or not tuner._could_rblock_scale:
        return
    kernels = [result.kernel for result in tuner.compile_results]
    for kernel in kernels:
        kernel.n_regs = _registers(kernel, gpu)
    try:
        tuner._dynamic_scale_rblock()
    finally:
        for kernel in kernels:
            vars(kernel).pop("n_regs", None)  # the driver of a real device sets it


def _registers(kernel: Any, gpu: Device) -> int | None:
    if gpu.is_amd:
        found: int | None = amd.usage(_part(kernel, "amdgcn").decode())["registers"]
        return found
    usage, _ = cubin_usage(_part(kernel, "cubin"))
    return None if usage is None else usage.registers


def _part(kernel: Any, stage: str) -> bytes:
    """What one stage made of a kernel; Inductor's own launcher keeps only where the files are."""
    asm = getattr(kernel, "asm", None)
    if asm is None:
        return Path(kernel.cubin_path).with_suffix(f".{stage}").read_bytes()
    return asm[stage] if isinstance(asm[stage], bytes) else str(asm[stage]).encode()
