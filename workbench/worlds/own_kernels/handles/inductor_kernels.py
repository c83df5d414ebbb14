"""A kernel of a compiled program as a call by itself: Inductor's own, or one that a user wrote."""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import triton

from workbench.analysis.forecast.forecast import read_record_work
from workbench.analysis.kernel_configs.triton_source import (
    read_launch_meta,
    read_source,
    remove_heuristics,
)
from workbench.analysis.kernel_script.script import find_call
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.virtual_gpu.kernel_choice import find_kernel, values_of
from workbench.errors import UsageError, describe_error
from workbench.number_text import plural
from workbench.report import Kernel, Report

_MOST_BYTES = 1 << 28  # of tensors that are drawn; larger ones are on meta


@dataclass(frozen=True)
class InductorGrid:
    """The grid as Inductor computes it from the blocks of a configuration and the other values."""

    launch: Mapping[str, Any]  # what `inductor_meta` says
    blocks: tuple[str, ...]
    values: Mapping[str, Any]

    def __call__(self, meta: Mapping[str, Any]) -> tuple[int, ...]:
        """The programs along the axes, for constants of the kernel."""
        config = triton.Config({name: meta[name] for name in self.blocks})
        grid = tp.GRID_EXPR.get().from_meta(dict(self.launch), config)
        return tuple(int(size) for size in grid.eval_slow({**self.values, **meta}))


def read_call(report: Report, name: str, gpu: str) -> KernelCall:
    """The first call of a kernel in the program for a GPU, in its first configuration.

    Floating point inputs are drawn, all others are 0; those of more than 256 MB are on meta. The
    report must be that of a compilation of this process: its source is run. Raises `UsageError`
    where there is no such kernel, or a size is symbolic.
    """
    kernel = find_kernel(report, name)
    source = report.texts.get(kernel.text or "")
    if source is None:
        raise UsageError(f"The source of {kernel.id} is not in the report: recompile it.")
    function, meta = _define(kernel, source), read_launch_meta(source)
    calls = find_call(report, kernel)
    layouts = {each: (layout.shape, layout.stride) for each, layout in calls.tensors.items()}
    tensors = _draw(report, kernel, layouts)
    given = [_value(kernel, text, tensors) for text in calls.calls[kernel.name]]
    row = next(row for row in report.resources if row.kernel == kernel.id)
    settings = values_of(row.choice)
    constants = dict(read_source(source).constants)
    passed = [*function.arg_names, *meta.get("extra_launcher_args", ())]
    for left_out in (settings, constants):
        if len(passed) > len(given):
            passed = [each for each in passed if each not in left_out]
    if len(passed) != len(given):
        raise UsageError(
            f"{kernel.id} takes {plural(len(passed), 'argument')}, but the program passes "
            f"{len(given)}."
        )
    values = {**constants, **settings, **dict(zip(passed, given, strict=True))}
    numbers = {name: each for name, each in values.items() if not torch.is_tensor(each)}
    grid: Any = InductorGrid(meta, tuple(settings), numbers)
    if not str(meta.get("grid_type")).startswith("Grid"):  # it has those of its own configurations
        grid = grid(settings)
    own = {each: values[each] for each in function.arg_names if each in values}
    own |= {"num_warps": row.warps, "num_stages": row.stages}
    made = KernelCall.of(function, (), grid, own)
    recorded = partial(read_record_work, report, kernel)
    return replace(made, generated={gpu: source}, recorded=recorded)


def _define(kernel: Kernel, source: str) -> Any:
    """Triton's function; Python finds its lines under a name that is made of its text."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    file = f"generated/{kernel.name}_{digest}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": f"generated_{kernel.name}", "__file__": file}
    try:
        module, name = remove_heuristics(source)
        exec(compile(module, file, "exec"), scope)
    except Exception as error:  # it is run, and may raise whatever Python can
        raise UsageError(
            f"{kernel.id} cannot be defined on its own: {describe_error(error)}."
        ) from error
    return scope[name]


def _draw(
    report: Report,
    kernel: Kernel,
    layouts: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
) -> dict[str, torch.Tensor]:
    dtypes = {row.name: row.dtype for row in report.buffers if row.graph == kernel.graph}
    lacking = [name for name in layouts if dtypes.get(name) is None]
    if lacking:
        raise UsageError(f"The report lacks the dtype of {lacking[0]}: recompile it.")
    made: dict[str, torch.Tensor] = {}
    generator = torch.Generator().manual_seed(0)
    for name, (shape, stride) in layouts.items():
        like = torch.empty_strided(
            shape, stride, dtype=getattr(torch, str(dtypes[name])), device="meta"
        )
        if like.untyped_storage().nbytes() <= _MOST_BYTES:
            drawn = torch.zeros(like.shape, dtype=like.dtype)
            if like.is_floating_point():
                drawn = torch.rand(like.shape, generator=generator).to(like.dtype)
            like = torch.empty_strided(shape, stride, dtype=like.dtype).copy_(drawn)
        made[name] = like
    return made


def _value(kernel: Kernel, text: str, tensors: Mapping[str, torch.Tensor]) -> Any:
    """What an argument of the call is: a tensor, a view of one, or a number."""
    if text in tensors:
        return tensors[text]
    node = ast.parse(text, mode="eval").body
    is_view = isinstance(node, ast.Call) and ast.unparse(node.func) == "reinterpret_tensor"
    try:
        if isinstance(node, ast.Call) and is_view:
            base, *layout = node.args
            shape, stride, offset = map(ast.literal_eval, layout)
            return torch.as_strided(tensors[ast.unparse(base)], shape, stride, offset)
        return ast.literal_eval(node)
    except (ValueError, KeyError) as error:
        raise UsageError(
            f"{kernel.id} is called with {text}, which is known only at run time: compile with "
            "static sizes."
        ) from error
