"""Reads what AMD's compiler writes about a kernel into its assembly."""

from __future__ import annotations

import re
from typing import Any

from workbench.analysis.gpu_model.occupancy import combined_registers

_FIELD = re.compile(
    r"^\s*[.;]?\s*\.?(vgpr_count|agpr_count|sgpr_count|vgpr_spill_count|sgpr_spill_count|"
    r"private_segment_fixed_size|group_segment_fixed_size):\s+(\d+)",
    re.MULTILINE,
)
INSTRUCTION = re.compile(r"^\t((?:s|v|ds|global|buffer|flat|scratch)_\w+)")


def usage(amdgcn: str) -> dict[str, Any]:
    """Fields of `Resources`: registers of a lane, bytes of stack and shared memory, spills."""
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
