"""Compiled code that depends on elements of inputs which the original does not use."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.compiler.comparison.held_values import Coarse
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import (
    Effects,
    Subject,
    Trial,
    UnusedElements,
    run_in_double_precision,
    subject_of,
)

BRAIN = torch.bfloat16
USED = 40
_ROW = Comparison("output", "bfloat16", (4, 8), 0.0, 0.0, 0.0, 0.0, "passed")


def draw(*sizes: int, seed: int = 0) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(BRAIN)


def attend(q: Tensor, k: Tensor, v: Tensor, used: int = USED) -> Tensor:
    masked = torch.arange(len(k)) >= used
    return (q @ k.t()).masked_fill(masked, float("-inf")).softmax(-1) @ v


def attend_in_float32(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attend(q.float(), k.float(), v.float()).to(q.dtype)


def attend_one_more(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attend(q, k, v, USED + 1)


def clip(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Which has no gradient where it is clipped, and yet uses what it clips."""
    return (q.clamp(-0.5, 0.5) @ k[:8] + v[:4, :8].relu()).to(BRAIN)


def clip_less(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return clip(q, k, v) + (q.clamp(-0.5, 0.502) - q.clamp(-0.5, 0.5)).sum()


def refuse(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    if float(k[-1, 0]) != float(draw(48, 8, seed=1)[-1, 0]):
        raise AssertionError("other numbers")
    return attend(q, k, v)


def judge(original: Callable[..., Any], compiled: Callable[..., Any]) -> Comparison:
    args = draw(4, 8), draw(48, 8, seed=1), draw(48, 8, seed=2)
    subject = subject_of(original, args, {}, [("", original)])
    actual = subject.run(compiled)

    def run_compiled(subject: Subject) -> Effects:
        return subject.run(compiled)

    asked = UnusedElements(
        original,
        subject,
        lambda other: run_in_double_precision(original, other),
        run_compiled,
        lambda: run_in_double_precision(original, subject),
        actual,
    )
    (row,) = asked.judge([Coarse(**vars(_ROW) | {"verdict": "failed"})], [_ROW])
    return row


def test_a_masked_key_that_is_attended_is_found() -> None:
    row = judge(attend, attend_one_more)
    assert row.verdict == "failed"
    assert row.reason == (
        "it depends on elements of call[0][1] and call[0][2] that eager does not use"
    )


@pytest.mark.parametrize(
    ("original", "compiled"),
    [(attend, attend_in_float32), (clip, clip), (clip, clip_less), (refuse, attend_one_more)],
)
def test_what_the_original_uses_or_refuses_is_no_difference(
    original: Callable[..., Any], compiled: Callable[..., Any]
) -> None:
    assert judge(original, compiled).verdict == "passed"


def test_code_that_gives_something_else_each_time_is_not_called_dependent() -> None:
    def attend_by_chance(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        calls.append(0)
        return attend(q, k, v) * (1 + len(calls) / 10)

    calls: list[int] = []
    assert judge(attend, attend_by_chance).verdict == "passed"


def test_rows_that_did_not_ask_are_left() -> None:
    asked = replace(_ROW, reason="as it was")
    nothing: Any = None
    unused = UnusedElements(nothing, nothing, nothing, nothing, nothing, nothing)
    assert unused.judge([_ROW], [asked]) == [asked]


def test_the_inputs_of_a_trial_go_with_their_last_reference() -> None:
    """They may fill a GPU: a circle would keep them until a garbage collection."""
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(4)
        gone = weakref.ref(x)
        (row,) = Trial.of(torch.sin, torch.sin, ((x,), {})).judge()
        assert row.ok
        del x
        assert gone() is None
    finally:
        gc.enable()
