"""Triton kernels of a generated program, run by the interpreter."""

from __future__ import annotations

import hashlib
import linecache
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from triton.runtime import interpreter as stock

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.triton.batched_builder import BatchedBuilder as BatchedBuilder
from workbench.compiler.interpreter.triton.batched_builder import PromiseBroken as PromiseBroken
from workbench.compiler.interpreter.triton.checked_memory import Memory as Memory
from workbench.compiler.interpreter.triton.checked_memory import (
    OutOfBoundsError as OutOfBoundsError,
)
from workbench.compiler.interpreter.triton.checked_memory import read_memory as read_memory
from workbench.compiler.interpreter.triton.checked_memory import write_memory as write_memory
from workbench.compiler.interpreter.triton.language import find_annotated_constants
from workbench.compiler.interpreter.triton.language import install as install
from workbench.compiler.interpreter.triton.reductions import DivergentError

Array = np.ndarray[Any, Any]
Grid = tuple[int, int, int]

ELEMENTS = 1 << 18
"""Elements of the widest block times programs of a batch: what still fits the caches."""
_FIRST = 4
_IN_ORDER = re.compile(r"decoupled_lookback|atomic_(?:cas|xchg|load|store|poll)")
"""Kernels whose programs wait for those before them: one after the other."""


def run_grid(
    builder: BatchedBuilder,
    kernel: Any,
    arguments: Mapping[str, Any],
    grid: Grid,
    source: str = "",
    *,
    memory: Memory | None = None,
    sample: Array | None = None,
    in_order: bool = False,
) -> None:
    """Run an interpreted function for every program; raises what the kernel raises.

    `memory` is what it reads and writes in place of a new one, `sample` the numbers of the programs
    that are run, `in_order` has them run one after the other.
    """
    constants = find_annotated_constants(kernel.fn)
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    builder.memory = Memory(tensors) if memory is None else memory
    builder.set_grid_dim(*grid)
    builder.widest = 1
    held = {
        name: value if name in constants else stock._implicit_cvt(value)
        for name, value in arguments.items()
    }
    function = kernel.rewrite()
    with np.errstate(all="ignore"):
        one_by_one = in_order or bool(_IN_ORDER.search(source))
        for batch in _batches(builder, grid, sample, in_order=one_by_one):
            _run(builder, lambda: function(**held), batch)
            builder.memory.mark()


def _batches(
    builder: BatchedBuilder, grid: Grid, sample: Array | None, *, in_order: bool
) -> Iterator[Array]:
    """Coordinates of programs, a few at first to see how wide their blocks are."""
    total = grid[0] * grid[1] * grid[2] if sample is None else len(sample)
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
        numbers = numbers if sample is None else sample[numbers]
        x, rest = numbers % grid[0], numbers // grid[0]
        yield np.stack([x, rest % grid[1], rest // grid[1]]).astype(np.int32)


def _run(builder: BatchedBuilder, function: Callable[[], object], batch: Array) -> None:
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


class KernelFailure(Exception):
    """A kernel that could not be run to its end, and why."""


Watcher = Callable[[Any, Mapping[str, Any], Grid], object]
"""An interpreted function, its arguments and constants by name, its grid."""


class InterpretedKernel:
    """Stands where the program expects a compiled kernel; `run` is what it calls."""

    def __init__(self, name: str, source: str, builder: BatchedBuilder):
        source = source.lstrip("\n")  # lines are those of the code as a record shows it
        self._source = source
        self._builder = builder
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        file = f"generated/{name}_{digest}.py"  # Triton keeps what it read of a file
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = (len(source), None, lines, file)  # inspect reads kernels from here
        scope: dict[str, Any] = {"__name__": f"generated_{name}", "__file__": file}
        exec(compile(source, file, "exec"), scope)
        self._tuner: Any = scope[name]
        self._function: Any = self._tuner.fn

    def run(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        grid: tuple[int, int, int] | None = None,
        before: Watcher | None = None,
    ) -> tuple[str, int]:
        """Run every program of the grid and return the configuration and how many they were.

        `before` is told what will be run. Raises `KernelFailure` when a program fails. A grid that
        is given belongs to the first configuration.
        """
        if grid is None:
            config = self._config()
            arguments = self._arguments(args, named, config)
            grid = (
                tp.GRID_EXPR.get().from_meta(self._tuner.inductor_meta, config).eval_slow(arguments)
            )
        else:
            config = self._tuner.configs[0]
            constants = dict(self._tuner.triton_meta.get("constants", {}))
            arguments = {**constants, **config.kwargs, **named}
        passed = {name: arguments[name] for name in self._function.arg_names if name in arguments}
        if before is not None:
            before(self._function, passed, grid)
        try:
            run_grid(self._builder, self._function, passed, grid, self._source)
        except Exception as error:  # a wrong kernel may raise whatever Python can
            raise KernelFailure(_reason(error)) from error
        choice = ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
        return choice, grid[0] * grid[1] * grid[2]

    def _config(self) -> Any:
        """The configuration with the fewest steps in which a reduction still has several."""
        hints = dict(getattr(self._tuner, "size_hints", None) or {})
        length = math.prod(hint for name, hint in hints.items() if name.startswith("r"))
        several = [config for config in self._tuner.configs if _reduced_at_once(config) < length]
        return max(several or self._tuner.configs, key=_reduced_at_once)

    def _arguments(
        self, args: Sequence[Any], named: Mapping[str, Any], config: Any
    ) -> dict[str, Any]:
        """By name, as Inductor's own launcher binds them: constants are not passed."""
        settings = dict(config.kwargs)
        constants = dict(self._tuner.triton_meta.get("constants", {}))
        extra = self._tuner.inductor_meta.get("extra_launcher_args", ())
        passed = [*self._function.arg_names, *extra]
        for left_out in (settings, constants):
            if len(passed) > len(args):
                passed = [name for name in passed if name not in left_out]
        return {**constants, **settings, **dict(zip(passed, args, strict=True)), **named}


def _reduced_at_once(config: Any) -> int:
    """Elements of a reduction in one step: the fewer steps, the faster it is interpreted."""
    blocks = [value for name, value in config.kwargs.items() if name.startswith("R")]
    return math.prod(value for value in blocks if isinstance(value, int))


def _reason(error: Exception) -> str:
    """What happened in a kernel: the innermost cause."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    words = str(cause).strip().rstrip(".") or type(cause).__name__
    return words if type(cause).__name__ == "OutOfBoundsError" else f"cannot be run: {words}"
