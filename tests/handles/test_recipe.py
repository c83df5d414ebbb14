"""What was compiled can be compiled again, and no input is kept alive for that."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError
from workbench.handles.base.compiled_base import Recipe
from workbench.handles.compiling.dispatch import build_recipe
from workbench.handles.recompilable import Retarget
from workbench.report import Report, Request


def double(x: torch.Tensor, *, scale: int = 2) -> torch.Tensor:
    return (x * scale).relu()


def recipe(*args: Any, **kwargs: Any) -> Recipe:
    return build_recipe(CompileRequest(double, args, kwargs))


def test_inputs_that_are_alive_are_used_again() -> None:
    x, y = torch.rand(3), torch.rand(2)
    kept = recipe(x, [y, {"again": x}], scale=3)
    (a, (b, inner)), kwargs = kept.inputs()
    assert a is x
    assert b is y
    assert inner["again"] is x
    assert kwargs == {"scale": 3}


def test_no_input_is_kept_alive() -> None:
    x = torch.rand(4)
    alive = weakref.ref(x)
    kept = recipe(x)
    del x
    gc.collect()
    assert alive() is None
    assert kept.inputs()[0][0].shape == (4,)


def test_zeros_like_it_take_the_place_of_an_input_that_is_gone() -> None:
    kept = recipe(
        torch.rand(4, 6).t().requires_grad_(),
        torch.nn.Parameter(torch.ones(2), requires_grad=False),
        torch.arange(3),
    )
    gc.collect()
    (x, weight, index), _ = kept.inputs()
    assert (x.shape, x.stride(), x.requires_grad) == ((6, 4), (1, 6), True)
    assert isinstance(weight, torch.nn.Parameter)
    assert not weight.requires_grad
    assert index.dtype == torch.int64
    assert index.tolist() == [0, 0, 0]


def test_one_tensor_at_two_places_stays_one() -> None:
    x = torch.rand(4)
    kept = recipe(x, (x,))
    del x
    gc.collect()
    (a, (b,)), _ = kept.inputs()
    assert a is b


def test_a_size_that_may_change_stays_so() -> None:
    x = torch.rand(8, 2)
    torch._dynamo.mark_dynamic(x, 0)
    kept = recipe(x)
    del x
    gc.collect()
    assert kept.inputs()[0][0]._dynamo_dynamic_indices == {0}


def test_a_tensor_of_a_kind_of_its_own_that_is_gone_is_named() -> None:
    kept = recipe(torch.eye(3).to_sparse())
    gc.collect()
    with pytest.raises(UsageError, match=r"args\[0\] is gone.*Run the cell again"):
        kept.inputs()


def test_the_modes_of_torch_are_those_of_the_first_time() -> None:
    x = torch.rand(3, requires_grad=True)
    with torch.no_grad():
        compiled = wb.aot_compile(double, (x,), backend="eager", capture="light")
    assert compiled.recipe is not None
    again = compiled.recipe.compile("cpu")
    assert again.report.request.grad is False
    assert again.target == "cpu"


def test_what_was_compiled_can_be_asked_for_another_target() -> None:
    compiled = wb.aot_compile(double, (torch.rand(3),), backend="eager", capture="light")
    other = compiled.on("cpu")
    assert other.target == "cpu"
    assert compiled.on("cpu") is other
    assert compiled.on("host") is compiled


def plain_double(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu()


@pytest.fixture(scope="module")
def retarget() -> Retarget:
    compiled = wb.aot_compile(plain_double, (torch.rand(64),), backend="inductor", target="a100")
    return compiled.retarget


def test_another_gpu_takes_its_place(retarget: Retarget) -> None:
    job = retarget.start("t4")
    made = job.result(120)
    assert made.target == "t4"
    assert retarget.on("t4") is made
    assert made.report.request.name == "plain_double"
    assert "backend_compile" in [step["name"] for step in job.progress["steps"]]
    assert job.progress["kernels"]


def test_gpus_are_compared(retarget: Retarget) -> None:
    job = retarget.compare(["t4", "h100"])
    matrix = job.result(120)
    assert matrix.targets == ("t4", "h100")
    assert len(matrix.report.matrix) == 2
    counted = [step["counted"] for step in job.progress["steps"] if "counted" in step]
    assert counted == ["2 of 2 kernels"]


def test_code_for_a_cpu_is_compiled_for_the_first_gpu_before() -> None:
    here = build_recipe(CompileRequest(plain_double, (torch.rand(64),)))
    on_cpu = SimpleNamespace(report=Report(request=Request(name="plain_double", target="host")))
    retarget = Retarget(on_cpu, here)
    matrix = retarget.compare(["t4", "a100"]).result(120)
    assert matrix.report.request.target == "t4"
    assert len(matrix.report.matrix) == 2
    assert retarget.on("t4").report.request.target == "t4"


def test_what_is_no_gpu_is_refused_before_anything_runs(retarget: Retarget) -> None:
    with pytest.raises(UsageError, match="'host' is not one"):
        retarget.compare(["host", "h100"])
    with pytest.raises(UsageError, match="h1000"):
        retarget.start("h1000")


def test_the_targets_begin_with_this_machine(retarget: Retarget) -> None:
    assert retarget.names[0] == "host"
    assert {"h100", "b200", "mi300x"} <= set(retarget.names)
    assert retarget.why_not is None


def test_what_came_from_a_file_says_what_to_type(retarget: Retarget) -> None:
    other = Retarget(retarget.on("a100"), None)
    assert "wb.aot_compile(fn, args, target=NAME)" in (other.why_not or "")
    with pytest.raises(UsageError, match="loaded from a file"):
        other.start("t4")
