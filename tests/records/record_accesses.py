"""Records what the memory sees of a product of matrices whose rows are not padded.

`python -m tests.records.record_accesses` writes `accesses.wbr` anew.
"""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.worlds.own_kernels.programs.cases import CASES

PATH = Path(__file__).with_name("accesses.wbr")


def main() -> None:
    case = CASES["matmul"]()
    kernel = wb.kernel(case.kernel, *case.args, grid=case.grid, num_warps=2, **case.meta)
    kernel.frame("accesses")
    kernel.save(PATH)


if __name__ == "__main__":
    main()
