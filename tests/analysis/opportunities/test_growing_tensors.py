"""Tensors that grow by `torch.cat`: found where a list saves the copies, and written as one."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import torch
from opportunity_cases import found_in, grown

import workbench as wb
from workbench.analysis.opportunities.growing_tensors import rewrite_cat
from workbench.analysis.opportunities.opportunity import read_cost

RULE = "tensor-that-grows"
SLOW = pytest.mark.slow
INPUTS = torch.ones(4, 4, 64), torch.ones(64, 64) / 64


def test_a_tensor_that_grows_is_collected_in_a_list_and_saves_what_is_said() -> None:
    found = found_in(grown, INPUTS)[RULE]
    rows = sum(range(5, 10))  # of the results of five calls, which the next one copies
    assert found.saved_bytes_high == 2 * 4 * rows * 64 * 4
    assert "Now, 6 calls of torch.cat copy 5 intermediate results" in found.text
    tried = found.try_()
    assert tried.agrees
    assert tried.saved_bytes == found.saved_bytes_high


def read_last(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    kept = x
    for _ in range(4):
        kept = torch.cat([kept, torch.tanh(kept[-64:] @ w)])
    return kept


def read_last_of_list(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    parts = [x]
    for _ in range(4):
        parts.append(torch.tanh(parts[-1] @ w))
    return torch.cat(parts)


@pytest.mark.slow
def test_a_step_that_reads_the_last_one_reads_it_from_the_list() -> None:
    inputs = torch.ones(64, 64), torch.ones(64, 64) / 64
    found = found_in(read_last, inputs)[RULE]
    assert (found.before, found.after[1]) == ((), "result = torch.cat(parts, dim)  # after it")
    made = [wb.aot_compile(f, inputs, grad=False) for f in (read_last, read_last_of_list)]
    torch.testing.assert_close(*(each(*inputs) for each in made))
    costs = [read_cost(each.report) for each in made]
    saved = found.saved_bytes_high
    assert saved is not None
    assert saved <= costs[0].bytes - costs[1].bytes <= 2 * saved


def read_in_whole(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    kept = x
    for _ in range(6):
        kept = torch.cat([kept, torch.tanh(kept.mean(1, keepdim=True) @ w)], 1)
    return kept


def returned(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    made = [x]
    for _ in range(6):
        made.append(torch.cat([made[-1], w[None].expand(4, -1, -1)], 1))
    return tuple(made)


def joined_across(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    kept = x @ w
    for dim in (0, 1, 0, 1, 0, 1):
        kept = torch.cat([kept, kept * 2], dim)
    return kept


def joined_twice(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.cat([x, x @ w], 1), x * 2], 1)


@pytest.mark.parametrize(
    "function",
    [
        read_in_whole,
        *(pytest.param(f, marks=SLOW) for f in (returned, joined_across)),
        joined_twice,
    ],
)
def test_what_is_needed_whole_in_each_step_is_left_alone(function: Any) -> None:
    assert RULE not in {each.rule for each in found_in(function, INPUTS)}


def run(lines: str) -> torch.Tensor:
    """What a function of these lines returns."""
    scope: dict[str, Any] = {"torch": torch}
    exec(f"def step(x, w):\n{textwrap.indent(lines, '    ')}\n    return kept", scope)
    made: torch.Tensor = scope["step"](torch.ones(2, 3, 4), torch.ones(4, 4) / 4)
    return made


@pytest.mark.parametrize(
    "lines",
    [
        "kept = x\nfor n in range(3):\n    kept = torch.cat((kept, x * n), 1)",
        "kept = x[:, :0]\nfor n in range(3):\n    kept = torch.concat([kept, x * n, x + n], dim=1)",
        "kept = x\nfor n in range(3):\n    if n:\n        kept = torch.cat([kept, x * n])",
        "kept = x\nfor _ in range(3):\n    kept = torch.cat([kept, kept[:, -1:] @ w], 1)",
        "kept = x\nfor n in range(3):\n    # é\n    kept = torch.cat(\n"
        "        [kept, x * n], dim=-1)\n    last = kept[..., -1:]",
        "kept = x\nfor n in range(2):\n    for m in range(2):\n"
        "        kept = torch.cat([kept, x * n + m], 1)",
    ],
)
def test_the_lines_that_are_written_give_the_same(lines: str) -> None:
    number = next(n for n, line in enumerate(lines.split("\n")) if "torch.c" in line)
    found = rewrite_cat([f"    {line}" for line in lines.split("\n")], number)
    assert found is not None
    at, before, after = found
    old = [f"    {line}" for line in lines.split("\n")]
    assert tuple(old[at : at + len(before)]) == before
    new = textwrap.dedent("\n".join((*old[:at], *after, *old[at + len(before) :])))
    assert "kept_parts" in new
    torch.testing.assert_close(run(new), run(lines))


@pytest.mark.parametrize(
    "line",
    [
        "    kept = torch.cat([kept, kept.mean(1, keepdim=True)], 1)",
        "    kept = torch.cat([kept, kept[:, -2:]], 1)",
        "    kept = torch.cat([kept, kept[-1:]], 1)",
        "    kept = torch.cat([kept, x.add_(1)], 1)",
        "    x += 1; kept = torch.cat([kept, x], 1)",
        "    kept = torch.cat([x, kept], 1)",
        "    kept = torch.cat([kept, *w], 1)",
        "    kept = torch.cat([kept, x], n)",
        "    kept = torch.cat([kept, x], 1); w = w * 2",
        "    if n: kept = torch.cat([kept, x], 1)",
    ],
)
def test_a_loop_that_a_list_would_change_is_not_written_anew(line: str) -> None:
    assert rewrite_cat(["kept = x", "for n in range(3):", line], 2) is None
