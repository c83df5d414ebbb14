"""A session and rehearse say the same of a break: the change that is tried first, or none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import broken_programs
import pytest
import torch

import workbench as wb
from tests.analysis.breaks import test_rewrites
from workbench.analysis.breaks.cures import advise, find_cures
from workbench.handles.rehearsing.rehearse import BrokenCall, Inputs
from workbench.report import Break
from workbench.worlds.sessions.findings.advice import advice
from workbench.worlds.sessions.rows.session_rows import find_own_breaks

Function = Callable[..., Any]


def sizing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    sys.getsizeof(x)
    return y * 2


def opening(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    with open(os.devnull):
        return y * 2


def counting_objects(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    n = sys.getrefcount(x)
    return y * n


QUICK = (
    broken_programs.counted,
    broken_programs.logged,
    broken_programs.ending_early,
    broken_programs.noting_a_name,
    test_rewrites.assigned,
    test_rewrites.printing,
    sizing,
    opening,
    counting_objects,
)
EVERY = tuple(
    dict.fromkeys(
        [
            # what a stream under pytest breaks on is the code of that stream
            *(each for each in broken_programs.PROGRAMS if each is not broken_programs.written),
            *(each for each in broken_programs.WITHOUT_CURE if each is not broken_programs.asking),
            *(each for each, _ in test_rewrites.EVERY),
        ]
    )
)


def check_both_say_the_same(function: Function) -> int:
    """Compare the words of a session with what rehearse tries first; how many breaks have both."""
    x = torch.linspace(-1, 2, 8)
    torch._dynamo.reset()
    with wb.session() as session:
        torch.compile(function, backend="eager")(x.clone())
    torch._dynamo.reset()
    said: dict[tuple[str, int], list[str]] = {}
    for one in advice(session):
        said.setdefault((one.file, one.line), []).append(one.cure)
    explanation = BrokenCall(function, Inputs((x,), {})).explained
    compared = 0
    for row in find_own_breaks(session.tables):
        for item in explanation.breaks:
            if row.within or (row.file, row.line, row.kind) != (item.file, item.line, item.kind):
                continue
            assert find_words(explanation.report, item) in said[row.file, row.line]
            compared += 1
    return compared


def find_words(report: wb.Report, item: Break) -> str:
    """What is to be said of a break, by the cures that rehearse tries in their order."""
    cures = [cure for cure in find_cures(report, item) if cure.kind != "explicit"]
    words = advise(item, report).words
    if cures:
        title = cures[0].title
        is_named = f"{title[:1].lower()}{title[1:]}" in words
        is_guarded = "is_compiling" in words and "is_compiling" in cures[0].change.code
        assert is_named or is_guarded, (words, title)
    return words


@pytest.mark.parametrize("function", QUICK, ids=lambda function: function.__name__)
def test_a_session_names_the_change_that_rehearse_tries_first(function: Function) -> None:
    assert check_both_say_the_same(function)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a warning", "ignore:large", "ignore::ResourceWarning")
@pytest.mark.parametrize(
    "function", [each for each in EVERY if each not in QUICK], ids=lambda each: each.__name__
)
def test_a_session_and_rehearse_say_the_same_of_every_break(function: Function) -> None:
    assert check_both_say_the_same(function)


def test_torchs_hint_to_leave_a_call_out_names_the_call() -> None:
    item = Break(
        "",
        "net.py",
        3,
        "f",
        "n = count(x)",
        "Attempted to call function marked as skipped",
        None,
        "",
        "",
        ("Avoid calling the function `count`.", "It may be a bug."),
    )
    words = "call count before or after the compiled function"
    assert advise(item, None).words == words
    assert advise(item, None).cures == ()
