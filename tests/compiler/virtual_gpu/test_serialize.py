"""The worker sends the program back beside the report; what cannot be serialized says why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from tests.compiler.virtual_gpu.gpus import H100
from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.compiler.virtual_gpu.cross_compile import program_of


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1) * 2


def test_the_program_comes_back_with_the_report(worker: CrossCompiler) -> None:
    done = worker.compiled(job(scaled, torch.randn(16, 32)))
    assert isinstance(done.program, Program)
    assert done.program.contract["request"]["target"] == "h100"
    assert done.program.serialized.device == "cuda"
    assert b"cubin" in done.program.serialized.payload
    assert done.program.serialized.kernels == ()  # Triton's kernels lie in torch's own bytes


def test_what_cannot_be_frozen_says_why() -> None:
    compiled = compile_ahead(CompileRequest(scaled, (torch.randn(16, 32),)))
    broken: Any = SimpleNamespace(plan=compiled.plan, report=compiled.report, aot_fn=None)
    program = program_of(broken, H100.spec, {})
    assert isinstance(program, NoProgram)
    assert "cannot be serialized: AttributeError" in program.reason
