"""What fusion saves of the memory traffic, by the model and by the device's own counters.

`python -m tests.gpu.traffic` is the program that Nsight Compute (ncu) runs: the original, then the
compiled code. Without ncu, or without the right to read counters, nothing is checked.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import workbench as wb
from tests.gpu.figures import print_figure, print_unchecked
from tests.gpu.parts import ROOT
from workbench.analysis.fusion.eager import list_eager_operators
from workbench.analysis.fusion.traffic import total
from workbench.report import Report

COUNTERS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
NAME = "eager traffic over fused traffic, by hardware counters"
ELEMENTS = 1 << 27  # beyond any cache
NEAR = 0.15
_LONGEST_S = 120
_OURS = "triton_"
_FOLDERS = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute")


def fused(x: Tensor) -> Tensor:
    return torch.relu(x * 2 + 1)


@dataclass(frozen=True)
class Counted:
    """Bytes that DRAM read and wrote for kernels of the original, and for those of the code."""

    original: float
    compiled: float


def predicted(report: Report) -> float | None:
    """Bytes of the eager operators over those of the kernels, by the record; None if unknown."""
    operators = list_eager_operators(report)
    kernels = total([_sum(kernel.bytes_read, kernel.bytes_written) for kernel in report.kernels])
    if operators is None or not kernels:
        return None
    return sum(operator.bytes for operator in operators) / kernels


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def read(lines: Iterable[str]) -> Counted:
    """The counters of every kernel in what ncu prints with --csv --page raw.

    Raises `ValueError` where it is no such table, or has no kernel of one of both kinds.
    """
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if not rows or not {"Kernel Name", *COUNTERS} <= set(rows[0]):
        raise ValueError("ncu printed no table with the counters")
    found = {True: 0.0, False: 0.0}
    for row in rows[1:]:
        cells = dict(zip(rows[0], row, strict=False))
        if name := cells["Kernel Name"]:  # the second line has the units
            values = (cells[counter].replace(",", "") for counter in COUNTERS)
            found[name.startswith(_OURS)] += sum(map(float, values))
    if not all(found.values()):
        raise ValueError(f"ncu saw no traffic of one of both: {found}")
    return Counted(original=found[False], compiled=found[True])


def tell(counted: Counted | str, model: float | None) -> None:
    """Print both factors, or why there is none."""
    if model is None:
        print_unchecked("traffic saved by fusion, by the model", "a size is not known")
    else:
        print_figure(
            "eager traffic over fused traffic, by the model",
            model,
            "ratio",
            source="counted from the report",
        )
    if isinstance(counted, str):
        print_unchecked(NAME, counted)
        return
    factor = counted.original / counted.compiled
    note = f"{counted.original / 1e6:.0f} MB and {counted.compiled / 1e6:.0f} MB of DRAM traffic"
    print_figure(NAME, factor, "ratio", note=note)
    if model is not None:
        print_figure(
            "error of the model's traffic factor", abs(model / factor - 1), "share", reach=NEAR
        )


def ncu() -> str | None:
    """Where Nsight Compute is, on the path or where NVIDIA puts it."""
    if found := shutil.which("ncu"):
        return found
    places = (place for folder in _FOLDERS for place in sorted(Path(folder).glob("**/ncu")))
    return next((str(place) for place in places if place.is_file()), None)


def command(tool: str) -> list[str]:
    """What runs the program of this module under ncu."""
    metrics = ("--metrics", ",".join(COUNTERS), "--print-units", "base", "--page", "raw")
    ranges = ("--profile-from-start", "off", "--clock-control", "none", "--target-processes", "all")
    return [tool, "--csv", *metrics, *ranges, sys.executable, "-m", __spec__.name]


def counted_by(tool: str | None) -> Counted | str:
    """What the counters say, or a reason why they say nothing."""
    if tool is None:
        return "Nsight Compute (ncu) is not here"
    try:
        done = subprocess.run(
            command(tool), cwd=ROOT, capture_output=True, text=True, timeout=_LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return f"ncu was not done after {_LONGEST_S} s"
    said = (*done.stdout.splitlines(), *done.stderr.splitlines())
    errors = [line for line in said if "==ERROR==" in line]
    try:
        return read(done.stdout.splitlines())
    except ValueError as error:
        return errors[0] if errors else f"{error} (exit code {done.returncode}): {said[-1:]}"


def check(device: str) -> None:
    """Compare the model with the counters."""
    x = torch.empty(ELEMENTS if device == "cuda" else 1024, device=device)
    report = wb.aot_compile(fused, (x,), grad=False).report
    del x
    if device == "cuda":
        torch.cuda.empty_cache()
    tell(counted_by(ncu()) if device == "cuda" else "there is no GPU here", predicted(report))


def main() -> None:
    """The original and the compiled code, once each, while counters are read."""
    x = torch.ones(ELEMENTS, device="cuda")
    compiled: Any = wb.aot_compile(fused, (x,), grad=False)
    for call in (fused, compiled):
        call(x)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for call in (fused, compiled):
        call(x)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
