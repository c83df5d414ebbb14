"""Functions of torch.autograd that a cone applies."""

from __future__ import annotations

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from workbench.worlds.numerics.computing.cones import apply_function


@pytest.mark.parametrize("options", [{}, {"args_tensor_mask": [True]}], ids=["now", "torch 2.12"])
def test_a_function_has_the_backward_that_was_written_for_it(options: dict[str, object]) -> None:
    def forward(*given):
        return given[-1] * 2, (given[-1],)

    def backward(*given):
        grad, kept = given[-2:]
        return grad * 10 + kept

    x = cases.draw(4).requires_grad_()
    apply_function(forward, backward, (x,), options).sum().backward()
    assert torch.equal(x.grad, x.detach() + 10)


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, grad):
        return grad * 0.5


def halved(x):
    return torch.tanh(Half.apply(torch.sin(x)))


def test_a_training_step_with_a_function_of_the_user_is_looked_at() -> None:
    x = cases.draw(8, 16).requires_grad_()
    found = wb.numerics(wb.aot_compile(halved, (x,)), (x,))
    assert found.first is None
    assert any(output.output.startswith("gradient of") for output in found.outputs)
