"""A request written for torch.compile is taken over; wrappers of other kinds are unwrapped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed
from torch._subclasses.fake_tensor import FakeTensorMode

import workbench as wb
from workbench.compiler.request.composition import choose_options, read_outer_options

X = torch.randn(4, 8)


def add(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1) * 2


def test_mode_dynamic_and_backend_of_torch_compile_are_taken_over() -> None:
    tuned = choose_options(torch.compile(add, mode="max-autotune", dynamic=False, fullgraph=True))
    assert (tuned.backend, tuned.mode, tuned.options) == ("inductor", "max-autotune", {})
    assert tuned.dynamic is False
    assert tuned.notes == (
        "unwrapped the result of torch.compile: takes over mode='max-autotune', dynamic=False",
    )
    assert choose_options(torch.compile(torch.nn.ReLU(), mode="reduce-overhead")).mode == (
        "reduce-overhead"
    )
    chosen = choose_options(torch.compile(add, options={"epilogue_fusion": False}))
    assert chosen.options == {"epilogue_fusion": False}
    assert "allowed graph breaks" in chosen.notes[-1]
    assert read_outer_options(add) is None


def test_what_is_given_here_wins_and_is_said() -> None:
    asked = choose_options(torch.compile(add, mode="max-autotune", dynamic=True), mode="default")
    assert (asked.mode, asked.options, asked.dynamic) == ("default", {}, True)
    assert "replace mode='max-autotune'" in asked.notes[1]
    eager = choose_options(torch.compile(add, mode="reduce-overhead"), backend="eager")
    assert (eager.backend, eager.mode) == ("eager", None)
    with pytest.raises(wb.UsageError, match="pass only one of them"):
        choose_options(add, dynamic=True, dynamic_shapes={"x": {0: torch.export.Dim.AUTO}})


def test_a_decorated_function_is_compiled_as_its_decorator_says() -> None:
    @torch.compile(backend="eager", dynamic=True)
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0]

    compiled = wb.aot_compile(decorated, (X,))
    asked = compiled.report.request
    assert asked.backend == "eager"
    assert asked.dynamic_shapes == "every size"
    assert "takes over backend='eager', dynamic=True" in asked.notes[0]
    other = torch.randn(6, 5)
    torch.testing.assert_close(compiled(other), other * 6)


def test_a_module_wrapped_for_data_parallelism_is_unwrapped(tmp_path: Path) -> None:
    model = torch.nn.Linear(8, 2)
    store = f"file://{tmp_path}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        compiled = wb.aot_compile(wrapped, (X,), backend="eager")
        torch.testing.assert_close(compiled(X), model(X))
    finally:
        torch.distributed.destroy_process_group()
    notes = " ".join(compiled.report.request.notes)
    assert "unwrapped DistributedDataParallel" in notes
    assert "DistributedDataParallel's hooks all-reduce 72 B of gradients in 1 bucket" in notes
    assert compiled.module is model


def test_fake_inputs_compile_for_real_ones() -> None:
    with FakeTensorMode():
        fake = torch.empty(4, 8)
    compiled = wb.aot_compile(add, (fake,), backend="eager")
    torch.testing.assert_close(compiled(X), add(X))
    assert compiled.report.request.inputs == ("x: float32 [4, 8] on cpu",)


def test_a_mode_of_fake_tensors_around_the_compilation_stays_outside() -> None:
    with FakeTensorMode():
        compiled = wb.aot_compile(add, (torch.empty(4, 8),), backend="eager")
        assert type(torch.empty(1)) is not torch.Tensor  # the mode is back
    torch.testing.assert_close(compiled(X), add(X))
