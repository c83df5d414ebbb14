"""What an opportunity that is tried takes longer than one compilation of the same program."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, child, empty_caches

CONDITIONS = (
    "`aot_compile` of a program, then `try_` of one of its opportunities in the same process. "
    "Kernels of both are in Inductor's cache, which was empty before. Another program is "
    "compiled first. A try compiles a copy, compares outputs, times both (host only) and "
    "makes the diff. GPUs are virtual"
)
MOST_S = 2.0
PROGRAMS = {
    "copy before a product": "a rewrite, host",
    "images": "a memory format, host",
    "12 updates, H100": "an option, H100",
    "GPT-2 in bfloat16, H100": "a dtype, H100",
}
"""Names of tests/opportunity_cases.py, and what is tried."""


def figures(quick: bool = False) -> Iterator[Figure]:
    for name in list(PROGRAMS)[: 1 if quick else None]:
        pairs = []
        for _ in range(1 if quick else 3):
            with empty_caches() as variables:
                pairs.append(child("tests.bench.bench_trying", name, variables=variables))
        compiled, tried = (statistics.median(pair[n] for pair in pairs) for n in (0, 1))
        over = statistics.median(second - first for first, second in pairs)
        title = f"opportunity tried - one compilation, {name} (s)"
        yield Figure(title, tried, compiled, over, MOST_S, "s", PROGRAMS[name])


def main(name: str) -> None:
    """Print the seconds of a compilation, and of the try after it."""
    import torch

    import workbench as wb
    from tests.opportunity_cases import CASES

    case = next(case for case in CASES if case.name == name)
    inputs = case.inputs()
    function = case.function() if case.is_built else case.function
    wb.aot_compile(torch.sin, (torch.randn(8),), **case.compile)
    start = time.perf_counter()
    compiled = wb.aot_compile(function, inputs, **case.compile)
    between = time.perf_counter()
    wb.opportunities(compiled)[case.rule].try_()
    print(json.dumps([between - start, time.perf_counter() - between]))


if __name__ == "__main__":
    main(sys.argv[1])
