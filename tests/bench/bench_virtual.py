"""Compilations for a virtual GPU: a warm worker, kernels that were never compiled."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator

from tests.bench.figure import Figure, child, empty_caches

TARGET = "h100"
REACH_S = {"encoder": 6.0, "small": 1.5}
CONDITIONS = (
    "Six layers of width 128, batch 2, length 64 and more. The worker is warm, capture is "
    "included, and kernels are compiled for the first time"
)
NAMES = {
    "encoder": "virtual H100: six-layer encoder, warm worker",
    "small": "virtual H100: pointwise and reduction, warm worker",
}


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, "1" if quick else "3", variables=variables)
    for case, name in NAMES.items():
        seconds = statistics.median(found[case])
        note = f"{found['kernels'][case]} kernels, {min(found[case]):.2f} to {max(found[case]):.2f}"
        yield Figure(name, seconds, None, seconds, REACH_S[case], "s", note)


def measure_here(repeats: int) -> dict[str, object]:
    """Seconds of `aot_compile`, capture included, after the worker compiled something else."""
    import torch

    import workbench as wb
    from tests.compiler.virtual_gpu.model_cases import encoder

    def other(x: torch.Tensor) -> torch.Tensor:
        return x.cos().amax(-1)

    wb.aot_compile(other, (torch.randn(16, 64),), target=TARGET)
    seconds: dict[str, list[float]] = {case: [] for case in NAMES}
    kernels = {}
    model = encoder()
    for n in range(repeats):
        scale = n + 2.5  # a constant of the kernel, so that it is a new one

        def small(x: torch.Tensor, scale: float = scale) -> torch.Tensor:
            return torch.softmax(x.relu() * scale, -1).sum(-1)

        # another length gives every kernel of the encoder other sizes
        inputs = {"small": torch.randn(512, 1024), "encoder": torch.randn(2, 64 + 32 * n, 128)}
        for case, fn in (("small", small), ("encoder", model)):
            start = time.perf_counter()
            made = wb.aot_compile(fn, (inputs[case],), target=TARGET, grad=False)
            seconds[case].append(time.perf_counter() - start)
            kernels[case] = len(made.report.kernels)
    return {**seconds, "kernels": kernels}


if __name__ == "__main__":
    print(json.dumps(measure_here(int(sys.argv[1]))))
