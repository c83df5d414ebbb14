"""A module of the user that keeps state of its own."""

from __future__ import annotations

import torch
from torch import Tensor

SEEN: list[int] = []
BIAS = torch.zeros(2)
flag = 0


def step(x: Tensor) -> Tensor:
    SEEN.append(1)
    BIAS.add_(1)
    return x + BIAS
