"""Kernels of the user compiled for GPUs of NVIDIA that are not here, each for the first time."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, child, children, cpu_seconds, empty_caches

REACH = 0.6
KERNELS = ("add", "softmax", "rms_norm", "rope", "matmul")
TARGETS = ("h100", "b200", "a100")
CONDITIONS = (
    f"{', '.join(KERNELS)}, each for {', '.join(TARGETS)}. Warm worker, empty Triton cache. "
    "Timed from `wb.kernel` to its report with SASS, in CPU seconds of the process, the worker and "
    "NVIDIA's tools together"
)
NEEDS_QUIET = False  # CPU seconds: what else runs makes them larger, never smaller


def figures(quick: bool = False) -> Iterator[Figure]:
    rounds: list[dict[str, tuple[float, float]]] = []
    for _ in range(1 if quick else 5):
        with empty_caches() as variables:
            rounds.append(child(__name__, variables=variables))
    work, clock = (
        {pair: statistics.median(each[pair][n] for each in rounds) for pair in rounds[0]}
        for n in (0, 1)
    )
    slowest = max(work, key=lambda pair: work[pair])
    note = (
        f"{slowest}, median of {len(rounds)}; the {len(work)} take {min(work.values()):.2f} to "
        f"{work[slowest]:.2f}, and {min(clock.values()):.2f} to {max(clock.values()):.2f} s by the "
        f"clock at a load of {os.getloadavg()[0]:.1f}"
    )
    name = "wb.kernel, warm, the slowest (CPU s)"
    yield Figure(name, work[slowest], None, work[slowest], REACH, "s", note)


def _work() -> float:
    return time.process_time() + sum(map(cpu_seconds, children()))


def measure_kernels() -> dict[str, tuple[float, float]]:
    """CPU seconds and seconds to a record by kernel and GPU, each kernel new to a warm worker."""
    import workbench as wb
    from tests.worlds.own_kernels.programs.cases import CASES

    def take(name: str, target: str) -> tuple[float, float]:
        case = CASES[name]()
        work, start = _work(), time.perf_counter()
        made = wb.kernel(case.kernel, *case.args, grid=case.grid, target=target, **case.meta)
        stages = [row.stage for row in made.report.assembly]
        assert stages[-1] == "sass"
        return _work() - work, time.perf_counter() - start

    for target in TARGETS:
        take("transpose", target)
    return {f"{name} for {target}": take(name, target) for name in KERNELS for target in TARGETS}


if __name__ == "__main__":
    print(json.dumps(measure_kernels()))
