"""Operators of torch's own test database, each with its first float32 sample inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

SEED = 3
UNDEFINED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
GPU_ONLY = ("jiterator",)


class Case(NamedTuple):
    """An operator as the database gives it (a function, builtin or lambda), and one call."""

    name: str
    operator: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@functools.cache
def entries() -> Mapping[str, Any]:
    """The entries of the database that take float32 on the CPU, by name."""
    found = {}
    for entry in op_db:
        name = ".".join(filter(None, (entry.name, entry.variant_test_name)))
        if torch.float32 in entry.supported_dtypes("cpu") and not name.startswith(
            UNDEFINED + GPU_ONLY
        ):
            found[name] = entry
    return found


def case(name: str) -> Case | None:
    """The operator with inputs; None when it has no dense sample or its result is random."""
    entry = entries()[name]
    torch.manual_seed(SEED)
    for sample in entry.sample_inputs("cpu", torch.float32):
        made = Case(name, entry.op, (sample.input, *sample.args), dict(sample.kwargs))
        if all(_is_dense(leaf) for leaf in tree_leaves((made.args, made.kwargs))):
            first, second = _run(made, 0), _run(made, 1)
            return made if all(map(_is_dense, first)) and _same(first, second) else None
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
    pairs = list(zip(first, second, strict=True))
    return all(
        torch.equal(_defined(a), _defined(b)) if isinstance(a, torch.Tensor) else True
        for a, b in pairs
    )


def groups(size: int) -> Iterator[tuple[str, ...]]:
    """Every name, in groups that are saved and loaded together."""
    names = tuple(entries())
    for start in range(0, len(names), size):
        yield names[start : start + size]
