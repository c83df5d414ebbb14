"""Jobs for a worker, written as a call of `wb.aot_compile` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import pack_call
from workbench.compiler.virtual_gpu.worker_messages import Job
from workbench.processes.shipping.caller_context import CallerContext
from workbench.specs.device import Device


def job(fn: Callable[..., Any], *args: Any, gpu: Device = H100, **options: Any) -> Job:
    request = CompileRequest(fn, args, options=CompileOptions(**options))
    return Job(gpu, pack_call(request, getattr(fn, "__name__", "module")), CallerContext.current())
