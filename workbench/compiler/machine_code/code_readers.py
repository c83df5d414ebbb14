"""What is read of a compiled configuration: listings of each stage, what it takes of the device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.compiler.machine_code import listings
from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.cubin_tools import (
    Inspected,
    Usage,
    inspect_cubins,
    read_cubin_usage,
)
from workbench.compiler.machine_code.device import Device
from workbench.compiler.machine_code.listings import Listing
from workbench.compiler.machine_code.occupancy import combine_registers, compute_occupancy
from workbench.report.machine_rows import Resources

_FIELD = re.compile(
    r"^\s*[.;]?\s*\.?(vgpr_count|agpr_count|sgpr_count|vgpr_spill_count|sgpr_spill_count|"
    r"private_segment_fixed_size|group_segment_fixed_size):\s+(\d+)",
    re.MULTILINE,
)
INSTRUCTION = re.compile(r"^\t((?:s|v|ds|global|buffer|flat|scratch)_\w+)")


def read_amd_usage(amdgcn: str) -> dict[str, Any]:
    """Fields of `Resources` in AMD's assembly: registers of a lane, bytes, spills."""
    fields = {name: int(value) for name, value in _FIELD.findall(amdgcn)}
    vector, accumulation = fields.get("vgpr_count"), fields.get("agpr_count", 0)
    spills = [fields[name] for name in ("vgpr_spill_count", "sgpr_spill_count") if name in fields]
    return {
        # the metadata count both kinds together since CDNA 2
        "registers": vector if vector is not None else combine_registers(0, accumulation),
        "scalar_registers": fields.get("sgpr_count"),
        "spill_stores": sum(spills) if spills else None,
        "stack": fields.get("private_segment_fixed_size"),
        "smem_static": fields.get("group_segment_fixed_size"),
        "instructions": sum(map(bool, map(INSTRUCTION.match, amdgcn.splitlines()))) or None,
    }


_READERS = {
    **dict.fromkeys(("ttir", "ttgir"), listings.mlir),
    "llir": listings.llvm,
    **dict.fromkeys(("ptx", "amdgcn"), listings.assembler),
}


@dataclass(frozen=True)
class MachineCode:
    """What was read of one configuration; `missing` says why there is no SASS."""

    listings: dict[str, Listing]
    resources: Resources
    missing: str | None


def read_codes(configs: Sequence[CompiledConfig], device: Device) -> list[MachineCode]:
    """Read every text of configurations and count what each takes of the device."""
    if device.kind.binary != "cubin":
        return [_of_amd(config, device) for config in configs]
    inspected = inspect_cubins([config.binary for config in configs])
    return [_of_nvidia(*pair, device) for pair in zip(configs, inspected, strict=True)]


def read_code(config: CompiledConfig, device: Device) -> MachineCode:
    """Read every text of one configuration; several are read in less time by `read_codes`."""
    (code,) = read_codes([config], device)
    return code


def _listings(config: CompiledConfig) -> dict[str, Listing]:
    return {stage: _READERS[stage](text) for stage, text in config.texts.items()}


def _of_amd(config: CompiledConfig, device: Device) -> MachineCode:
    row = replace(_begun(config), **read_amd_usage(config.texts.get("amdgcn", "")))
    return MachineCode(_listings(config), _with_occupancy(row, device), None)


def _of_nvidia(config: CompiledConfig, inspected: Inspected, device: Device) -> MachineCode:
    texts, row = _listings(config), _begun(config)
    missing = inspected.note
    if inspected.sass is not None and "ptx" in texts:
        code = listings.sass(inspected.sass, texts["ptx"])
        if code.lines:
            texts["sass"] = code
            row = replace(row, **_counted(code))
        else:
            missing = f"nvdisasm of this release cannot read code for {device.spec.arch}"
    if inspected.usage is not None:
        row = replace(row, **_used(inspected.usage, device))
    return MachineCode(texts, _with_occupancy(replace(row, note=missing), device), missing)


def read_resources(config: CompiledConfig, device: Device) -> Resources:
    """What a configuration takes of the device, its code read only where that shows spills.

    A third of the time of `read_code`: instructions are not counted.
    """
    if device.kind.binary == "cubin":
        usage, missing = read_cubin_usage(config.binary)
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
    usage_row = {"registers": usage.registers, "stack": usage.stack, "smem_static": static}
    # without a stack there is nothing to spill to, also where the code cannot be read
    return usage_row if usage.stack else usage_row | {"spill_stores": 0, "spill_loads": 0}


def _counted(listing: Listing) -> dict[str, Any]:
    """Instructions, and those that spill: local memory is used for nothing else by Triton."""
    names = [match[1] for match in map(listings.SASS_INSTRUCTION.match, listing.lines) if match]
    opcodes = [opcode.partition(".")[0] for opcode in names]
    return {
        "instructions": len(opcodes),
        "spill_stores": opcodes.count("STL"),
        "spill_loads": opcodes.count("LDL"),
    }


def _with_occupancy(row: Resources, device: Device) -> Resources:
    if row.registers is None:
        return row
    occupancy = compute_occupancy(
        device.spec,
        threads=row.warps * device.spec.warp_size,
        registers=row.registers,
        shared=(row.smem_static or 0) + (row.smem_dynamic or 0),
        scalar_registers=row.scalar_registers or 0,
    )
    return replace(
        row,
        blocks=occupancy.blocks,
        occupancy=occupancy.ratio,
        limiter=occupancy.limiter,
        note=occupancy.reason or row.note,
    )
