"""Two results side by side: kinds, shapes, dtypes and values, those inside of a cache too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import torch

RTOL, ATOL = 1.3e-6, 1e-5


def assert_agrees(found: Any, expected: Any, *, rtol: float = RTOL, atol: float = ATOL) -> None:
    """Fail unless both have the same structure and tensors that are close; no NaN agrees."""
    for where, a, b in tensor_pairs(found, expected):
        limits = {"rtol": rtol, "atol": atol} if b.is_floating_point() or b.is_complex() else {}
        torch.testing.assert_close(a, b, **limits, msg=lambda words, at=where: f"{at}: {words}")


def largest_difference(found: Any, expected: Any) -> float:
    """Infinite where a shape or dtype differs or a value is NaN."""
    worst = 0.0
    for _, a, b in tensor_pairs(found, expected):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return inf
        if a.numel():
            error = (a.double() - b.double()).abs().nan_to_num(inf, inf)
            worst = max(worst, float(error.max()))
    return worst


def tensor_pairs(
    found: Any, expected: Any, where: str = "output"
) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """The tensors of two results of the same structure; fails where anything else differs."""
    assert type(found) is type(expected), f"{where}: {type(found)} is no {type(expected)}"
    if isinstance(expected, torch.Tensor):
        yield where, found.detach(), expected.detach()
    elif isinstance(expected, Mapping):
        assert list(found) == list(expected), f"{where} has {list(found)}, not {list(expected)}"
        for name in expected:
            yield from tensor_pairs(found[name], expected[name], f"{where}[{name!r}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), f"{where} has {len(found)} parts, not {len(expected)}"
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            yield from tensor_pairs(a, b, f"{where}[{number}]")
    elif hasattr(expected, "__dict__") and type(expected).__eq__ is object.__eq__:
        yield from tensor_pairs(vars(found), vars(expected), where)
    else:
        assert found == expected, f"{where} is {found!r}, not {expected!r}"
