"""The kernels of compiled programs, watched with the arguments that they have in a call."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from workbench.compiler.interpreter.watched.watched_call import Watched
from workbench.compiler.kernel_checks import program_checks
from workbench.compiler.kernel_checks.fault_words import FaultWords
from workbench.compiler.kernel_checks.kernel_checking import describe_faults
from workbench.errors import ContractError


def normalise(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.sin() * w, -1) @ w[:, None]


@triton.jit
def shift(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i + 1, i < n), i < n)  # one too far


def shift_rows(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    shift[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out * 2


X, W = torch.randn(37, 100), torch.randn(100)


@pytest.fixture(scope="module")
def trained() -> Any:
    weight = W.clone().requires_grad_()
    return wb.aot_compile(normalise, (X, weight), target="h100", grad=True), weight


def test_kernels_of_forward_and_backward_are_watched_and_clean(trained: Any) -> None:
    compiled, weight = trained
    found = compiled.check_kernels(X, weight)
    assert found.ok is True, found.sentence
    names = {case.kernel for case in found.cases}
    assert len(names) >= 2
    assert names <= {kernel.name for kernel in compiled.report.kernels}
    assert {case.verdict for case in found.cases} == {"passed"}
    assert [*compiled.report.checked_cases] == [*found.cases]
    assert "races between programs" in found.sentence


def test_a_kernel_of_inductor_is_checked_by_itself_too(trained: Any) -> None:
    compiled, _ = trained
    found = compiled.kernel("k0").check()
    assert found.ok is True, found.sentence


def test_what_a_launch_showed_is_gone_when_the_next_is_judged(
    trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, weight = trained
    shown: list[weakref.ref[Watched]] = []
    alive: list[int] = []

    def describe(words: FaultWords, watched: Watched) -> Any:
        shown.append(weakref.ref(watched))
        alive.append(sum(each() is not None for each in shown))
        return describe_faults(words, watched)

    monkeypatch.setattr(program_checks, "describe_faults", describe)
    compiled.check_kernels(X, weight)
    assert alive == [1] * len(alive)
    assert len(alive) > 1


def test_a_kernel_of_the_user_that_reads_too_far_is_named_with_its_line() -> None:
    compiled = wb.aot_compile(shift_rows, (X,), target="h100", grad=False)
    found = compiled.check_kernels(X)
    assert found.ok is False
    (row,) = found.faults
    assert (row.kernel, row.kind, row.index) == ("shift_0", "out of bounds", (37, 0))
    assert f"line {row.line} of shift_0 reads x[37, 0] of [37, 100]" in found.sentence
    (kernel,) = [each for each in compiled.report.kernels if each.name == "shift_0"]
    shown = compiled.report.texts[kernel.text].splitlines()
    assert "one too far" in shown[row.line - 1]
    with pytest.raises(wb.ExpectationError, match="1 finding"):
        found.require()


def test_a_call_that_does_not_fit_is_refused(trained: Any) -> None:
    compiled, weight = trained
    with pytest.raises(ContractError):
        compiled.check_kernels(X[:, :7], weight)


@pytest.mark.parametrize("seconds", [0, 1000])
def test_a_limit_that_no_run_can_have_is_refused(trained: Any, seconds: float) -> None:
    """Of 0 seconds it said that there was no kernel, of 1000 the worker was ended at 900."""
    compiled, weight = trained
    with pytest.raises(wb.UsageError, match="above 0, at most 840"):
        compiled.check_kernels(X, weight, time_limit=seconds)
