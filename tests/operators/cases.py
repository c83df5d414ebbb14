"""Operators of torch's own test database, each with its first inputs that can be compared."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

SEED = 3
VARIANTS: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "gradients": torch.float32,
    "bfloat16": torch.bfloat16,
}
"""What is compared: the results, the gradients too, the results of operators that have them."""

NO_DTYPE = "takes no values of this dtype on the CPU"
NO_GRADIENT = "has no gradient"
UNDEFINED = "its result is memory that nobody wrote to"
GPU_ONLY = "is for GPUs only"
NOT_DENSE = "has no sample whose inputs and results are dense"
RANDOM = "its result is random"
NO_PHASE = "its gradient needs a loss that no phase of complex eigenvectors changes"
REFUSED = "torch.compile(fullgraph=True) refuses it"

_UNDEFINED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
_FILE = Path(__file__).with_name("excluded.toml")


class Case(NamedTuple):
    """An operator as the database gives it (a function, builtin or lambda), and one call."""

    name: str
    operator: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@functools.cache
def entries() -> Mapping[str, Any]:
    """Every entry of the database by its name."""
    return {".".join(filter(None, (e.name, e.variant_test_name))): e for e in op_db}


@functools.cache
def excluded(variant: str) -> Mapping[str, str]:
    """The operators that are not compared, and why: `excluded.toml` the other way round."""
    reasons = tomllib.loads(_FILE.read_text())[variant]
    return {name: reason for reason, names in reasons.items() for name in names}


def compared(variant: str) -> tuple[str, ...]:
    """The operators that are compared."""
    return tuple(name for name in entries() if name not in excluded(variant))


def groups(variant: str, size: int) -> Iterator[tuple[str, ...]]:
    """Every name that is compared, in groups that are saved and loaded together."""
    names = compared(variant)
    for start in range(0, len(names), size):
        yield names[start : start + size]


def case(name: str, variant: str = "float32") -> Case | str:
    """The operator with inputs, or why there is nothing to compare."""
    entry, dtype = entries()[name], VARIANTS[variant]
    if name.startswith("jiterator"):
        return GPU_ONLY
    if name.startswith(_UNDEFINED):
        return UNDEFINED
    if dtype not in entry.supported_dtypes("cpu"):
        return NO_DTYPE
    if variant != "float32" and not entry.supports_autograd:
        return NO_GRADIENT
    if (name, variant) == ("linalg.eig", "gradients"):
        return NO_PHASE
    torch.manual_seed(SEED)
    learns = variant == "gradients"
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=learns):
        call = tree_map(_own, ((sample.input, *sample.args), dict(sample.kwargs)))
        if all(map(_is_dense, tree_leaves(call))):
            made = Case(name, entry.op, *call)
            return _why_not(made, learns=learns) or made
    return NOT_DENSE


def _own(leaf: Any) -> Any:
    """A tensor that no other was computed from."""
    if not isinstance(leaf, torch.Tensor) or not leaf.requires_grad:
        return leaf
    return leaf.detach().requires_grad_()


def _why_not(made: Case, *, learns: bool) -> str | None:
    first, second = _run(made, 0), _run(made, 1)
    if not all(map(_is_dense, first)):
        return NOT_DENSE
    if not _same(first, second):
        return RANDOM
    if learns and not any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in first):
        return NO_GRADIENT
    return None


def _is_dense(leaf: Any) -> bool:
    return not isinstance(leaf, torch.Tensor) or leaf.layout == torch.strided


def _run(made: Case, seed: int) -> list[Any]:
    torch.manual_seed(seed)
    return list(tree_leaves(made.operator(*made.args, **made.kwargs)))


def _defined(value: torch.Tensor) -> torch.Tensor:
    wide = value.to(torch.complex64) if value.dtype is torch.complex32 else value
    return torch.nan_to_num(wide)


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two runs gave the same bits (a NaN is the same as a NaN)."""
    return all(
        torch.equal(_defined(a.detach()), _defined(b.detach()))
        for a, b in zip(first, second, strict=True)
        if isinstance(a, torch.Tensor)
    )
