"""What `import workbench` costs in a fresh interpreter."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator

from tests.bench.figure import ROOT, Figure, child

REACH_MS = 1.0
CONDITIONS = (
    "Median over fresh interpreters, with compiled bytecode and the files in the page cache. "
    "torch is not imported"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [child(__name__, variables=variables) for _ in range(3 if quick else 9)]
    median = statistics.median(runs)
    yield Figure("import workbench (ms)", median, None, median, REACH_MS, "ms")


def measure_here() -> float:
    start = time.perf_counter()
    import workbench

    del workbench
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    print(json.dumps(measure_here()))
