"""Records `tests/records/mlp`: one model, compiled in ways that differ in one thing each.

`python -m tests.record_mlp FOLDER`, where FOLDER holds an `mlp.py` with the module `Block`, which
takes a tensor [batch, length, 256].
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim

import workbench as wb
from workbench.report import Report, Table, TextWriter, Wrapper
from workbench.report.machine_rows import Assembly

RECORDS = Path(__file__).parent / "records" / "mlp"
SIZES = {"x": {0: Dim("batch", min=2, max=64), 1: Dim("length", min=2, max=2048)}}
WAYS: dict[str, dict[str, Any]] = {
    "static": {},
    "again": {},
    "dynamic": {"dynamic_shapes": SIZES},
    "train": {"grad": True},
    "h100": {"target": "h100"},
    "apart": {"target": "h100", "options": {"max_fusion_size": 1}},
}


def without_code(report: Report) -> Report:
    """The report without the texts of IR, assembly and wrappers, which are most of it."""
    writer = TextWriter()
    dropped = {row.text for table in (report.assembly, report.wrappers) for row in table}
    for key, text in report.texts.items():
        if key not in dropped:
            writer.add(text)
    code = [replace(row, text=None) for row in report.assembly]
    wrappers = [replace(row, text=None) for row in report.wrappers]
    own = {"assembly": Table.of(Assembly, code), "wrappers": Table.of(Wrapper, wrappers)}
    tables = {**report.tables, **own}
    return replace(report, tables=tables, texts=writer.finish())


def records(folder: str) -> Iterator[tuple[str, Report]]:
    """Every way with its report."""
    sys.path.insert(0, folder)
    from mlp import Block  # type: ignore[import-not-found]

    block = Block().eval()
    for name, options in WAYS.items():
        args = (torch.randn(8, 32, 256),)
        compiled = wb.aot_compile(block, args, **{"grad": False, **options})
        yield name, without_code(compiled.report)


def main(folder: str) -> None:
    """Compile and write the records."""
    RECORDS.mkdir(exist_ok=True)
    for name, report in records(folder):
        report.save(RECORDS / f"{name}.wbr")


if __name__ == "__main__":
    main(sys.argv[1])
