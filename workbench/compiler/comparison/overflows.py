"""Overflow in eager alone: 16 bits hold no number that a fused kernel keeps in float32."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from workbench.compiler.comparison.output_comparison import compare_tensors
from workbench.number_text import join_words


def overflows_alone(eager: Any, got: Any, exact: Any) -> bool:
    """Whether eager has NaN or infinity where float64 has a number, and the program has that."""
    sides = (eager, got, exact)
    if not all(isinstance(side, torch.Tensor) and side.is_floating_point() for side in sides):
        return False
    if not eager.shape == got.shape == exact.shape:
        return False
    rounded = exact.to(got.dtype)
    lost = ~eager.isfinite() & rounded.isfinite()
    return bool(lost.any()) and compare_tensors("", rounded, got, None, None).ok is True


def say_overflow(leaves: Collection[str]) -> str:
    """Two sentences: that no stage is wrong, and how to get what eager gives."""
    return (
        f"No stage is wrong: eager overflows in {join_words(list(leaves))}, and the program agrees "
        "with float64, as it keeps in float32 what eager rounds to 16 bits. "
        "options={'emulate_precision_casts': True} rounds as eager does."
    )
