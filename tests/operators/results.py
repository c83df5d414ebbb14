"""What an operator gives: its results and, of those that learn, the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

_SEED = 4
_ROUNDINGS = 4.0
_LIMITS = {torch.bfloat16: (1.6e-2, 1e-2), torch.float16: (1e-3, 1e-3)}


def results(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Any]:
    """The leaves of the output, then a gradient for each input that wants one."""
    outputs = tree_leaves(call(*args, **kwargs))
    learned = [leaf for leaf in tree_leaves((args, kwargs)) if _learns(leaf)]
    roots = [leaf for leaf in outputs if _learns(leaf)]
    found = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in outputs]
    if not learned or not roots:
        return found
    dice = torch.Generator().manual_seed(_SEED)
    weights = [torch.randn(leaf.shape, generator=dice).to(leaf.dtype) for leaf in roots]
    gradients = torch.autograd.grad(roots, learned, weights, allow_unused=True)
    # some are zeros without memory, which torch.save does not take
    return [*found, *(None if each is None else each.clone() for each in gradients)]


def _learns(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def assert_agrees(found: Any, expected: Any, wide: Any) -> None:
    """Fail unless both are close, or as far from the result in float32 as rounding explains."""
    if not isinstance(expected, torch.Tensor):
        assert type(found) is type(expected), f"{found!r} is no {type(expected).__name__}"
        assert found == expected, f"{found!r} is not {expected!r}"
        return
    rtol, atol = _LIMITS.get(expected.dtype, (1e-4, 1e-4))
    try:
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError:
        if not _is_rounding(found, expected, wide):
            raise


def _is_rounding(found: Any, expected: torch.Tensor, wide: Any) -> bool:
    if not isinstance(found, torch.Tensor) or not isinstance(wide, torch.Tensor):
        return False
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if not expected.is_floating_point() or wide.shape != expected.shape:
        return False
    finite = expected.isfinite() & wide.isfinite()
    if not torch.equal(finite, found.isfinite() & wide.isfinite()):
        return False
    own = (expected.float() - wide)[finite].abs()
    its = (found.float() - wide)[finite].abs()
    return bool(own.numel()) and float(its.max()) <= _ROUNDINGS * float(own.max())
