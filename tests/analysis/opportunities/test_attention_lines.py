"""Attention that is written by hand, in many ways, becomes a call of the library's."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import pytest
import torch

from workbench.analysis.opportunities.attention_lines import rewrite_attention

WAYS = {
    "one line": "return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(4), -1) @ v",
    "a factor before": "return (0.5 * (q @ k.mT)).softmax(dim=-1) @ v",
    "no scale": "return torch.matmul(F.softmax(torch.matmul(q, k.transpose(2, 3)), dim=-1), v)",
    "step by step": """
        s = q @ k.transpose(-1, -2)
        s = s * 4 ** -0.5
        p = F.softmax(s, -1)
        out = p @ v
        return out + 1
    """,
    "a causal mask": """
        s = q @ k.transpose(-1, -2) * 0.3
        m = torch.ones(5, 5, dtype=torch.bool).tril()
        s = s.masked_fill(~m, float("-inf"))
        return s.softmax(-1) @ v
    """,
    "a mask of what is left out": """
        s = q @ k.transpose(-1, -2) * 0.3
        s = s.masked_fill(torch.ones(5, 5).triu(1) == 1, -torch.inf)
        return s.softmax(-1).matmul(v)
    """,
    "an added bias": "return torch.softmax(b + q @ k.mT / 2, dim=-1) @ v",
    "inside of a call": "return torch.relu((q @ k.mT).softmax(-1) @ v) * 2",
}


def run(lines: list[str], dims: int) -> Any:
    torch.manual_seed(0)
    q, k, v = (torch.randn((2, 3, 5, 4)[4 - dims :]) for _ in range(3))
    scope: dict[str, Any] = {"torch": torch, "math": math, "F": torch.nn.functional}
    text = "\n".join(lines)
    exec(f"def run(q, k, v, b):\n{textwrap.indent(text, '    ')}", scope)
    return scope["run"](q, k, v, torch.randn(5, 5))


@pytest.mark.parametrize("dims", [4, 3, 2])
@pytest.mark.parametrize("way", WAYS)
def test_the_line_that_is_written_gives_the_same(way: str, dims: int) -> None:
    lines = textwrap.dedent(WAYS[way]).strip().split("\n")
    if dims < 4:
        lines = [line.replace("transpose(2, 3)", "transpose(-2, -1)") for line in lines]
    ends = ("@ v", "(v)", ", v)")
    last = next(n for n, line in enumerate(lines) if any(end in line for end in ends))
    found = rewrite_attention(lines[: last + 1], dims)
    assert found is not None
    place, before, after = found
    assert before == (lines[place],)
    changed = [*lines[:place], *after, *lines[place + 1 :]]
    assert "scaled_dot_product_attention" in after[0]
    torch.testing.assert_close(run(changed, dims), run(lines, dims))


@pytest.mark.parametrize(
    "text",
    [
        "return torch.softmax(q @ k.mT, -2) @ v",  # over the queries
        "return torch.softmax((q @ k.mT + b) / 2, -1) @ v",  # the bias is scaled
        "return torch.softmax(q @ k.mT, -1, dtype=torch.float64) @ v",
        "return torch.softmax(q @ k, -1) @ v",  # nothing is turned
        "return torch.softmax(q @ k.mT, -1) * v",
        "s, t = q @ k.mT, 1\nreturn s.softmax(-1) @ v",
        "def f(q, k, v): return (q @ k.mT).softmax(-1) @ v",
        "for i in range(2):\n    q = (q @ k.mT).softmax(-1) @ v",
        "s = q @ k.mT; return s.softmax(-1) @ v",  # the line does more
        "s = q @ k.mT\nq = q * 2\nreturn s.softmax(-1) @ v",  # q is another one by then
        "s = q @ k.mT\nt = k.add_(1)\nreturn s.softmax(-1) @ v",
    ],
)
def test_what_is_something_else_is_left_alone(text: str) -> None:
    assert rewrite_attention(text.split("\n"), 4) is None
