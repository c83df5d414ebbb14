"""A virtual GPU: torch's and Triton's real compilers run for it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.machine_code.device import Device
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.compiler.virtual_gpu.device.early_kernels import EarlyKernels
from workbench.compiler.virtual_gpu.device.fake_cuda_api import drive, patch_cuda_api
from workbench.compiler.virtual_gpu.device.inductor_offline import Rank, compile_offline
from workbench.errors import TorchNameMissing

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_CUDA, _META = 1, 14  # c10/core/DeviceType.h
_SLOTS = 21
_TRITON_FOLDER = "TRITON_CACHE_DIR"


def _guard_with_nothing(process_patches: ProcessPatches) -> None:
    """Guard the device by the hooks' own guard where they are loaded, else by that of meta.

    Indexing, modules made on the device and autograd ask for the C++ guard, which a build without
    CUDA lacks. That of meta is enough for everything but autograd, which needs the hooks.
    """
    slots = _slots()
    process_patches.callback(slots.__setitem__, _CUDA, slots[_CUDA])
    own = native_hooks.guard()
    slots[_CUDA] = slots[_META] if own is None else own


def _keep_constants(process_patches: ProcessPatches) -> None:
    """Have constants that a function makes on the device lie on the CPU while it is captured.

    Torch computes those of one element or none, as `torch.tensor(1.0, device="cuda")`, at once,
    and Inductor makes the zero that a product with 0 becomes.
    """
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    process_patches.callback(library._destroy)

    def empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> torch.Tensor:
        return torch.empty_strided(size, stride, dtype=dtype)

    def empty(size: Any, *, dtype: Any = None, **_: Any) -> torch.Tensor:
        return torch.empty(size, dtype=dtype)

    library.impl("empty_strided", empty_strided, "CUDA")
    library.impl("empty.memory_format", empty, "CUDA")


def _slots() -> ctypes.Array[ctypes.c_void_p]:
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        return (ctypes.c_void_p * _SLOTS).in_dll(ctypes.CDLL(str(library)), _REGISTRY)
    except (OSError, ValueError) as error:
        raise TorchNameMissing(
            f"torch {torch.__version__} has no c10::impl::device_guard_impl_registry, which a "
            "virtual GPU needs. Checked on torch 2.11 to 2.15: use one of them, or report this one."
        ) from error


@contextmanager
def enter_virtual_gpu(gpu: Device, rank: Rank) -> Iterator[EarlyKernels]:
    """Make this process believe that `gpu` is its only CUDA device, until it is left.

    Everything can be compiled for it and nothing can run on it. It holds for the whole process
    and all its threads: enter it in a worker, not beside a user's work. What it gives compiles
    kernels in threads of its own.
    """
    with ProcessPatches() as process_patches:
        _forget()
        process_patches.callback(_forget)
        patch_cuda_api(gpu, process_patches)
        drive(gpu, process_patches)
        early = compile_offline(process_patches, gpu, rank)
        _guard_with_nothing(process_patches)
        _keep_constants(process_patches)
        # attention kernels are chosen by the device: the hooks know how, torch for the CPU does not
        capability = gpu.spec.major * 10 + gpu.spec.minor
        if native_hooks.choose_attention(capability, has_aotriton=bool(gpu.kind.attention)):
            process_patches.callback(partial(native_hooks.choose_attention, 0, has_aotriton=False))
        process_patches.callback(partial(_name_cache_folder, os.environ.get(_TRITON_FOLDER)))
        yield early


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
