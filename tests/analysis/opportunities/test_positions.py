"""Logits of all positions: found where they are most of the peak, which falls without them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb

VOCABULARY, WIDTH, POSITIONS = 2000, 32, 48


class Tokens(nn.Module):
    """The last layers of a language model; `last` computes the logits of one position."""

    def __init__(self, vocabulary: int = VOCABULARY, *, last: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)
        self.lm_head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.last = last

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(ids)
        hidden = hidden + self.down(torch.relu(self.up(hidden)))
        if self.last:
            hidden = hidden[:, -1:]
        return self.lm_head(hidden)


def compiled(model: nn.Module, *inputs: torch.Tensor, grad: bool = False) -> Any:
    return wb.aot_compile(model, inputs, grad=grad)


def rules(found: Any) -> list[str]:
    return [each.rule for each in wb.opportunities(found)]


IDS = torch.randint(0, VOCABULARY, (2, POSITIONS))


def test_the_peak_falls_by_what_it_says_when_only_the_last_position_is_computed() -> None:
    before, after = compiled(Tokens(), IDS), compiled(Tokens(last=True), IDS)
    found = wb.opportunities(before)["logits-of-all-positions"].opportunity
    logits = 4 * 2 * POSITIONS * VOCABULARY
    assert found.saved_bytes_high == logits * (POSITIONS - 1) // POSITIONS
    assert f"all {POSITIONS} positions" in found.text
    assert "return self.lm_head(hidden[:, -1:])" in found.after
    was, now = (each.memory().measure(IDS) for each in (before, after))
    assert was.measured - now.measured == pytest.approx(found.saved_bytes_high, rel=0.1)
    assert "logits-of-all-positions" not in rules(after)


def test_logits_that_are_not_most_of_the_peak_are_left_alone() -> None:
    assert "logits-of-all-positions" not in rules(compiled(Tokens(4 * WIDTH - 1), IDS % 100))


@pytest.mark.slow
def test_a_training_step_needs_all_positions() -> None:
    assert "logits-of-all-positions" not in rules(compiled(Tokens(), IDS, grad=True))


def test_a_wide_result_that_is_not_one_for_each_token_is_left_alone() -> None:
    wide = nn.Linear(WIDTH, VOCABULARY)
    assert "logits-of-all-positions" not in rules(compiled(wide, torch.randn(2, POSITIONS, WIDTH)))
