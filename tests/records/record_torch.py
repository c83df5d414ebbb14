"""Writes files with the installed torch: `python -m tests.records.record_torch record artifact`.

They show that another torch reads the record, and makes the artifact again; they are not written
again. Their paths are those of the folder and the environment in which they were made.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import workbench as wb
from tests.records.record_release import Release, sums


def record(stem: Path) -> None:
    """The record of a small module."""
    torch.manual_seed(0)
    narrow = {"cpp.simdlen": 256}  # vectors that most processors have
    made = wb.aot_compile(Release().eval(), (torch.randn(4, 8),), grad=False, options=narrow)
    made.report.save(f"{stem}.wbr")


def artifact(stem: Path) -> None:
    """A function that can be imported by its name, which is all that making it again needs."""
    inputs = (torch.ones(4, 8), torch.ones(4, 8))
    wb.aot_compile(sums, inputs, grad=False, backend="eager").save(f"{stem}.aot")


if __name__ == "__main__":
    release = ".".join(torch.__version__.split(".")[:2])
    for write in (record, artifact):
        if write.__name__ in sys.argv[1:]:
            write(Path(__file__).parent / f"torch_{release}")
