"""Compiles for what the request names: a device of this machine, or a GPU that is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.contract.request import CompileOptions, check_args
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.handles.compiled import Compiled
from workbench.handles.recipe import Recipe
from workbench.processes.messages import ProgressCallback

if TYPE_CHECKING:
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.job import Job


def compile_for_target(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: CompileOptions,
    progress: ProgressCallback | None = None,
) -> Compiled | CrossCompiled:
    """Compile for the request's target; raises `UsageError` and `CaptureError` as both ways do."""
    if options.gpu is None:
        if options.backend == "inductor" and _is_on_gpu(target, args, kwargs or {}):
            from workbench.handles.local_gpu import compile_on_gpu

            code = compile_on_gpu(target, args, kwargs, options, progress)
        else:
            code = compile_ahead(target, args, kwargs, options, progress)
        return Compiled.of(code, recipe_of(target, args, kwargs, options))
    check_args(args)
    from workbench.handles.cross_compiled import cross_compile

    made = cross_compile(
        target, tuple(args), dict(kwargs or {}), options, options.gpu, progress=progress
    )
    made.recipe = recipe_of(target, args, kwargs, options)
    return made


def compile_in_background(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: CompileOptions,
    on_change: Callable[[], object] | None = None,
) -> Job[Compiled] | Job[CrossCompiled]:
    """Start the compilation in a process of its own and return at once.

    Raises `UsageError` for a request that cannot be, naming what cannot be sent to another process.
    """
    check_args(args)
    recipe = recipe_of(target, args, kwargs, options)
    if options.gpu is not None:
        from workbench.handles.cross_background import cross_compile_in_background

        return cross_compile_in_background(
            target, tuple(args), dict(kwargs or {}), options, recipe, on_change
        )
    from workbench.handles import background

    return background.compile_in_background(
        target, tuple(args), dict(kwargs or {}), options, recipe, on_change
    )


def recipe_of(
    target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, options: CompileOptions
) -> Recipe:
    """The call, ready to be compiled for another target."""
    return Recipe(
        target,
        tuple(args),
        dict(kwargs or {}),
        options,
        compile=compile_for_target,
        compile_in_background=compile_in_background,
    )


def _is_on_gpu(target: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
    values = tp.TREE_LEAVES.get()((args, dict(kwargs)))
    if isinstance(target, torch.nn.Module):
        values = [*values, *target.parameters(), *target.buffers()]
    return any(isinstance(v, torch.Tensor) and v.device.type == "cuda" for v in values)
