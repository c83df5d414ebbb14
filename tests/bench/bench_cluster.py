"""One rank of a virtual cluster: two layers of Llama-3-8B's widths on meta, in a warm worker.

And a small block on four ranks, verified with values.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.bench.figure import Figure, child, empty_caches

TARGET = "h100"
CONDITIONS = (
    "Two layers, width 4096, intermediate size 14336, 4,096 tokens, bfloat16 on meta, mesh of "
    "64 × 8. The worker is warm, and kernels are compiled for the first time"
)
SECONDS = {
    "tensor parallel, 8 ranks, forward": 8.0,
    "FSDP, 64 ranks, forward and backward": 45.0,
    "FSDP and tensor parallel, 512 ranks, forward and backward": 45.0,
}
MEMORY = "one rank of 512: memory of the compiling process (GB)"
MEMORY_GB = 1.5
VERIFIED = "4 ranks of a tensor parallel block verified, forward and backward (s)"
VERIFIED_SECONDS = 3.0
VERIFIED_CONDITIONS = (
    "One block of width 32, a mesh of 4 ranks, `aot_eager` backend, in one process on the host"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, "quick" if quick else "all", variables=variables)
    for case, (seconds, kernels, collectives) in found["cases"].items():
        note = f"{kernels} kernels, {collectives} collectives"
        yield Figure(f"one rank: {case} (s)", seconds, None, seconds, SECONDS[case], "s", note)
    yield Figure(MEMORY, found["gb"], None, found["gb"], MEMORY_GB, "GB")
    seconds, note = found["verified"]
    yield Figure(VERIFIED, seconds, None, seconds, VERIFIED_SECONDS, "s", note, VERIFIED_CONDITIONS)


def measure_here(*, is_quick: bool) -> dict[str, Any]:
    """Seconds of `aot_compile` for each way to be parallel, and the most memory of the worker."""
    import torch

    import workbench as wb
    from tests.worlds.clusters.parallel_models import (
        Block,
        shard_parameters,
        split_columns_and_rows,
    )

    width, hidden, seq = (128, 256, 64) if is_quick else (4096, 14336, 4096)
    x = torch.empty(1, seq, width, device="meta", dtype=torch.bfloat16)
    wb.aot_compile(torch.cos, (torch.randn(16, 64),), target=TARGET)

    def layers(change: Callable[[Block], torch.nn.Module]) -> torch.nn.Module:
        with torch.device("meta"):
            made = [Block(width, hidden, 128 if width > 128 else 16) for _ in range(2)]
        return torch.nn.Sequential(*(change(block.to(torch.bfloat16)) for block in made))

    cases: dict[str, tuple[float, int, int]] = {}
    with wb.virtual_cluster({"dp": 64, "tp": 8}) as mesh:
        tp, dp = mesh["tp"], mesh["dp"]
        ways: tuple[Callable[[Block], torch.nn.Module], ...] = (
            lambda block: split_columns_and_rows(block, tp),
            lambda block: shard_parameters(block, dp),
            lambda block: shard_parameters(split_columns_and_rows(block, tp), dp),
        )
        for case, way in zip(SECONDS, ways, strict=True):
            model = layers(way)
            start = time.perf_counter()
            report = wb.aot_compile(model, (x,), target=TARGET, grad="backward" in case).report
            seconds = time.perf_counter() - start
            cases[case] = seconds, len(report.kernels), len(report.collectives)
    from workbench.compiler.virtual_gpu.client import keep_warm_worker

    keep_warm_worker().close()
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"cases": cases, "gb": most * 1024 / 1e9, "verified": verify_here()}


def verify_here() -> tuple[float, str]:
    """Seconds of a verification of 4 ranks beside the unsharded model, and what was compared."""
    import torch

    import workbench as wb
    from tests.worlds.clusters.running.ranked_programs import ONE, block, inputs, tensor_parallel

    with wb.virtual_cluster(ONE) as mesh:
        compiled = wb.aot_compile(tensor_parallel(mesh), (inputs(),), backend="aot_eager")
    torch.manual_seed(0)
    start = time.perf_counter()
    found = wb.verify(compiled, (inputs(),), ranks=4, build=tensor_parallel, reference=block())
    assert found.ok, found.sentence
    return time.perf_counter() - start, f"{len(found.rows)} leaves of width 32"


if __name__ == "__main__":
    print(json.dumps(measure_here(is_quick=sys.argv[1] == "quick")))
