"""What Inductor's autotuner is answered where no choice can be timed: the times of a model.

Templates and library calls for a matrix product or convolution are those of
`workbench.analysis.kernel_time.template_times`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from workbench.analysis.kernel_time.kernel_time import (
    LibraryCall,
    TemplateTile,
    TemplateWork,
    time_kernel,
)
from workbench.report import AutotuneChoice
from workbench.report.rows import ESTIMATED_CHOICE
from workbench.specs import Gpu

_UNKNOWN_SIZE = 512  # of a dynamic dimension
_IMPOSSIBLE_MS = 1e6  # what Inductor is told of a template that no block can hold
_IMPOSSIBLE = "needs more shared memory than a block can have (modelled)"
_RATES = {
    "float64": "fp64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "float8_e4m3fnuz": "fp8",
    "float8_e5m2fnuz": "fp8",
}


def build_ranking(gpu: Gpu) -> Callable[[Any, int], float]:
    """A function from a choice of Inductor's autotuner and its position to a time in ms."""

    def rank(choice: Any, position: int) -> float:
        work = replace(_read_work(choice), tflops=_rate(gpu, choice))
        info = choice.info_dict()
        shape = ast.literal_eval(str(info.get("tile_shape", "None")))
        launch: LibraryCall | TemplateTile = LibraryCall("library")
        if shape is not None:
            warps, stages = int(info["num_warps"]), int(info["num_stages"])
            launch = TemplateTile(shape[0], shape[2], shape[1], warps, stages)
        us = time_kernel(work, launch, gpu).us
        if us is None:
            return _IMPOSSIBLE_MS
        # equal times keep Inductor's own order
        return us / 1e3 if shape is None else us / 1e3 * (1 + position * 1e-9)

    return rank


def mark_estimates(rows: Iterable[AutotuneChoice]) -> Iterator[AutotuneChoice]:
    """The choices of an autotuner that asked the model: none was timed, some are impossible."""
    for row in rows:
        if (row.time_ms or 0.0) >= _IMPOSSIBLE_MS:
            yield replace(row, time_ms=None, note=_IMPOSSIBLE)
        else:
            yield replace(row, note=ESTIMATED_CHOICE)


def _read_work(choice: Any) -> TemplateWork:
    sizes = [_size(s) for s in choice.layout.size]
    inputs = [[_size(s) for s in node.get_size()] for node in choice.input_nodes]
    width = max((node.get_dtype().itemsize for node in choice.input_nodes[:2]), default=4)
    out_width = choice.layout.dtype.itemsize
    weights = inputs[1] if len(inputs) > 1 else []
    if len(sizes) > 3 and len(weights) == len(sizes):  # a convolution as an implicit product
        pixels = sizes[0] * prod(sizes[2:])
        return TemplateWork(1, pixels, sizes[1], prod(weights[1:]), width, out_width)
    m, n = ([1, 1, *sizes])[-2:]
    # a bias may be among the inputs: the left operand has m rows, the right one n columns
    depths = [size[-1] for size in inputs if len(size) > 1 and size[-2] == m]
    k = depths[0] if depths else _UNKNOWN_SIZE
    return TemplateWork(prod(sizes[:-2]), m, n, k, width, out_width)


def _rate(gpu: Gpu, choice: Any) -> float:
    """The peak rate for the inputs of a choice, in 10^12 operations per second."""
    dtypes = [str(node.get_dtype()).removeprefix("torch.") for node in choice.input_nodes]
    kind = next((_RATES[dtype] for dtype in dtypes if dtype in _RATES), "fp32")
    if kind == "fp32" and str(choice.info_dict().get("allow_tf32")) == "True":
        kind = "tf32"
    rates = (gpu.matrix.of(kind), gpu.vector.of(kind), gpu.vector.of("fp32"))
    return next((rate for rate in rates if rate), 1.0)


def _size(value: Any) -> int:
    """A size as a number; a dynamic one is not known."""
    try:
        return int(value)
    except TypeError:
        return _UNKNOWN_SIZE
