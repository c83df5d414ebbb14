"""A tensor without dimensions as an index: what takes its place, tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb

CACHE, AT = torch.zeros(2, 8, 3), torch.tensor(3)


def read_second(cache: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    picked = cache[:, at]
    return picked * 2


def read_behind_none(cache: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    picked = cache[:, None, at]
    return picked + 1


def write_second(cache: torch.Tensor, at: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    cache[:, at] = new
    return cache * 2


def add_at(cache: torch.Tensor, at: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    cache[:, at] += new
    return cache * 2


def write_broadcast(cache: torch.Tensor, at: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    cache[:, at] = new[0]
    return cache * 2


@pytest.mark.parametrize(
    ("fn", "args", "line"),
    [
        (read_second, (CACHE, AT), "    picked = cache[:, at.view(1)].squeeze(1)"),
        (
            write_second,
            (CACHE, AT, torch.ones(2, 3)),
            "    cache[:, at.view(1)] = new.unsqueeze(1)",
        ),
        pytest.param(
            read_behind_none,
            (CACHE, AT),
            "    picked = cache[:, None, at.view(1)].squeeze(2)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            add_at,
            (CACHE, AT, torch.ones(2, 3)),
            "    cache[:, at.view(1)] += new.unsqueeze(1)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_index_of_one_element_compiles_whole(
    fn: Callable[..., Any], args: tuple[Any, ...], line: str
) -> None:
    tried = wb.rehearse(fn, args)
    [cure] = [each for each in tried.cures if each.verdict == "cures"]
    assert cure.code == line
    assert (tried.graphs_after, tried.breaks_after) == (1, 0)


@pytest.mark.slow
def test_what_does_not_fit_a_value_that_is_broadcast_is_refused() -> None:
    tried = wb.rehearse(write_broadcast, (CACHE, AT, torch.ones(2, 3)))
    assert {each.verdict for each in tried.cures} == {"refused"}
