"""Torch believes in a GPU while it is told so, and in nothing afterwards."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest
import torch
import triton

from tests.compiler.virtual_gpu.gpus import H100, MI300X
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
from workbench.handles.compiled_module import make_compiled
from workbench.specs.device import Device


def first(choice: Any, position: int) -> float:
    return float(position)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * 2, -1)


def beliefs() -> dict[str, Any]:
    """Everything that a virtual GPU replaces, and what follows from it."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    registry = "_ZN3c104impl26device_guard_impl_registryE"
    guards = (ctypes.c_void_p * 21).in_dll(library, registry)
    tp.DEVICE_INTERFACE_OF.get()("cpu")
    replaced = (
        *(tp.CUDA_LAZY_INIT, tp.CUDA_DEVICE_GUARD, tp.CUDA_ALLOCATOR_ENABLED, tp.SM_CARVEOUT),
        *(*tp.CUDA_DEVICE_SWITCHES, *tp.CUDA_INDEX_CALLS, tp.AVOID_DEVICE_INIT),
        *(tp.SET_DRIVER_TO_GPU, tp.AUTOTUNER_PRECOMPILE, tp.TEMPLATE_PRECOMPILE, tp.MAKE_LAUNCHERS),
        *(
            tp.SHOULD_PAD,
            tp.MAX_CLOCK_RATE,
            tp.MAKE_BENCHMARK_FN,
            tp.UNIFORM_VALUE,
            tp.AUTOTUNE_LOOKUP,
        ),
    )
    return {
        "torch.cuda": dict(vars(torch.cuda)),
        "version": (torch.version.cuda, torch.version.hip),
        "names": [row.find() for row in replaced],
        "interfaces": dict(tp.DEVICE_INTERFACES.get()),
        "worker": (dict(tp.WORKER_PROPERTIES.get()), dict(tp.WORKER_DEVICES.get())),
        "driver": triton.runtime.driver._active,
        "guards": list(guards),
        "threads": tp.INDUCTOR_CONFIG.get().compile_threads,
        "has triton": tp.DEVICE_CACHES[0].get()(),
    }


def compile_for(gpu: Device) -> Any:
    with enter_virtual_gpu(gpu, first):
        mode = tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()())
        with mode:
            x = torch.empty(64, 128, device="cuda")
            return compile_ahead(CompileRequest(softmax, (x,))).report


def test_two_gpus_in_turn_and_the_cpu_between_them() -> None:
    x = torch.randn(16, 128)
    if torch.version.cuda:  # such a build sets a guard of its own, once, when torch traces
        torch._C._ensureCUDADeviceGuardSet()
    before = beliefs()
    for gpu in (H100, MI300X):
        kernel = next(iter(compile_for(gpu).kernels))
        assert kernel.language == "triton"
        assert beliefs() == before
        compiled = compile_ahead(CompileRequest(softmax, (x,)))
        assert [kernel.language for kernel in compiled.report.kernels] == ["cpp"]
        torch.testing.assert_close(make_compiled(compiled)(x), softmax(x))
    with pytest.raises((RuntimeError, AssertionError)):
        torch.empty(3, device="cuda")


def test_questions_are_answered_for_the_gpu() -> None:
    with enter_virtual_gpu(H100, first):
        assert torch.cuda.is_available()
        assert torch.cuda.get_device_capability() == (9, 0)
        assert torch.cuda.get_device_name() == "NVIDIA H100 80GB HBM3"
        assert torch.cuda.get_device_properties(0).multi_processor_count == 132
        assert tp.DEVICE_CACHES[0].get()()


def test_several_are_in_a_node() -> None:
    with enter_virtual_gpu(H100, first, count=8):
        assert torch.cuda.device_count() == 8
        answers = (torch.cuda.synchronize, torch.cuda.set_device, torch.cuda.empty_cache)
        assert len(set(answers)) == 3  # Dynamo has one rule for one function of torch


def test_it_is_undone_after_an_error() -> None:
    before = beliefs()
    with pytest.raises(ZeroDivisionError), enter_virtual_gpu(H100, first):
        raise ZeroDivisionError
    assert beliefs() == before
