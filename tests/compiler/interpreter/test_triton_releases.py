"""What Triton's own interpreter computes from which release on, beside what is computed here.

A row is the first release that gives `after`; before it Triton gives `before`, or cannot. What is
`ours` is given in every release. Rows were read from the changes in Triton's repository: pull
requests 10333 (NaN of maximum, minimum, clamp) and 10311 (dot_scaled). `tl.atomic_load` and
`tl.atomic_store` are younger than 3.7; in Triton's own interpreter each call of them raised a
`TypeError` until pull request 11676. Here they are computed, which needs no release that has them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter as stock

from workbench.compiler.interpreter.triton.batched_builder import BatchedBuilder
from workbench.compiler.interpreter.triton.checked_memory import Memory, OutOfBoundsError

NAN = float("nan")
NONE, ALL = stock._ir.PROPAGATE_NAN.NONE, stock._ir.PROPAGATE_NAN.ALL
RELEASE = tuple(int(part) for part in triton.__version__.split(".")[:2])


class Row(NamedTuple):
    """One operator on plain numbers."""

    operator: str
    numbers: tuple[float, ...]
    more: tuple[Any, ...]
    since: tuple[int, int]
    before: Any
    after: Any
    ours: Any


ROWS = [
    Row("create_maxnumf", (NAN, 1.0), (), (3, 8), NAN, 1.0, 1.0),
    Row("create_minnumf", (NAN, 1.0), (), (3, 8), NAN, 1.0, 1.0),
    Row("create_maximumf", (NAN, 1.0), (), (3, 0), NAN, NAN, NAN),
    Row("create_minimumf", (NAN, 1.0), (), (3, 0), NAN, NAN, NAN),
    Row("create_clampf", (NAN, 0.0, 1.0), (NONE,), (3, 8), NAN, 0.0, 0.0),
    Row("create_clampf", (NAN, 0.0, 1.0), (ALL,), (3, 0), NAN, NAN, NAN),
]
SINCE = {"create_dot_scaled": (3, 8)}
"""Operators that Triton's interpreter has from a release on; here a kernel with one is not run."""


def compute(builder: Any, row: Row) -> float:
    handles = [
        stock.TensorHandle(np.array([number], dtype=np.float32), tl.float32)
        for number in row.numbers
    ]
    return float(getattr(builder, row.operator)(*handles, *row.more).data.item())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.operator} {row.more}")
def test_an_operator_gives_what_the_release_does_and_here_the_same_in_all(row: Row) -> None:
    expected = row.after if row.since <= RELEASE else row.before
    assert compute(stock.InterpreterBuilder(), row) == pytest.approx(expected, nan_ok=True)
    assert compute(BatchedBuilder(), row) == pytest.approx(row.ours, nan_ok=True)


@pytest.mark.parametrize(("operator", "since"), SINCE.items())
def test_an_operator_is_there_from_its_release_on(operator: str, since: tuple[int, int]) -> None:
    assert hasattr(stock.InterpreterBuilder, operator) is (since <= RELEASE)


SEMANTICS = (stock._ir.MEM_SEMANTIC.RELAXED, stock._ir.MEM_SEMANTIC.ACQUIRE_RELEASE)


@pytest.mark.parametrize("sem", SEMANTICS, ids=str)
@pytest.mark.parametrize("mask", [None, [True, False, True, True]])
def test_atomic_loads_and_stores_are_computed_in_every_release(
    sem: Any, mask: list[bool] | None
) -> None:
    source, target = torch.arange(1, 5, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    builder = BatchedBuilder()
    builder.memory = Memory([source, target])
    builder.programs = (np.zeros(1, np.int32),) * 3

    def point(tensor: torch.Tensor) -> Any:
        places = tensor.data_ptr() + 4 * np.arange(4, dtype=np.uint64)[None]
        return stock.TensorHandle(places, tl.pointer_type(tl.int32))

    asked = None if mask is None else stock.TensorHandle(np.array([mask]), tl.int1)
    loaded = builder.create_atomic_load(point(source), asked, sem, None)
    builder.create_atomic_store(point(target), loaded, asked, sem, None)
    wanted = [1, 2, 3, 4] if mask is None else [1, 0, 3, 4]
    assert target.tolist() == wanted


def test_an_atomic_store_outside_of_the_arguments_is_refused() -> None:
    target = torch.zeros(4, dtype=torch.int32)
    builder = BatchedBuilder()
    builder.memory = Memory([target])
    builder.programs = (np.zeros(1, np.int32),) * 3
    places = target.data_ptr() + 4 * np.arange(2, 6, dtype=np.uint64)[None]
    pointers = stock.TensorHandle(places, tl.pointer_type(tl.int32))
    value = stock.TensorHandle(np.ones((1, 4), np.int32), tl.int32)
    with pytest.raises(OutOfBoundsError):
        builder.create_atomic_store(pointers, value, None, SEMANTICS[0], None)
    assert not target.any()
