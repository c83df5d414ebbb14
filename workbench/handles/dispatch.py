"""Compiles for what the request names: a device of this machine, or a GPU that is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.contract.request import Options
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.errors import UsageError
from workbench.handles.compiled import Compiled
from workbench.handles.recipe import Recipe
from workbench.processes.messages import Progress

if TYPE_CHECKING:
    from workbench.handles.cross_compiled import CompiledElsewhere


def compile_anywhere(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: Options,
    progress: Progress | None = None,
) -> Compiled | CompiledElsewhere:
    """Compile for the request's target; raises `UsageError` and `CaptureError` as both ways do."""
    gpu = options.gpu
    made: Compiled | CompiledElsewhere
    if gpu is None:
        if options.backend == "inductor" and _is_on_gpu(target, args, kwargs or {}):
            from workbench.handles.local_gpu import compile_on_gpu

            made = compile_on_gpu(target, args, kwargs, options, progress)
        else:
            made = compile_ahead(target, args, kwargs, options, progress)
        made.recipe = Recipe(target, args, kwargs or {}, options)
        return made
    if not isinstance(args, tuple | list):
        raise UsageError(
            f"args is a {type(args).__name__}: expected a tuple of example inputs, such as (x,)."
        )
    from workbench.handles.cross_compiled import compile_elsewhere

    made = compile_elsewhere(
        target, tuple(args), dict(kwargs or {}), options, gpu, progress=progress
    )
    made.recipe = Recipe(target, args, kwargs or {}, options)
    return made


def _is_on_gpu(target: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
    values = tp.TREE_LEAVES.get()((args, dict(kwargs)))
    if isinstance(target, torch.nn.Module):
        values = [*values, *target.parameters(), *target.buffers()]
    return any(isinstance(v, torch.Tensor) and v.device.type == "cuda" for v in values)
