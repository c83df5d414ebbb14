"""Compiles for what the request names: a device of this machine, or a GPU that is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.compiler.compiled import Compiled
from workbench.compiler.pipeline import compile_ahead
from workbench.compiler.recipe import Recipe
from workbench.compiler.request import Options, Progress
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.compiler.targets.elsewhere import CompiledElsewhere


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
        made = compile_ahead(target, args, kwargs, options, progress)
        made.recipe = Recipe(target, args, kwargs or {}, options)
        return made
    if not isinstance(args, tuple | list):
        raise UsageError(
            f"args is a {type(args).__name__}: expected a tuple of example inputs, such as (x,)."
        )
    from workbench.compiler.targets.elsewhere import compile_elsewhere

    made = compile_elsewhere(
        target, tuple(args), dict(kwargs or {}), options, gpu, progress=progress
    )
    made.recipe = Recipe(target, args, kwargs or {}, options)
    return made
