"""Writes a record with the installed torch: `python -m tests.records.record_torch`.

A record that an older torch wrote shows that this one reads it; it is not written again.
"""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb
from tests.records.record_release import Release


def write(folder: Path) -> Path:
    """The record of a small module, under the name of torch's minor release."""
    torch.manual_seed(0)
    narrow = {"cpp.simdlen": 256}  # vectors that most processors have
    made = wb.aot_compile(Release().eval(), (torch.randn(4, 8),), grad=False, options=narrow)
    path = folder / f"torch_{'.'.join(torch.__version__.split('.')[:2])}.wbr"
    made.report.save(path)
    return path


if __name__ == "__main__":
    print(write(Path(__file__).parent))
