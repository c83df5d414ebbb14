"""What is counted from a program, beside what torch's profiler sees of a call."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.handles.memory.programs import MLP, PROGRAMS, SCRATCH, TRAINED, chain

SAMPLE = [("mlp", True), ("chain", False), ("sort", False)]
REST = [
    (name, grad)
    for name in PROGRAMS
    for grad in (False, *([True] if name in TRAINED else []))
    if (name, grad) not in SAMPLE
]


def check(name: str, grad: bool) -> None:
    torch.manual_seed(0)
    fn, args = PROGRAMS[name]()
    compiled = wb.aot_compile(fn, args, grad=grad)
    found = compiled.memory().measure(*args)
    assert -SCRATCH.get((name, grad), 0.001) <= found.error <= 0.001, str(found)
    assert found.eager is not None
    assert found.measured <= found.eager * 1.1


@pytest.mark.parametrize(("name", "grad"), SAMPLE)
def test_a_sample_is_as_the_profiler_sees_it(name: str, grad: bool) -> None:
    check(name, grad)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "grad"), REST)
def test_every_program_is_as_the_profiler_sees_it(name: str, grad: bool) -> None:
    check(name, grad)


def test_gradients_that_were_there_stay() -> None:
    module, x = MLP(), torch.randn(8, 128)
    compiled = wb.aot_compile(module, (x,), grad=True)
    before = [torch.ones_like(parameter) for parameter in module.parameters()]
    for parameter, gradient in zip(module.parameters(), before, strict=True):
        parameter.grad = gradient
    compiled.memory().measure(x)
    assert all(p.grad is g for p, g in zip(module.parameters(), before, strict=True))
    assert all(bool((g == 1).all()) for g in before)


def test_nothing_is_measured_for_a_gpu_that_is_not_here() -> None:
    compiled = wb.aot_compile(chain, (torch.randn(16, 16), torch.randn(16, 16)), target="h100")
    assert compiled.memory().peak > compiled.memory().base > 0
    with pytest.raises(wb.UsageError, match="memory is measured on the CPU only"):
        compiled.memory().measure(torch.randn(16, 16), torch.randn(16, 16))
