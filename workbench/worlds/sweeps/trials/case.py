"""One setting as calls: the function with its inputs, cast, sized and compiled as it says."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.callables import BoundCall
from workbench.compiler.request.compile_request import CompileOptions
from workbench.compiler.sizes.shapes import mark_every_size
from workbench.errors import UsageError
from workbench.worlds.sweeps.rows.axes import CHOICE_NAMES, TEMPLATE
from workbench.worlds.sweeps.trials.space import Setting

CallArguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """The original with its inputs, and what is compiled for one setting."""

    original: Callable[..., Any]
    original_call: CallArguments
    function: Callable[..., Any]
    call: CallArguments
    options: CompileOptions


def inputs(args: Any, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    """The positional inputs, made for these sizes when `args` is a function.

    Raises `UsageError` when it gives something else than a tuple.
    """
    made = args(**sizes) if callable(args) else args
    if not isinstance(made, tuple | list):
        raise UsageError(
            f"The inputs are a {type(made).__name__}: expected a tuple such as (x,), or a function "
            "that returns one."
        )
    return tuple(made)


def build_case(
    fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], setting: Setting
) -> Case:
    """The calls of one setting; the original is left as it is, what is cast is a copy."""
    original_call = inputs(args, dict(setting.sizes)), dict(kwargs)
    dtype = setting.get("dtype")
    function, call = fn, original_call
    if dtype is not None:
        chosen = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        call = _cast(original_call, chosen)
        function = copy.deepcopy(fn).to(chosen) if isinstance(fn, torch.nn.Module) else fn
    template = setting.get(TEMPLATE)
    options = CompileOptions(
        backend=setting.get("backend", "inductor"),
        mode=setting.get("mode"),
        options=dict(setting.options) | ({} if template is None else {CHOICE_NAMES: template}),
        dynamic_shapes=_all_dynamic(function, call) if setting.get("dynamic") else None,
        grad=False,
        target=setting.get("target", "host"),
    )
    return Case(fn, original_call, function, call, options)


def _cast(call: CallArguments, dtype: torch.dtype) -> CallArguments:
    def cast(value: Any) -> Any:
        is_real = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype) if is_real else value

    arguments: CallArguments = tp.TREE_MAP.get()(cast, call)
    return arguments


def _all_dynamic(function: Callable[..., Any], call: CallArguments) -> dict[str, Any]:
    """Every size of at least 2 as a dimension that torch may keep dynamic, by parameter name."""
    return mark_every_size(BoundCall.of(function, *call).inputs)
