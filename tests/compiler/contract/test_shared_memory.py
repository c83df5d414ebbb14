"""Inputs that share memory, where the code writes into one: as in the example, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.older_releases import since
from workbench.compiler.contract.shared_memory import has_overlap

Pair = tuple[torch.Tensor, torch.Tensor]


def adds(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x + y


def apart() -> Pair:
    return torch.zeros(4), torch.zeros(4)


def same() -> Pair:
    z = torch.zeros(4)
    return z, z


def views() -> Pair:
    z = torch.zeros(4)
    return z, z.view(4)


def halves() -> Pair:
    z = torch.zeros(6)
    return z[:4], z[2:]


def neighbours() -> Pair:
    z = torch.zeros(8)
    return z[:4], z[4:]


def agrees(compiled: Any, make: Callable[[], Pair]) -> bool:
    (x, y), (a, b) = make(), make()
    return torch.equal(compiled(x, y), adds(a, b)) and torch.equal(x, a) and torch.equal(y, b)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return wb.aot_compile(adds, apart())


def test_inputs_apart_and_neighbours_in_one_storage_are_right(compiled: Any) -> None:
    assert agrees(compiled, apart)
    assert agrees(compiled, neighbours)


@pytest.mark.parametrize("make", [views, halves, same])
def test_inputs_that_overlap_are_refused_by_name(compiled: Any, make: Callable[[], Pair]) -> None:
    with pytest.raises(wb.ContractError, match=r"A \.clone\(\) of one would give other results"):
        compiled(*make())


def test_one_tensor_twice_is_refused_by_name_where_nothing_is_written() -> None:
    compiled = wb.aot_compile(lambda x, y: x + y, apart(), backend="eager")
    with pytest.raises(
        wb.ContractError, match="x and y are the same tensor, but were two tensors when compiled"
    ):
        compiled(*same())


@pytest.mark.parametrize("example", [views, same])
def test_an_example_that_shares_is_compiled_for_that(example: Callable[[], Pair]) -> None:
    compiled = wb.aot_compile(adds, example())
    assert agrees(compiled, example)
    with pytest.raises(wb.ContractError, match=r"x and y (share no memory|must be one tensor)"):
        compiled(*apart())


def test_a_loaded_file_refuses_the_same(compiled: Any, tmp_path: Path) -> None:
    path = tmp_path / "adds.aot"
    compiled.save(path)
    loaded = wb.load(path, trust=True)
    assert agrees(loaded, apart)
    with pytest.raises(wb.ContractError, match="x and y share memory"):
        loaded(*halves())


def test_code_that_writes_nothing_takes_views_of_one_tensor() -> None:
    compiled = wb.aot_compile(lambda x, y: x + y, apart())
    assert compiled.plan.memory is None
    assert compiled(*halves()).tolist() == [0.0] * 4


@since("2.12", "what aot_eager makes cannot be kept")
def test_a_module_that_writes_into_its_own_buffers_takes_views() -> None:
    compiled = wb.aot_compile(torch.nn.BatchNorm1d(3), (torch.randn(4, 3),), backend="aot_eager")
    assert compiled.plan.memory is None


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (slice(0, 8, 2), slice(1, 8, 2), False),
        (slice(0, 8, 2), slice(0, 8, 4), True),
        (slice(0, 4), slice(3, 8), True),
        (slice(0, 4), slice(4, 8), False),
        (slice(2, 2), slice(0, 8), False),
    ],
)
def test_strided_views_are_compared_by_their_elements(
    one: slice, other: slice, found: bool
) -> None:
    z = torch.zeros(8)
    assert has_overlap(z[one], z[other]) is found


def test_views_of_different_types() -> None:
    z = torch.zeros(8)
    assert has_overlap(z[4:], z.view(torch.int16)[8:10])
    assert not has_overlap(z[4:], z.view(torch.int16)[:8])


def test_a_package_refuses_what_shares_memory(tmp_path: Path) -> None:
    path = tmp_path / "adds.pt2"
    wb.package(adds, apart(), path=path)
    package = wb.load(path, trust=True)
    assert agrees(package, apart)
    assert agrees(package, neighbours)
    for make in (views, halves, same):
        with pytest.raises(
            wb.ContractError, match="x and y share memory and one of them is written"
        ):
            package(*make())
    with pytest.raises(wb.CaptureError, match="x and y share memory, and the code writes to its"):
        wb.package(adds, views(), path=tmp_path / "views.pt2")


def test_overlap_is_what_the_elements_say() -> None:
    torch.manual_seed(0)
    memory = torch.arange(240)
    for _ in range(300):
        views = [memory.as_strided(*random_layout()) for _ in range(2)]
        elements = [set(view.flatten().tolist()) for view in views]
        assert has_overlap(*views) is bool(elements[0] & elements[1])


def random_layout() -> tuple[list[int], list[int], int]:
    """Sizes, strides and offset of a view that stays within 240 elements; a stride may be 0."""
    sizes = torch.randint(1, 5, (3,)).tolist()
    strides = torch.randint(0, 18, (3,)).tolist()
    return sizes, strides, int(torch.randint(0, 80, ()))


def test_a_picture_of_interleaved_rows_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    zeros = torch.zeros
    monkeypatch.setattr(
        torch, "zeros", lambda *size, **kw: made.append(size[0]) or zeros(*size, **kw)
    )
    cache = torch.empty(2, 1000, 2, 64)
    assert not has_overlap(cache[:, :, 0], cache[:, :, 1])
    assert made == [4000]  # one value for a row of 64 floats
