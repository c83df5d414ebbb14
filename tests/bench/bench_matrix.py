"""Every Triton kernel of a 6-layer encoder compiled for six architectures, with its resources."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.figure import Figure, child, empty_caches

NAME = "kernels of an encoder × 6 GPUs, empty Triton cache (s)"
REACH = 60.0
CONDITIONS = (
    "Six layers, width 128, warm worker. The model is already captured and compiled for the "
    "H100. Every kernel is then compiled for the other five GPUs"
)
TARGETS = ("h100", "a100", "l4", "b200", "t4", "mi300x")  # six architectures of two vendors


def figures(quick: bool = False) -> Iterator[Figure]:
    with empty_caches() as variables:
        found = child(__name__, variables=variables)
    note = f"{found['kernels']} kernels, {found['cells']} cells, {found['missing']} without code"
    seconds = found["seconds"]
    yield Figure(NAME, seconds, None, seconds, REACH, "s", note)


def _measure() -> dict[str, Any]:
    """The encoder is compiled first: what is measured is the comparison, in a warm worker."""
    import workbench as wb
    from tests.compiler.virtual_gpu.model_cases import CASES

    encoder, inputs = CASES["transformer"].make()
    compiled = wb.aot_compile(encoder, inputs, target=TARGETS[0])
    start = time.perf_counter()
    matrix = wb.matrix(compiled, targets=TARGETS)
    seconds = time.perf_counter() - start
    cells = list(matrix.report.matrix)
    return {
        "seconds": seconds,
        "kernels": len({cell.kernel for cell in cells}),
        "cells": len(cells),
        "missing": sum(cell.registers is None for cell in cells),
    }


if __name__ == "__main__":
    print(json.dumps(_measure()))
