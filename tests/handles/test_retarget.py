"""A compilation is made again for another target in the background, as a live view does it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import workbench as wb
from workbench.compiler.contract.request import CompileOptions
from workbench.errors import UsageError
from workbench.handles.dispatch import recipe_of
from workbench.handles.retarget import Retarget
from workbench.report import Report, Request


def double(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu()


@pytest.fixture(scope="module")
def retarget() -> Retarget:
    compiled = wb.aot_compile(double, (torch.rand(64),), backend="inductor", target="a100")
    return compiled.retarget


def test_another_gpu_takes_its_place(retarget: Retarget) -> None:
    job = retarget.start("t4")
    made = job.result(120)
    assert made.target == "t4"
    assert retarget.on("t4") is made
    assert made.report.request.name == "double"
    assert "backend_compile" in [step["name"] for step in job.progress["steps"]]
    assert job.progress["kernels"]


def test_gpus_are_compared(retarget: Retarget) -> None:
    job = retarget.compare(["t4", "h100"])
    matrix = job.result(120)
    assert matrix.targets == ("t4", "h100")
    assert len(matrix.report.matrix) == 2
    assert len(job.progress["kernels"]) == 2


def test_code_for_a_cpu_is_compiled_for_the_first_gpu_before() -> None:
    here = recipe_of(double, (torch.rand(64),), {}, CompileOptions())
    on_cpu = SimpleNamespace(report=Report(request=Request(name="double", target="host")))
    retarget = Retarget(on_cpu, here)
    assert retarget.first_for(["t4", "a100"]) == "t4"
    matrix = retarget.compare(["t4", "a100"]).result(120)
    assert matrix.report.request.target == "t4"
    assert len(matrix.report.matrix) == 2
    assert retarget.on("t4").report.request.target == "t4"


def test_what_is_no_gpu_is_refused_before_anything_runs(retarget: Retarget) -> None:
    with pytest.raises(UsageError, match="'host' is none"):
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
