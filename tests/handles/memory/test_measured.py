"""What is counted from a program, beside what torch's profiler sees of a call."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.handles.memory.programs import MLP, PROGRAMS, SCRATCH, TRAINED, chain

SAMPLE = [("mlp", True), ("sort", False)]
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


@pytest.mark.slow
def test_a_step_with_its_program_in_cpp_is_as_the_profiler_sees_it() -> None:
    fn, args = PROGRAMS["mlp"]()
    found = wb.aot_compile(fn, args, grad=True, options={"cpp_wrapper": True}).memory()
    assert [row.scope for row in found.peaks] == ["forward", "backward", "step"]
    assert found.saved_bytes > 0
    assert found.measure(*args).error == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (torch.nn.Linear(5, 5), torch.randn(7, 5)),
        pytest.param(torch.nn.BatchNorm2d(5), torch.randn(3, 5, 7, 7), marks=pytest.mark.slow),
    ],
)
def test_what_is_measured_has_no_loss_of_its_own(layer: torch.nn.Module, x: torch.Tensor) -> None:
    found = wb.aot_compile(layer, (x,), grad=True).memory()
    assert found.measure(x).measured == found.peak - found.base


def test_gradients_that_were_there_stay() -> None:
    module, x = MLP(), torch.randn(8, 128)
    compiled = wb.aot_compile(module, (x,), grad=True)
    before = [torch.ones_like(parameter) for parameter in module.parameters()]
    for parameter, gradient in zip(module.parameters(), before, strict=True):
        parameter.grad = gradient
    compiled.memory().measure(x)
    assert all(p.grad is g for p, g in zip(module.parameters(), before, strict=True))
    assert all(bool((g == 1).all()) for g in before)


def test_gradients_of_what_a_function_reads_stay_too() -> None:
    weight = torch.randn(128, 8, requires_grad=True)
    weight.grad = before = torch.ones_like(weight)
    compiled = wb.aot_compile(lambda x: x @ weight, (torch.randn(4, 128),), grad=True)
    compiled.memory().measure(torch.randn(4, 128))
    assert weight.grad is before
    assert bool((before == 1).all())


@pytest.mark.slow
def test_a_part_called_module_is_not_taken_for_the_whole() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = torch.nn.Linear(8, 8)
            self.scale = torch.nn.Parameter(torch.ones(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.module(x) * self.scale

    outer = Outer()
    wb.aot_compile(outer, (torch.randn(4, 8),), grad=True).memory().measure(torch.randn(4, 8))
    assert [parameter.grad for parameter in outer.parameters()] == [None] * 3


def test_inputs_of_another_size_than_was_counted_are_refused() -> None:
    sizes = {"x": {0: torch.export.Dim("rows", min=2, max=512)}}
    x = torch.randn(64, 32)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) * 2

    found = wb.aot_compile(scaled, (x,), dynamic_shapes=sizes).memory()
    assert abs(found.measure(x).error) < 0.01
    with pytest.raises(wb.UsageError, match=r"x with 8.19 kB.* these inputs have different ones"):
        found.measure(torch.randn(65, 32))


@pytest.mark.slow
def test_nothing_is_measured_for_a_gpu_that_is_not_here() -> None:
    compiled = wb.aot_compile(chain, (torch.randn(16, 16), torch.randn(16, 16)), target="h100")
    assert compiled.memory().peak > compiled.memory().base > 0
    with pytest.raises(wb.UsageError, match="Memory is measured only on the CPU"):
        compiled.memory().measure(torch.randn(16, 16), torch.randn(16, 16))
