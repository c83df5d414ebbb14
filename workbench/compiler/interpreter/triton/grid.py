"""Runs all programs of a kernel's grid, many at once wherever they go the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from triton.runtime import interpreter as stock

from workbench.compiler.interpreter.triton.block_builder import BlockBuilder
from workbench.compiler.interpreter.triton.language import DivergentError, annotated_constants
from workbench.compiler.interpreter.triton.memory import Memory

Array = np.ndarray[Any, Any]
Grid = tuple[int, int, int]

ELEMENTS = 1 << 18
"""Elements of the widest block times programs of a batch: what still fits the caches."""
_FIRST = 4
_IN_ORDER = re.compile(r"decoupled_lookback|atomic_cas|atomic_xchg")
"""Kernels whose programs wait for those before them: one after the other."""


def run_grid(
    builder: BlockBuilder, kernel: Any, arguments: Mapping[str, Any], grid: Grid, source: str
) -> None:
    """Run an interpreted function for every program; raises what the kernel raises."""
    constants = annotated_constants(kernel.fn)
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    builder.memory = Memory(tensors)
    builder.set_grid_dim(*grid)
    builder.widest = 1
    held = {
        name: value if name in constants else stock._implicit_cvt(value)
        for name, value in arguments.items()
    }
    function = kernel.rewrite()
    with np.errstate(all="ignore"):
        for batch in _batches(builder, grid, in_order=bool(_IN_ORDER.search(source))):
            _run(builder, lambda: function(**held), batch)
            builder.memory.mark()


def _batches(builder: BlockBuilder, grid: Grid, *, in_order: bool) -> Iterator[Array]:
    """Coordinates of programs, a few at first to see how wide their blocks are."""
    total = grid[0] * grid[1] * grid[2]
    start = 0
    while start < total:
        if in_order:
            size = 1
        elif start == 0:
            size = _FIRST
        else:
            size = max(1, ELEMENTS * _FIRST // builder.widest)
        numbers = np.arange(start, min(total, start + size), dtype=np.int64)
        start += len(numbers)
        x, rest = numbers % grid[0], numbers // grid[0]
        yield np.stack([x, rest % grid[1], rest // grid[1]]).astype(np.int32)


def _run(builder: BlockBuilder, function: Callable[[], object], batch: Array) -> None:
    """Run a batch; where its programs part, run those of each way again on their own."""
    builder.programs = tuple(batch)
    try:
        function()
    except DivergentError as parted:
        ways = np.asarray(parted.values)
    else:
        return
    builder.memory.undo()
    for way in np.unique(ways):
        _run(builder, function, batch[:, ways == way])
        builder.memory.mark()
