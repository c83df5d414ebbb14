"""Tries the rewrite of a graph break: explains a copy again and compares its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.analysis.diff.report_comparison import compare as diff
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.tried import Tried, read_cost
from workbench.compiler.contract.compile_request import CompileOptions
from workbench.compiler.pipeline.explain import Explanation, explain
from workbench.errors import UsageError
from workbench.handles.compiled_base import Recipe
from workbench.handles.trying import build_changed_recipe, changed, compared


@dataclass(frozen=True)
class _Eager:
    """A callable as it is, where outputs of two compilations are compared."""

    original: Any

    @property
    def module(self) -> torch.nn.Module | None:
        return self.original if isinstance(self.original, torch.nn.Module) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.original(*args, **kwargs)


def explain_call(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Recipe:
    """The call of an explanation, ready to be explained with a change."""

    def again(target: Any, args: Any, kwargs: Any, options: Any, progress: Any) -> Any:
        return explain(target, args, kwargs)

    def never(*_: Any) -> Any:
        raise UsageError("An explanation runs in this process: call explain.")

    return Recipe(fn, args, kwargs, CompileOptions(), again, never)


def try_break(explanation: Explanation, change: Opportunity) -> Tried:
    """Explain a copy with the rewrite; original and copy run without being compiled.

    Raises `UsageError` where the lines cannot be changed in a copy, and what the function raises.
    """
    recipe = build_changed_recipe(change, explanation)
    targets: list[Any] = []

    def rewrite(call: Any) -> Any:
        made = changed(call, change)
        targets.extend((call.target, made.target))
        return made

    made, call, inputs = recipe.compile_changed(rewrite)
    old, new = map(_Eager, targets)
    agrees, checked = compared(old, new, inputs, call, change.changes_numbers)
    return Tried(
        opportunity=change,
        before=read_cost(explanation.report),
        after=read_cost(made.report),
        agrees=agrees,
        checked=checked,
        compiled=made,
        diff=diff(explanation.report, made.report, ("as it is", change.rule)),
    )
