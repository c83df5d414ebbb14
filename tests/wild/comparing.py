"""How far the results of two runs of a model are apart, and whether that is rounding."""

from __future__ import annotations

import copy
import re
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tests.agreement import tensor_pairs

if TYPE_CHECKING:  # brings transformers, which other libraries' models do without
    from tests.wild.recipe import Case

LIMITS = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 2e-3, torch.float64: 1e-8}
"""By dtype: how large a difference may be, in units of the largest value of a tensor or of 1."""


class Distance(NamedTuple):
    """The difference nearest to its limit: where, how large in the units of `LIMITS`, the limit."""

    where: str
    difference: float
    limit: float

    @property
    def agrees(self) -> bool:
        """Whether it is within the limit; NaN is not."""
        return self.difference <= self.limit

    @property
    def words(self) -> str:
        """Where it is how large."""
        return f"{self.where} differs by {self.difference:.2g}, the limit is {self.limit:.2g}"


def first_line(error: BaseException) -> str:
    """The kind of an error with its first line, without what is another each time."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [""]
    line = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return re.sub(r"0x[0-9a-f]+", "0x…", f"{type(error).__name__}: {line}")


def distance(found: Any, expected: Any) -> Distance:
    """The largest distance between two results of the same structure.

    Raises AssertionError where the structures or anything but tensors differ.
    """
    pairs = [_pair(*pair) for pair in tensor_pairs(found, expected)]
    assert pairs, "there is no tensor to compare"
    return max(pairs, key=lambda each: each.difference / each.limit if each.limit else inf)


def _pair(where: str, found: torch.Tensor, expected: torch.Tensor) -> Distance:
    limit = LIMITS.get(expected.dtype, 0.5)  # other dtypes have to be equal
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return Distance(where, inf, limit)
    if not expected.numel():
        return Distance(where, 0.0, limit)
    scale = expected.double().abs().nan_to_num(0.0, 0.0, 0.0).max().clamp(min=1)
    same = (found == expected) | (found.isnan() & expected.isnan())
    error = ((found.double() - expected.double()).abs() / scale).nan_to_num(inf, inf)
    return Distance(where, float(torch.where(same, 0.0, error).max()), limit)


def result(call: Any, case: Case, *, gradients: bool) -> dict[str, Any]:
    """What a call gives and, where they are asked for, the gradients of the mean square logit."""
    with torch.set_grad_enabled(gradients):
        output = call(**copy.deepcopy(dict(case.inputs)))
    if not gradients:
        return {"output": output}
    case.model.zero_grad()
    logits = output[0]
    logits.float().square().mean().backward()
    learned = {name: p for name, p in case.model.named_parameters() if p.requires_grad}
    assert any(p.grad is not None for p in learned.values())
    # compiled code gives zeros, as torch.compile does, where an output took no part in the loss
    found = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in learned.items()}
    case.model.zero_grad()
    return {"output": output, "gradients": found}
