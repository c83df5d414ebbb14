"""Triton kernels of a generated program, run by the interpreter."""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.triton.block_builder import BlockBuilder
from workbench.compiler.interpreter.triton.grid import run_grid


class KernelFailure(Exception):
    """A kernel that could not be run to its end; `kernel` is its name."""

    def __init__(self, kernel: str, reason: str):
        super().__init__(reason)
        self.kernel = kernel


@dataclass(frozen=True)
class Launch:
    """Which configuration of a kernel was run, on how large a grid."""

    kernel: str
    config: str
    programs: int


class InterpretedKernel:
    """Stands where the program expects a compiled kernel; `run` is what it calls."""

    def __init__(self, name: str, source: str, builder: BlockBuilder):
        self.name = name
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
    ) -> Launch:
        """Run every program of the grid; raises `KernelFailure` when one of them fails.

        A grid that is given belongs to the first configuration.
        """
        if grid is None:
            config = self._config()
            given = self._arguments(args, named, config)
            grid = tp.GRID_EXPR.get().from_meta(self._tuner.inductor_meta, config).eval_slow(given)
        else:
            config = self._tuner.configs[0]
            constants = dict(self._tuner.triton_meta.get("constants", {}))
            given = {**constants, **config.kwargs, **named}
        wanted = {name: given[name] for name in self._function.arg_names if name in given}
        try:
            run_grid(self._builder, self._function, wanted, grid, self._source)
        except Exception as error:  # a wrong kernel may raise whatever Python can
            raise KernelFailure(self.name, _reason(error)) from error
        return Launch(self.name, _shown(config), grid[0] * grid[1] * grid[2])

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
        names = self._function.arg_names
        settings = dict(config.kwargs)
        constants = dict(self._tuner.triton_meta.get("constants", {}))
        extra = list(self._tuner.inductor_meta.get("extra_launcher_args", ()))
        passed = [*names, *extra]
        for left_out in (settings, constants):
            if len(passed) > len(args):
                passed = [name for name in passed if name not in left_out]
        given = {**constants, **settings, **dict(zip(passed, args, strict=True))}
        return given | dict(named)


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


def _shown(config: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
