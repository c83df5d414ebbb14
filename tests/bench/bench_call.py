"""What the checks of a call cost: a loaded function of two inputs, with and without them."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure, interleaved

REACH_US = 1.5
CALLS = 2000
CONDITIONS = (
    "2 tensors of 4 float32 on the CPU, backend eager, 2,000 calls a round, rounds in turn; warm"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb

    x, y = torch.ones(4), torch.ones(4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "add.aot"
        wb.aot_compile(_add, (x, y), backend="eager").save(path)
        checked, unchecked = wb.load(path), wb.load(path)
    unchecked.disable_guard_check()
    runs = interleaved(_per_call(checked, x, y), _per_call(unchecked, x, y), 5 if quick else 31)
    with_checks, without = map(statistics.median, runs)
    gap = statistics.median(a - b for a, b in zip(*runs, strict=True))
    name = "call of a loaded 2-input function, all checks - without (us)"
    yield Figure(name, with_checks, without, gap, REACH_US, "us")


def _add(x: Any, y: Any) -> Any:
    return x + y


def _per_call(function: Callable[..., Any], *args: Any) -> Callable[[], float]:
    def measure() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            function(*args)
        return (time.perf_counter() - start) / CALLS * 1e6

    return measure
