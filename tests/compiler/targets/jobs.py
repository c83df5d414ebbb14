"""Jobs for a worker, written as a call of `wb.aot_compile` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compiler.targets.gpus import H100
from workbench.compiler.request import Options
from workbench.compiler.targets.device import Device
from workbench.compiler.targets.messages import Job
from workbench.compiler.targets.shipping import Call, pack
from workbench.compiler.targets.surroundings import here
from workbench.compiler.torch_state import TorchState


def job(fn: Callable[..., Any], *args: Any, gpu: Device = H100, **options: Any) -> Job:
    call = Call(fn, args, {}, Options(**options), TorchState.current())
    return Job(gpu, pack(call, getattr(fn, "__name__", "module")), here())
