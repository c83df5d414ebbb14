"""The comparison of the tests lets no NaN, broadcast shape, other dtype or missing leaf pass."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
import torch

from tests.agreement import assert_agrees, largest_difference


class Cache:
    def __init__(self, keys: torch.Tensor):
        self.layers = [{"keys": keys}]


WRONG = [
    (torch.tensor([1.0, nan]), torch.ones(2)),
    (torch.tensor([nan]), torch.tensor([nan])),
    (torch.ones(1), torch.ones(3)),
    (torch.ones(3, 1), torch.ones(1, 3)),
    (torch.ones(2, dtype=torch.float64), torch.ones(2)),
    (torch.ones(2), torch.ones(2) * 1.001),
    (torch.tensor([3]), torch.tensor([4])),
    (Cache(torch.ones(2)), Cache(torch.zeros(2))),
    ((torch.ones(1), torch.tensor(nan)), (torch.ones(1), torch.ones(()))),
]


@pytest.mark.parametrize(("found", "expected"), WRONG)
def test_what_differs_fails(found: Any, expected: Any) -> None:
    assert not largest_difference(found, expected) <= 1e-4
    with pytest.raises(AssertionError):
        assert_agrees(found, expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([torch.ones(2)], (torch.ones(2),)),
        ([torch.ones(2)], [torch.ones(2), torch.ones(2)]),
        ({"a": torch.ones(2)}, {"b": torch.ones(2)}),
        ({"a": torch.ones(2), "b": None}, {"a": torch.ones(2), "b": torch.ones(2)}),
        ([1, "x"], [1, "y"]),
    ],
)
def test_what_is_put_together_otherwise_fails(found: Any, expected: Any) -> None:
    with pytest.raises(AssertionError):
        assert_agrees(found, expected)
    with pytest.raises(AssertionError):
        largest_difference(found, expected)


def test_equal_results_agree() -> None:
    result = {"logits": torch.randn(2, 3), "cache": Cache(torch.ones(2)), "loss": None}
    again = {"logits": result["logits"].clone(), "cache": Cache(torch.ones(2)), "loss": None}
    assert_agrees(result, again)
    assert largest_difference(result, again) == 0
