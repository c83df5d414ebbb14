"""Kernels are compiled in threads while the program is generated, each once, errors included."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.machine_code.machine_code import MachineCodeRecorder
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
from workbench.errors import CaptureError
from workbench.report import Report


def rows_and_columns(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sin().sum(-1), x.exp().amax(0)


def compiled(length: int) -> Report:
    with tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()()):
        x = torch.empty(96, length, device="cuda")
        return compile_ahead(CompileRequest(rows_and_columns, (x,))).report


def test_every_kernel_is_compiled_once_in_one_of_the_threads() -> None:
    where: list[int] = []
    with enter_virtual_gpu(H100, lambda choice, n: float(n)) as early, Patches() as patches:
        patches.threads |= early.threads
        patches.observe(
            tp.AUTOTUNER_PRECOMPILE, "", before=lambda *_, **__: where.append(threading.get_ident())
        )
        with MachineCodeRecorder(H100, threads=early.threads) as recorder:
            report = recorder.added(compiled(1536))
    kernels = len(report.kernels)
    assert kernels == 2
    main = threading.get_ident()
    assert where.count(main) == kernels
    assert sum(thread in early.threads for thread in where) == kernels
    assert {row.kernel for row in report.resources} == {"k0", "k1"}
    configs = [(row.kernel, row.choice, row.warps) for row in report.resources]
    assert len(configs) == len(set(configs))


def test_what_the_thread_raises_fails_the_compilation() -> None:
    with enter_virtual_gpu(H100, lambda choice, n: float(n)) as early, Patches() as patches:
        patches.threads = set(early.threads)

        def failing(inner: Callable[..., Any]) -> Callable[..., Any]:
            def precompile(*args: Any, **kwargs: Any) -> None:
                raise ZeroDivisionError("while the assembler ran")

            return precompile

        patches.wrap(tp.AUTOTUNER_PRECOMPILE, failing)
        with pytest.raises(CaptureError, match="while the assembler ran"):
            compiled(2560)
