"""torch.func works after a compilation that failed inside of its transforms."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import pytest
import torch
from torch.func import grad, jacfwd, jvp, vmap

import workbench as wb
from tests.older_releases import RELEASE

X = torch.ones(4, 3)


def chunked(x: torch.Tensor) -> Any:
    """torch cannot trace the second chunk, and fails while it writes the message.

    2.15 then calls it in eager, which ends in an internal assertion if the dispatch state that the
    failure left is still there.
    """
    return vmap(jacfwd(lambda y: y * 2), chunk_size=2)(x)


def explain() -> None:
    with nullcontext() if RELEASE < (2, 15) else suppress(RuntimeError):
        wb.explain(chunked, (X,))


def compile_ahead() -> None:
    with pytest.raises(wb.CaptureError):
        wb.aot_compile(chunked, (X,), backend="eager")


def run_in_session() -> None:
    torch._dynamo.reset()
    fails = pytest.raises(Exception, match="fake tensor call")
    with wb.session(), fails if RELEASE < (2, 15) else suppress(RuntimeError):
        torch.compile(chunked, backend="eager")(X)


@pytest.mark.parametrize("fail", [explain, compile_ahead, run_in_session])
def test_transforms_work_after_a_failure_is_collected(fail: Callable[[], None]) -> None:
    fail()
    gc.collect()
    assert torch.equal(jvp(torch.sin, (X,), (X,))[1], torch.cos(X))
    assert torch.equal(grad(lambda y: (y * y).sum())(X), 2 * X)
    assert torch.equal(vmap(torch.neg)(X), -X)


def test_the_users_own_frames_keep_their_variables() -> None:
    def outer(x: torch.Tensor) -> Any:
        kept = "for a debugger"
        assert kept
        return wb.aot_compile(chunked, (x,), backend="eager")

    with pytest.raises(wb.CaptureError) as caught:
        outer(X)
    own = next(each for each in caught.traceback if each.name == "outer")
    assert own.frame.f_locals["kept"] == "for a debugger"
