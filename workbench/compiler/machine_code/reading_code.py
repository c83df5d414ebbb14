"""Reads one compiled configuration: listings of each stage, and what it takes of the device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.analysis.gpu_model.occupancy import occupancy
from workbench.compiler.machine_code import amd
from workbench.compiler.machine_code.binary_tools import Usage, cubin_usage, inspect_cubin
from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.device import Device
from workbench.compiler.machine_code.listings import (
    SASS_INSTRUCTION,
    Listing,
    assembler,
    llvm,
    mlir,
    sass,
)
from workbench.report.machine_rows import Resources

_READERS = {"ttir": mlir, "ttgir": mlir, "llir": llvm, "ptx": assembler, "amdgcn": assembler}


class MachineCode:
    """What was read of one configuration; `missing` says why there is no SASS."""

    def __init__(self, listings: dict[str, Listing], resources: Resources, missing: str | None):
        self.listings = listings
        self.resources = resources
        self.missing = missing


def read_code(config: CompiledConfig, device: Device) -> MachineCode:
    """Read every text of a configuration and count what it takes of the device."""
    listings = {stage: _READERS[stage](text) for stage, text in config.texts.items()}
    row = _begun(config)
    if device.is_amd:
        row = replace(row, **amd.usage(config.texts.get("amdgcn", "")))
        return MachineCode(listings, _with_occupancy(row, device), None)
    inspected = inspect_cubin(config.binary)
    missing = inspected.note
    if inspected.sass is not None and "ptx" in listings:
        code = sass(inspected.sass, listings["ptx"])
        if code.lines:
            listings["sass"] = code
            row = replace(row, **_counted(code))
        else:
            missing = f"nvdisasm of this release cannot read code for {device.spec.arch}"
    if inspected.usage is not None:
        row = replace(row, **_used(inspected.usage, device))
    return MachineCode(listings, _with_occupancy(replace(row, note=missing), device), missing)


def read_resources(config: CompiledConfig, device: Device) -> Resources:
    """What a configuration takes of the device, its code read only where that shows spills.

    A third of the time of `read_code`: instructions are not counted.
    """
    if not device.is_amd:
        usage, missing = cubin_usage(config.binary)
        if usage is not None and not usage.stack:
            row = replace(_begun(config), **_used(usage, device), note=missing)
            return _with_occupancy(row, device)
    return read_code(config, device).resources


def _begun(config: CompiledConfig) -> Resources:
    return Resources(
        kernel="",
        config="",
        choice=config.choice,
        warps=config.warps,
        stages=config.stages,
        smem_dynamic=config.dynamic_shared,
    )


def _used(usage: Usage, device: Device) -> dict[str, Any]:
    static = max(0, usage.shared - device.spec.shared_reserved)  # counted by the tool as static
    found = {"registers": usage.registers, "stack": usage.stack, "smem_static": static}
    # without a stack there is nothing to spill to, also where the code cannot be read
    return found if usage.stack else found | {"spill_stores": 0, "spill_loads": 0}


def _counted(listing: Listing) -> dict[str, Any]:
    """Instructions, and those that spill: local memory is used for nothing else by Triton."""
    found = [match[1] for match in map(SASS_INSTRUCTION.match, listing.lines) if match]
    opcodes = [opcode.partition(".")[0] for opcode in found]
    return {
        "instructions": len(opcodes),
        "spill_stores": opcodes.count("STL"),
        "spill_loads": opcodes.count("LDL"),
    }


def _with_occupancy(row: Resources, device: Device) -> Resources:
    if row.registers is None:
        return row
    found = occupancy(
        device.spec,
        threads=row.warps * device.spec.warp_size,
        registers=row.registers,
        shared=(row.smem_static or 0) + (row.smem_dynamic or 0),
        scalar_registers=row.scalar_registers or 0,
    )
    return replace(
        row,
        blocks=found.blocks,
        occupancy=found.ratio,
        limiter=found.limiter,
        note=found.reason or row.note,
    )
