"""Records `tests/records/norm_h100.wbr`: a kernel in two configurations, and for two more GPUs.

`python -m tests.record_norm FOLDER`, where FOLDER holds a `norm.py` with the function `normalised`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from workbench.report import Report, Table, TextWriter
from workbench.report.machine_rows import Assembly, MatrixCell

RECORD = Path(__file__).parent / "records" / "norm_h100.wbr"
OTHERS = ("a100", "mi300x")


def compiled(fn: Callable[..., Any], target: str) -> Report:
    """The function compiled for a virtual GPU."""
    return wb.aot_compile(fn, (torch.rand(256, 128), torch.rand(128, 256)), target=target).report


def with_cell(report: Report, other: Report, target: str) -> Report:
    """The report with the first configurations of another GPU as cells of a matrix."""
    writer = TextWriter()
    for text in report.texts.values():
        writer.add(text)
    names = {kernel.id: f"{kernel.id}:{target}" for kernel in other.kernels}
    rows = [
        replace(row, config=names[row.kernel], text=writer.add(other.texts[row.text or ""]))
        for row in other.assembly
        if row.config == f"{row.kernel}:c0"
    ]
    cells = [
        MatrixCell(
            kernel=row.kernel,
            target=target,
            config=names[row.kernel],
            choice=row.choice,
            warps=row.warps,
            stages=row.stages,
            registers=row.registers,
            spills=(row.spill_stores or 0) + (row.spill_loads or 0),
            smem_bytes=(row.smem_static or 0) + (row.smem_dynamic or 0),
            blocks=row.blocks,
            occupancy=row.occupancy,
            limiter=row.limiter,
            instructions=row.instructions,
        )
        for row in other.resources
        if row.config == f"{row.kernel}:c0"
    ]
    tables = {
        **report.tables,
        "assembly": Table.of(Assembly, [*report.assembly, *rows]),
        "matrix": Table.of(MatrixCell, [*report.matrix, *cells]),
    }
    return replace(report, tables=tables, texts=writer.finish())


def main(folder: str) -> None:
    """Compile and write the record."""
    sys.path.insert(0, folder)
    from norm import normalised  # type: ignore[import-not-found]

    report = compiled(normalised, "h100")
    for target in OTHERS:
        report = with_cell(report, compiled(normalised, target), target)
    report.save(RECORD)


if __name__ == "__main__":
    main(sys.argv[1])
