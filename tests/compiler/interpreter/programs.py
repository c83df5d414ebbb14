"""Compiles a case for a virtual GPU and verifies its program."""

from __future__ import annotations

from typing import Any

import torch

from tests.compiler.virtual_gpu.gpus import H100
from tests.compiler.virtual_gpu.model_cases import CASES
from workbench.compiler.comparison.output_comparison import Verification
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.interpreter.verification import Question, verify_program
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu


def compiled_case(name: str, worker: CrossCompiler) -> tuple[CrossCompiled, tuple[Any, ...]]:
    torch.manual_seed(0)
    case = CASES[name]
    fn, args = case.make()
    if isinstance(fn, torch.nn.Module):
        with torch.no_grad():  # a bias of zeros would hide what is done with it
            for tensor in fn.parameters():
                tensor.add_(torch.randn_like(tensor), alpha=0.05)
    settings: dict[str, Any] = {"options": dict(case.inductor), **case.options}
    return compile_for_gpu(
        CompileRequest(fn, args, options=CompileOptions(**settings)), H100.spec, worker=worker
    ), args


def verified(
    compiled: CrossCompiled,
    args: tuple[Any, ...],
    interpreter: Interpreter,
    **question: Any,
) -> Verification:
    asked = Question(args, **question)
    return verify_program(compiled.program, compiled.original, asked, interpreter)
