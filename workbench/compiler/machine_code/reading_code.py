"""What is read of a compiled configuration: listings of each stage, what it takes of the device."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.analysis.gpu_model.occupancy import combined_registers, occupancy
from workbench.compiler.machine_code import listings
from workbench.compiler.machine_code.compiled_configs import CompiledConfig
from workbench.compiler.machine_code.device import Device
from workbench.compiler.machine_code.listings import Listing
from workbench.report.machine_rows import Resources

_LIMIT_S = 120
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass(frozen=True)
class Usage:
    """What a cubin says of itself: registers of a thread, bytes of stack and shared memory."""

    registers: int
    stack: int
    shared: int


@dataclass(frozen=True)
class Inspected:
    """A cubin's code and resources; `note` says what could not be had and why."""

    sass: str | None
    usage: Usage | None
    note: str | None = None


@lru_cache(maxsize=256)
def inspect_cubin(cubin: bytes) -> Inspected:
    """Disassemble a cubin, with the PTX line of each instruction, and read its resources."""
    usage, no_usage = cubin_usage(cubin)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        sass, no_sass = _run("nvdisasm", "-gp", "-c", "-ndf", str(file))
    notes = [note for note in (no_usage, no_sass) if note]
    return Inspected(sass, usage, "; ".join(notes) or None)


@lru_cache(maxsize=256)
def cubin_usage(cubin: bytes) -> tuple[Usage | None, str | None]:
    """The resources of a cubin without disassembling it, or why they cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        printed, missing = _run("cuobjdump", "--dump-resource-usage", str(file))
    found = _USAGE.search(printed or "")
    return (Usage(int(found[1]), int(found[2]), int(found[3])) if found else None), missing


def _run(tool: str, *arguments: str) -> tuple[str | None, str | None]:
    """What a tool printed, or why it did not."""
    path = _path(tool)
    if path is None:
        return None, f"{tool} was not found beside Triton or in a CUDA toolkit"
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{tool} failed: {error}"
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").split(
            "\n"
        )
        return None, f"{tool} failed: {words[-1]}"
    return done.stdout, None


def _path(tool: str) -> str | None:
    import triton

    knobs = getattr(getattr(triton, "knobs", None), "nvidia", None)
    try:
        path: str | None = getattr(getattr(knobs, tool, None), "path", None)
    except RuntimeError:  # Triton's word for a tool that is nowhere
        path = None
    return path


_FIELD = re.compile(
    r"^\s*[.;]?\s*\.?(vgpr_count|agpr_count|sgpr_count|vgpr_spill_count|sgpr_spill_count|"
    r"private_segment_fixed_size|group_segment_fixed_size):\s+(\d+)",
    re.MULTILINE,
)
INSTRUCTION = re.compile(r"^\t((?:s|v|ds|global|buffer|flat|scratch)_\w+)")


def amd_usage(amdgcn: str) -> dict[str, Any]:
    """Fields of `Resources` in AMD's assembly: registers of a lane, bytes, spills."""
    found = {name: int(value) for name, value in _FIELD.findall(amdgcn)}
    vector, accumulation = found.get("vgpr_count"), found.get("agpr_count", 0)
    spills = [found[name] for name in ("vgpr_spill_count", "sgpr_spill_count") if name in found]
    return {
        # the metadata count both kinds together since CDNA 2
        "registers": vector if vector is not None else combined_registers(0, accumulation),
        "scalar_registers": found.get("sgpr_count"),
        "spill_stores": sum(spills) if spills else None,
        "stack": found.get("private_segment_fixed_size"),
        "smem_static": found.get("group_segment_fixed_size"),
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


def read_code(config: CompiledConfig, device: Device) -> MachineCode:
    """Read every text of a configuration and count what it takes of the device."""
    found = {stage: _READERS[stage](text) for stage, text in config.texts.items()}
    row = _begun(config)
    if device.is_amd:
        row = replace(row, **amd_usage(config.texts.get("amdgcn", "")))
        return MachineCode(found, _with_occupancy(row, device), None)
    inspected = inspect_cubin(config.binary)
    missing = inspected.note
    if inspected.sass is not None and "ptx" in found:
        code = listings.sass(inspected.sass, found["ptx"])
        if code.lines:
            found["sass"] = code
            row = replace(row, **_counted(code))
        else:
            missing = f"nvdisasm of this release cannot read code for {device.spec.arch}"
    if inspected.usage is not None:
        row = replace(row, **_used(inspected.usage, device))
    return MachineCode(found, _with_occupancy(replace(row, note=missing), device), missing)


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
    found = [match[1] for match in map(listings.SASS_INSTRUCTION.match, listing.lines) if match]
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
