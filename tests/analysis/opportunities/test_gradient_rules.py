"""A backward pass that an evaluation does not need."""

from __future__ import annotations

from typing import Any

import torch

import workbench as wb
from workbench.analysis.opportunities.opportunity import Opportunity


def make_model() -> torch.nn.Module:
    layers = torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)
    return torch.nn.Sequential(*layers)


def find(model: torch.nn.Module, x: torch.Tensor, **settings: Any) -> list[Opportunity]:
    compiled = wb.aot_compile(model, (x,), **settings)
    return [each for each in wb.opportunities(compiled) if each.rule == "unneeded-gradients"]


def test_a_model_in_eval_is_compiled_without_gradients() -> None:
    """As seen: "none of 23 rules applies" to 8 kernels, 5 of which nobody needs."""
    (change,) = find(make_model().eval(), torch.randn(8, 64))
    assert "5 of 8 kernels are its backward pass, compiled in" in change.text
    assert (change.action, change.fewer_kernels, change.why_not) == ("grad=False", 5, None)
    assert "--no-grad" in change.text
    tried = change.try_()  # type: ignore[attr-defined]
    assert tried.agrees
    assert (tried.before.kernels, tried.after.kernels) == (8, 3)


def test_gradients_that_somebody_may_need_are_left_alone() -> None:
    model, x = make_model(), torch.randn(8, 64)
    assert find(model.train(), x) == []
    assert find(model.eval(), x, grad=False) == []
    assert find(model.eval(), x.clone().requires_grad_()) == []
    assert find(model.eval().requires_grad_(False), x) == []
