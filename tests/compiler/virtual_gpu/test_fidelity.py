"""What may be different on the device is said, with the line of the user where there is one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu.client import CrossCompiler


def named_devices(x: Tensor) -> Tensor:
    steps = torch.arange(4, device="cpu")
    return x.cuda() + steps.sum().item()


def product(a: Tensor, b: Tensor) -> Tensor:
    return (a @ b).sum(-1)


def topics(worker: CrossCompiler, fn: Any, *args: Tensor, **options: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in worker.compiled(job(fn, *args, **options)).report.fidelity:
        found.setdefault(row.topic, []).append(row)
    return found


def test_lines_that_name_a_device_are_listed(worker: CrossCompiler) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        rows = topics(worker, named_devices, torch.randn(4))["device"]
    first = named_devices.__code__.co_firstlineno
    assert {row.line for row in rows} == {first + 1, first + 2}
    assert all(row.file.endswith("test_fidelity.py") for row in rows)
    assert any(".cuda() names a device" in row.text for row in rows)


@pytest.mark.parametrize(
    ("inductor", "expected"),
    [
        ({}, {"padding"}),
        pytest.param(
            {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"},
            {"templates"},
            marks=pytest.mark.slow,
        ),
        ({"triton.cudagraphs": True}, {"CUDA graphs"}),
    ],
)
def test_decisions_of_the_device_are_listed(
    worker: CrossCompiler, inductor: dict[str, Any], expected: set[str]
) -> None:
    found = topics(worker, product, torch.randn(64, 64), torch.randn(64, 64), options=inductor)
    assert expected <= set(found)


def test_nothing_is_listed_where_nothing_differs(worker: CrossCompiler) -> None:
    assert topics(worker, torch.sin, torch.randn(3)) == {}


def between(x: Tensor) -> Tensor:
    doubled = x.relu() * 2
    there = doubled.cpu().sin()
    return there.to(x.device).sum(-1) + doubled.sum(-1)


def test_the_parts_that_cuda_graphs_replace_are_counted(worker: CrossCompiler) -> None:
    graphs = {"triton.cudagraphs": True}
    (row,) = topics(worker, between, torch.randn(64, 64), options=graphs)["CUDA graphs"]
    assert "the 2 parts of the program" in row.text
    (row,) = topics(worker, product, torch.randn(8, 8), torch.randn(8, 8), options=graphs)[
        "CUDA graphs"
    ]
    assert "the part of the program" in row.text
