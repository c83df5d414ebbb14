"""A helper in another file, with a graph break."""

from __future__ import annotations

import torch


def helper(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    print("helper")  # break
    return y + 1
