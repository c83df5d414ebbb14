"""Records a program of several kernels, one of which reads too far, that were checked.

`python -m tests.records.record_checks` writes `program_checks.wbr` anew.
"""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb
from tests.compiler.kernel_checks.test_program_checks import shift_rows

PATH = Path(__file__).with_name("program_checks.wbr")
X = torch.arange(3700.0).reshape(37, 100)


def shifted(x: torch.Tensor) -> torch.Tensor:
    return shift_rows(torch.softmax(x, -1))


def main() -> None:
    compiled = wb.aot_compile(shifted, (X,), target="h100", grad=False)
    compiled.check_kernels(X)
    compiled.report.save(PATH)


if __name__ == "__main__":
    main()
