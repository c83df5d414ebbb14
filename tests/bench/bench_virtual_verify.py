"""A whole program for a virtual GPU, run on the CPU and compared with its original."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from tests.bench.figure import Figure

REACH_S = 12.0
CONDITIONS = (
    "Batch 2, length 64, width 128. Triton's interpreter runs on the CPU and is warm. Eager and "
    "the comparison are included"
)
TARGET = "h100"


def figures(quick: bool = False) -> Iterator[Figure]:
    import torch

    import workbench as wb
    from tests.compiler.virtual_gpu.model_cases import encoder

    model, x = encoder(), torch.randn(2, 64, 128)
    compiled = wb.aot_compile(model, (x,), target=TARGET)
    start = time.perf_counter()
    first = compiled.verify(x)
    cold = time.perf_counter() - start
    seconds: dict[bool, list[float]] = {False: [], True: []}
    ok = first.ok
    for _ in range(1 if quick else 5):
        for per_kernel, found in seconds.items():
            start = time.perf_counter()
            verified = wb.verify(compiled, (x,), per_kernel=per_kernel)
            found.append(time.perf_counter() - start)
            ok = ok and verified.ok
    if not ok:
        raise RuntimeError("the encoder's program differs from the encoder")
    for per_kernel, found in seconds.items():
        words = "kernel by kernel" if per_kernel else "whole program"
        value = statistics.median(found)
        note = f"{len(found)} runs, {min(found):.2f} to {max(found):.2f}; first {cold:.2f}"
        yield Figure(
            f"verify six-layer encoder, virtual H100, {words} (s)",
            value,
            None,
            value,
            REACH_S,
            "s",
            "" if per_kernel else note,
        )
