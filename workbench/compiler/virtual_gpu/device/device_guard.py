"""The C++ device guard of CUDA, replaced by one that does nothing.

Indexing, modules made on the device and autograd ask for it; a build without CUDA has none.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

from workbench.compiler.internals.process_patches import ProcessPatches
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.errors import TorchNameMissing

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_CUDA, _META = 1, 14  # c10/core/DeviceType.h
_SLOTS = 21


def guard_with_nothing(process_patches: ProcessPatches) -> None:
    """Guard the device by the hooks' own guard where they are loaded, else by that of meta.

    The guard of meta is enough for everything but autograd, which needs the hooks.
    """
    slots = _slots()
    before = slots[_CUDA]
    own = native_hooks.guard()
    slots[_CUDA] = slots[_META] if own is None else own

    def restore() -> None:
        slots[_CUDA] = before

    process_patches.callback(restore)


def _slots() -> ctypes.Array[ctypes.c_void_p]:
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        return (ctypes.c_void_p * _SLOTS).in_dll(ctypes.CDLL(str(library)), _REGISTRY)
    except (OSError, ValueError) as error:
        raise TorchNameMissing(
            f"torch {torch.__version__} has no c10::impl::device_guard_impl_registry, which a "
            "virtual GPU needs. Checked on torch 2.13 to 2.15: use one of them, or report this one."
        ) from error
