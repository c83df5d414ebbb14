"""Ten functions whose lines are labelled by hand with the kernels that they end in.

Kernels are numbered as they are generated, forward first; a line without a label ends in none.
Matrix products are library calls, which split each function into several kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch

from tests.compiler.recording.labelled_helper import scaled

Function = Callable[..., torch.Tensor]


def loop(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        x = x.sin()  # k0 k7
        x = x @ w  # k1 k2 k5 k6 k8 k9
    return x.exp()  # k3 k4


def other_file(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = scaled(x)  # k0 k6
    z = y @ w  # k1 k4 k5
    return z.tanh()  # k2 k3


def comprehension(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    parts = [x.cos() + i for i in range(3)]  # k0 k6
    total = sum(parts)  # k0
    return (total @ w).relu()  # k1 k2 k3 k4 k5


def twice(function: Function) -> Function:
    @wraps(function)
    def wrapper(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        result = function(x, w)  # k0 k1 k4 k5 k6
        return result * 2  # k2 k3

    return wrapper


@twice
def decorated(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x.sigmoid()  # k0 k6
    return y @ w  # k1 k4 k5


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 2  # k0 k2 k5


def two_calls(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a = helper(x)  # k0 k5
    b = a @ w  # k1 k3 k4
    return helper(b)  # k0 k2


class Method(torch.nn.Module):
    def inner(self, x: torch.Tensor) -> torch.Tensor:
        return x.sqrt()  # k0 k4

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)  # k0 k4
        y = y @ w  # k1 k3 k5
        return y + 1  # k2


def with_lambda(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    square = lambda t: t * t  # k0 k6  # noqa: E731
    y = square(x)  # k0 k6
    return (y @ w).cos()  # k1 k2 k3 k4 k5


def nested(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    def inside(t: torch.Tensor) -> torch.Tensor:
        u = t.exp()  # k0 k6
        return u + x  # k0

    y = inside(x)  # k0 k6
    return (y @ w).sin()  # k1 k2 k3 k4 k5


def conditional(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x.sin() if x.shape[0] > 2 else x.cos()  # k0 k6
    z = y @ w  # k1 k4 k5
    return (
        z.exp()  # k2 k3
        if z.dim() == 2
        else z.sin()
    )


def training_step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    hidden = torch.tanh(x @ w)  # k0 k1 k2 k3 k4
    error = hidden - x  # k1 k2
    return (error * error).mean()  # k1 k2
