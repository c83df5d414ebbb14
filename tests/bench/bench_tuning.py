"""Two hundred configurations of one scaled product, compiled for an H100 and ranked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.figure import Figure, child, children, cpu_seconds, empty_caches

NAME = "200 configurations of one GEMM, tuned (s)"
REACH = 90.0
CONDITIONS = (
    "Block-scaled FP8 GEMM, M = 64, for an H100. Warm worker, empty Triton cache. CPU seconds "
    "of the process, the worker and NVIDIA's tools together"
)
NEEDS_QUIET = False  # what else runs makes both larger, never smaller; the load is said
MANY = 200


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, variables=variables)
    note = f"{found['ranked']} ranked, {found['discarded']} discarded"
    shared = f"{CONDITIONS}. {os.cpu_count()} cores at a load of {found['load']:.1f}"
    yield Figure(NAME, found["seconds"], None, found["seconds"], REACH, "s", note, shared)
    yield Figure("  CPU seconds", found["work"], None, found["work"], None, "s", "", shared)


def measure_tuning(many: int) -> dict[str, Any]:
    """Seconds to compile and rank so many, the worker started before."""
    from tests.worlds.own_kernels.handles.test_tuning import make_product
    from workbench.compiler.virtual_gpu.client import keep_warm_worker

    def add_work() -> float:
        return time.process_time() + sum(map(cpu_seconds, children()))

    kernel = make_product()
    keep_warm_worker().start()
    start, work = time.perf_counter(), add_work()
    tuned = kernel.tune(space="product with scales", budget=many)
    seconds = time.perf_counter() - start
    verdicts = [each.verdict for each in tuned.cases[0].candidates]
    return {
        "seconds": seconds,
        "work": add_work() - work,
        "load": os.getloadavg()[1],  # of the last five minutes
        "ranked": verdicts.count("ranked"),
        "discarded": many - verdicts.count("ranked"),
    }


if __name__ == "__main__":
    print(json.dumps(measure_tuning(MANY)))
