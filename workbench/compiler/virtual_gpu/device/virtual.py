"""A GPU that is not there: torch's and Triton's real compilers run for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.process_patches import ProcessPatches
from workbench.compiler.machine_code.device import Device
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.compiler.virtual_gpu.device.device_guard import guard_with_nothing
from workbench.compiler.virtual_gpu.device.fake_cuda_api import fake_cuda_api
from workbench.compiler.virtual_gpu.device.inductor_offline import Rank, compile_offline
from workbench.compiler.virtual_gpu.device.triton_driver import drive

_TRITON_FOLDER = "TRITON_CACHE_DIR"


@contextmanager
def virtual_gpu(gpu: Device, rank: Rank) -> Iterator[None]:
    """Make this process believe that `gpu` is its only CUDA device, until it is left.

    Everything can be compiled for it and nothing can run on it. It holds for the whole process
    and all its threads: enter it in a worker, not beside a user's work.
    """
    with ProcessPatches() as process_patches:
        _forget()
        process_patches.callback(_forget)
        fake_cuda_api(gpu, process_patches)
        drive(gpu, process_patches)
        compile_offline(process_patches, gpu, rank)
        guard_with_nothing(process_patches)
        _attend(gpu, process_patches)
        process_patches.callback(partial(_name_cache_folder, os.environ.get(_TRITON_FOLDER)))
        yield


def _attend(gpu: Device, process_patches: ProcessPatches) -> None:
    """Choose attention kernels by the device; the hooks know how, torch for the CPU does not."""
    capability = gpu.spec.major * 10 + gpu.spec.minor
    if native_hooks.choose_attention(capability, is_amd=gpu.is_amd):
        process_patches.callback(partial(native_hooks.choose_attention, 0, is_amd=False))


def _forget() -> None:
    """Empty every cache of answers about the device."""
    for row in tp.DEVICE_CACHES:
        clear = getattr(row.find(), "cache_clear", None)
        if clear is not None:
            clear()


def _name_cache_folder(folder: str | None) -> None:
    """As it was before Inductor's first Triton kernel, which names one for all that follow."""
    os.environ.pop(_TRITON_FOLDER, None)
    if folder is not None:
        os.environ[_TRITON_FOLDER] = folder
