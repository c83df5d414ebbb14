"""Configurations in the formats of vLLM, sglang, Triton and Helion.

No JSON reader here accepts a note. vLLM's for block-scaled GEMMs and both of sglang's call `int()`
on every key; vLLM's for MoE does so except for `triton_version`, which older releases refuse. Other
fields of a tile become arguments of the kernel. So a file has configurations only, and their model
error is in a text file next to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.analysis.tuning.candidate import Candidate
from workbench.analysis.tuning.spaces import find_axis, is_group
from workbench.errors import UsageError
from workbench.specs import Gpu

BESIDE = ".modelled.txt"
"""The suffix of the file with the model error."""
_HELION = re.compile(r"_BLOCK_SIZE_(\d+)$")
_HELION_ROWS = re.compile(r"_REDUCTION_BLOCK_(\d+)$")
_SERVED = ("fp8_w8a8", "int8_w8a8", "int8_w8a16", "int4_w4a16")
_OF_AMD = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
"""Options of Triton that files for AMD have beside the sizes of a tile."""
DTYPES = (None, "float32", *_SERVED)
"""How the files call the values; None is bfloat16 or float16, which have no word in a name."""


def name_device(gpu: Gpu) -> str:
    """The device as vLLM and sglang spell it in a name: "NVIDIA_H100_80GB_HBM3"."""
    name = re.sub(r"[\s/]+", "_", gpu.device_name)
    return "NVIDIA_H200" if "H200" in name.split("_") else name


def name_served(
    gpu: Gpu,
    sizes: Mapping[str, int],
    dtype: str | None,
    block_shape: Sequence[int] | None,
    *,
    is_sglang: bool,
) -> str:
    """The file's name as a server looks for it; `sizes` are N and K, or E and N.

    sglang has a space between the two sizes of a scale block, as vLLM has for int8 GEMMs. Raises
    `UsageError` for sizes and types that the format does not have.
    """
    if dtype not in DTYPES:
        raise UsageError(f"dtype is {dtype!r}; choose one of {', '.join(map(repr, DTYPES))}.")
    names = ("E", "N") if "E" in sizes else ("N", "K")
    lacking = [name for name in names if name not in sizes]
    if lacking:
        raise UsageError(
            f"The file name needs N and K, or E and N, but {' and '.join(lacking)} is not known. "
            "Pass sizes=[{…}] to tune, or pass them here."
        )
    if "E" not in sizes and (dtype not in _SERVED[:2] or block_shape is None):
        raise UsageError(
            "These files are for block-scaled 8-bit GEMMs: pass "
            'dtype="fp8_w8a8" or "int8_w8a8" and block_shape=(128, 128). For unscaled GEMMs, use '
            "write_triton with triton.autotune."
        )
    is_spaced = is_sglang or ("E" not in sizes and dtype == "int8_w8a8")
    parts = [*(f"{name}={sizes[name]}" for name in names), f"device_name={name_device(gpu)}"]
    if dtype:
        parts.append(f"dtype={dtype}")
    if block_shape is not None:
        parts.append(f"block_shape=[{(', ' if is_spaced else ',').join(map(str, block_shape))}]")
    return ",".join(parts) + ".json"


def write_served(by_rows: Mapping[int, Candidate]) -> str:
    """The JSON that vLLM and sglang read: a configuration for each number of rows.

    Raises `UsageError` for a kernel whose blocks are not those of a GEMM.
    """
    rows = {str(rows): _read_tile(by_rows[rows]) for rows in sorted(by_rows)}
    return json.dumps(rows, indent=4) + "\n"


def _read_tile(candidate: Candidate) -> dict[str, int]:
    tile: dict[str, int] = {}
    for name, value in candidate.values:
        if axis := find_axis(name):
            tile[f"BLOCK_SIZE_{axis}"] = value
        elif is_group(name):
            tile["GROUP_SIZE_M"] = value
    if len([name for name in tile if name.startswith("BLOCK")]) < len("MNK"):
        raise UsageError(
            "These files need blocks named BLOCK_M, BLOCK_N and BLOCK_K (or BLOCK_SIZE_M, BM …); "
            f"this kernel has {candidate.choice or 'none'}. Use write_triton, which accepts any "
            "names."
        )
    tile.setdefault("GROUP_SIZE_M", 1)
    order = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M")
    return {
        **{name: tile[name] for name in order},
        "num_warps": candidate.warps,
        "num_stages": candidate.stages,
        **{name: value for name, value in candidate.values if name in _OF_AMD},
    }


def write_triton(candidates: Sequence[Candidate], remark: str) -> str:
    """Python that gives a list of `triton.Config` called `configs`, the best first.

    Raises `UsageError` without any, for which Triton would take a configuration of its own.
    """
    if not candidates:
        raise UsageError("n is 0: pass at least 1 configuration to time.")
    lines = [*(f"# {line}" for line in remark.splitlines()), "import triton", "", "configs = ["]
    for candidate in candidates:
        values = "{" + ", ".join(f"{name!r}: {value!r}" for name, value in candidate.values) + "}"
        launch = f"num_warps={candidate.warps}, num_stages={candidate.stages}"
        lines.append(f"    triton.Config({values}, {launch}),")
    return "\n".join([*lines, "]", ""]).replace("'", '"')


def write_helion(candidate: Candidate, order: Sequence[str] | None = None) -> str:
    """The JSON that `helion.Config.load` reads, for a kernel that Helion generated.

    Its blocks are called `_BLOCK_SIZE_0` and so on; `order` names those of another kernel in the
    order of its `hl.tile`. Raises `UsageError` where neither tells which block is which.
    """
    values = dict(candidate.values)
    if order is not None:
        missing = [name for name in order if name not in values]
        if missing:
            raise UsageError(
                f"order has {', '.join(missing)}, but the kernel has {', '.join(values)}."
            )
        blocks = [values[name] for name in order]
    else:
        numbered = sorted(
            (int(match[1]), value)
            for name, value in values.items()
            if (match := _HELION.match(name))
        )
        blocks = [value for _, value in numbered]
    if not blocks:
        raise UsageError(
            "Helion names its blocks _BLOCK_SIZE_0, _BLOCK_SIZE_1 and so on; this kernel has "
            f'{candidate.choice or "none"}. Pass order=["BLOCK_M", "BLOCK_N"], in the order of '
            "hl.tile."
        )
    rows = [value for name, value in values.items() if _HELION_ROWS.match(name)]
    config: dict[str, Any] = {"block_sizes": blocks}
    if rows:
        config["reduction_loops"] = rows
    config |= {"num_warps": candidate.warps, "num_stages": candidate.stages}
    return json.dumps(config, indent=2) + "\n"


def write_beside(path: Path, text: str, remark: str) -> Path:
    """Write a file whose format has no notes, and the note in a file next to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    write_remark(path, remark)
    return path


def write_remark(path: Path, remark: str) -> None:
    """Write the note of a file next to it."""
    path.with_name(path.name + BESIDE).write_text(remark.rstrip() + "\n", encoding="utf-8")
