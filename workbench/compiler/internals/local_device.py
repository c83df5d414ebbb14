"""The GPU of this machine, where it has one: what code here asks of it, in one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from workbench.compiler.internals.patches import ProcessPatches
from workbench.device_kinds import AMD, GPU, NVIDIA, Vendor


def has_gpu() -> bool:
    """Whether torch can use a GPU here."""
    return torch.cuda.is_available()


def has_used_gpu() -> bool:
    """Whether this process has started one: to ask starts none."""
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def find_current_gpu() -> torch.device:
    """The one that new tensors are made on."""
    return torch.device(GPU, torch.cuda.current_device())


def read_vendor() -> Vendor:
    """Whose GPUs this build of torch is for."""
    return NVIDIA if torch.version.hip is None else AMD


def read_toolkit_release() -> str:
    """The release of CUDA that this build of torch is for."""
    return str(torch.version.cuda)


def read_properties() -> Any:
    """What the driver says of the current one."""
    return torch.cuda.get_device_properties(torch.cuda.current_device())


def wait_for_gpu(device: torch.device | None = None) -> None:
    """Wait until it has done everything that was started."""
    torch.cuda.synchronize(device)


def wait_where_used() -> None:
    """Wait for what a GPU still computes, where this process has started one."""
    if has_used_gpu():
        wait_for_gpu()


def seed_gpus(seed: int) -> None:
    """The same random numbers on every one."""
    torch.cuda.manual_seed_all(seed)


@contextmanager
def lend_generators() -> Iterator[None]:
    """Where there is no GPU, its generators are the CPU's until the block ends.

    torch asks for them before it calls a program with operators that are computed again.
    """
    with ProcessPatches() as patches:
        if not has_gpu():
            patches.attribute(torch.cuda, "default_generators", defaultdict(torch.Generator))
        yield


def mark_time() -> Any:
    """A mark in the current stream; `a.elapsed_time(b)` gives milliseconds between two passed."""
    event: Any = torch.cuda.Event  # without types
    mark = event(enable_timing=True)
    mark.record()
    return mark


def profile_activity() -> torch.profiler.profile:
    """A profile of what is done here and on the GPU; it is not started."""
    kinds = torch.profiler.ProfilerActivity
    # without acc_events torch 2.11 warns of events that are cleared
    return torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA], acc_events=True)


def find_stream(index: int | None) -> int:
    """The address of the current stream of the calling thread."""
    return int(torch.cuda.current_stream(index).cuda_stream)


def measure_gpu_peak(run: Callable[[], object]) -> int | None:
    """Bytes that one call takes at most, as the allocator counts; None where nothing is there."""
    if not torch.cuda.is_available() or torch.cuda.memory_allocated() == 0:
        return None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


def read_product_precision() -> str:
    """How the libraries of a GPU multiply float32: "none" and "ieee" are exact."""
    return str(torch.backends.cuda.matmul.fp32_precision)


def set_product_precision(precision: str) -> None:
    """Change that; nothing is set that is so already."""
    # "highest" is "none" or "ieee" for each backend, which guards tell apart since torch 2.15
    if torch.backends.cuda.matmul.fp32_precision != precision:
        torch.backends.cuda.matmul.fp32_precision = precision


_DROPPED = 13
_KEPT = -1 << _DROPPED
"""TF32 has 10 bits of mantissa in place of the 23 of float32.

Measured on an H200 (torch 2.11, Triton 3.6): `tl.dot` hands over the bits as they are, of which the
units read the upper ones, while cuBLAS rounds to the nearest, ties to even, before.
"""


def cut_to_tf32(value: torch.Tensor) -> torch.Tensor:
    """Operands of `tl.dot` as the units read them: cut off; what is no float32 stays as it is."""
    if value.dtype is not torch.float32:
        return value
    return (value.contiguous().view(torch.int32) & _KEPT).view(torch.float32)


def round_to_tf32(value: torch.Tensor) -> torch.Tensor:
    """Operands of a library's product as it rounds them; what is no float32 stays as it is."""
    if value.dtype is not torch.float32:
        return value
    bits = value.contiguous().view(torch.int32)
    even = (bits >> _DROPPED) & 1
    rounded = ((bits + ((1 << (_DROPPED - 1)) - 1) + even) & _KEPT).view(torch.float32)
    return torch.where(value.isfinite(), rounded, value)
