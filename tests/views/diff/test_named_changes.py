"""A diff of two versions of a program names what was changed in its source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import workbench as wb
from workbench.report import Report

X = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))


def plain(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 2 + 1).sum(-1)


def by_three(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 3 + 1).sum(-1)


def through_half(a: torch.Tensor) -> torch.Tensor:
    return torch.relu((a * 2).half().float() + 1).sum(-1)


def smooth(a: torch.Tensor) -> torch.Tensor:
    return F.gelu(a * 2 + 1).sum(-1)


def other_order(a: torch.Tensor) -> torch.Tensor:
    return torch.relu((a + 1) * 2).sum(-1)


def other_dimension(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 2 + 1).sum(0)


def other_option(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 2 + 1).sum(-1, keepdim=True)


def turned(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(1 + a * 2).sum(-1)


def other_names(a: torch.Tensor) -> torch.Tensor:
    doubled = a * 2
    shifted = doubled + 1
    return torch.relu(shifted).sum(-1)


def dropped(a: torch.Tensor) -> torch.Tensor:
    return F.dropout(a, 0.1, True)


def half_dropped(a: torch.Tensor) -> torch.Tensor:
    return F.dropout(a, 0.5, True)


def second(a: torch.Tensor) -> torch.Tensor:
    return a[:, 1] * 2


def third(a: torch.Tensor) -> torch.Tensor:
    return a[:, 2] * 2


def told(
    a: Callable[..., Any], b: Callable[..., Any], x: torch.Tensor = X, **options: Any
) -> tuple[str, ...]:
    reports = []
    for function, value, asked in ((a, X, {}), (b, x, options)):
        torch._dynamo.reset()
        reports.append(wb.aot_compile(function, (value,), backend="eager", **asked).report)
    return wb.diff(*reports).sentences


CHANGES = (
    (plain, by_three, "1 was written differently, for example mul: … * 2 → … * 3"),
    (plain, through_half, "New: half (to float16) and float (to float32)"),
    (plain, smooth, "New: gelu. Gone: relu"),
    (plain, other_order, "In another order: add"),
    (plain, other_dimension, "….sum(-1) → ….sum(0)"),
    (plain, other_option, "….sum(-1) → ….sum(-1, keepdim = True)"),
    (plain, turned, "… + 1 → 1 + …"),
    (dropped, half_dropped, "(…, 0.1, True) → torch.nn.functional.dropout(…, 0.5, True)"),
    (second, third, "1)] → …[(slice(None, None, None), 2)]"),
)


@pytest.mark.parametrize(
    ("a", "b", "words"), CHANGES, ids=lambda each: getattr(each, "__name__", "")
)
def test_what_changed_in_the_source_is_named(a: Any, b: Any, words: str) -> None:
    found = [text for text in told(a, b) if "captured graph" in text]
    assert len(found) == 1
    assert words in found[0]
    assert "other arguments" not in found[0]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (X.double(), "float32 [8, 8] on cpu → float64 [8, 8] on cpu"),
        (torch.ones(16, 8), "float32 [8, 8] → [16, 8]"),
    ],
    ids=["dtype", "size"],
)
def test_other_inputs_are_named(x: torch.Tensor, words: str) -> None:
    assert any(words in text for text in told(plain, plain, x))


def test_other_names_of_values_are_no_change() -> None:
    assert not any("captured graph" in text for text in told(plain, other_names))


def test_another_option_of_the_compilation_is_named() -> None:
    assert told(plain, plain, dynamic=True)[1].startswith("The requests differ: dynamic")


def with_sine(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.sin(a * 2) + 1).sum(-1)


def less_one(a: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 2 - 1).sum(-1)


@pytest.mark.parametrize(
    ("other", "said"), [(with_sine, "New: sin."), (less_one, "New: sub. Gone: add.")]
)
def test_an_operator_of_the_lowered_graph_has_its_name_and_not_that_of_its_overload(
    other: Callable[[torch.Tensor], torch.Tensor], said: str
) -> None:
    found = wb.diff(wb.aot_compile(plain, (X,)), wb.aot_compile(other, (X,)))
    graphs = [sentence for sentence in found.sentences if " graph (" in sentence]
    assert len(graphs) == 2
    assert all(sentence.endswith(said) for sentence in graphs)
    assert any("1 line of source changed" in sentence for sentence in found.sentences)


def test_sizes_that_became_inputs_are_called_by_their_names() -> None:
    records = Path(__file__).parents[2] / "records" / "mlp"
    found = wb.diff(Report.load(records / "static.wbr"), Report.load(records / "dynamic.wbr"))
    (captured,) = [each for each in found.sentences if each.startswith("In the captured graph")]
    assert captured.endswith("New: batch (a size) and length (a size).")
