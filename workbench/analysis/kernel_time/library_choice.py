"""Which kernel a library will start, where nothing ran yet: the fastest of those that traces show.

A library has dozens of kernels for a product and takes one by rules of its own. Those that started
in the traces of a generation stand beside its parameters; the model takes the one that it tells the
least time for, with the sum over K in parts where that is faster. Over the traces such a choice is
off by little more than the kernel that was really taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from workbench.analysis.kernel_time.calibration import Calibration
from workbench.analysis.kernel_time.library_times import count_tiles, estimate_us
from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Gpu

_SPLITS = (2, 4, 8, 16)
_MOST_WAVES = 2  # of parts: more of them than fit at once help nobody
_SPLIT_SUM_US = 2.0
"""The kernel that adds up the parts: `splitKreduce_kernel` in traces of an H200."""
_VECTOR_BYTES = 16  # that every row has to begin at for a kernel of the own generation
_ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}  # of others 1
_OLDER = "sm_80"
_OLDER_TILES = ((128, 128, 32), (64, 64, 32), (256, 128, 32), (128, 64, 32))
"""Of CUTLASS, for rows that begin anywhere."""


@dataclass(frozen=True)
class Taken:
    """A kernel that a library is taken to start, and its time in µs; None where none is known.

    `is_known` says that kernels of its kind were in the traces.
    """

    kernel: LibraryKernel
    us: float | None
    is_known: bool


def choose_library_kernel(
    name: str, work: Work, gpu: Gpu, fit: Calibration, *, may_take_tf32: bool
) -> Taken:
    """The fastest of the kernels that a library is known to have for a product or convolution."""
    usual = LibraryKernel(name, "product", architecture=gpu.arch)
    if work.product is None or not work.is_matrix:
        return Taken(usual, estimate_us(usual, work, gpu, fit), is_known=True)
    best: Taken | None = None
    for kernel in _list_kernels(usual, work, gpu, fit, may_take_tf32=may_take_tf32):
        us = estimate_us(kernel, work, gpu, fit)
        if us is None:
            break
        us += _SPLIT_SUM_US if kernel.splits else 0.0
        if best is None or best.us is None or us < best.us:
            best = Taken(kernel, us, is_known=kernel.tile is not None)
    return best or Taken(usual, estimate_us(usual, work, gpu, fit), is_known=False)


def name_values(work: Work, *, has_units: bool) -> str:
    """Under which name a calibration has the kernels for such work."""
    values = "half" if work.dtype in ("float16", "bfloat16") else str(work.dtype)
    if work.dtype == "float32" and has_units:
        values = "tf32"
    return f"convolution_{values}" if work.channels is not None else values


def _list_kernels(
    usual: LibraryKernel, work: Work, gpu: Gpu, fit: Calibration, *, may_take_tf32: bool
) -> Iterator[LibraryKernel]:
    has_units = work.dtype != "float32" or may_take_tf32
    is_nvidia = gpu.arch.startswith("sm_")
    if not has_units:
        architecture = _OLDER if is_nvidia else gpu.arch
        usual = replace(usual, architecture=architecture, has_matrix_units=False)
    _, _, n, k = work.product or (1, 1, 1, 1)
    vector = _VECTOR_BYTES // _ITEM_BYTES.get(str(work.dtype), 1)
    aligned = gcd(n, k, vector)
    if is_nvidia and has_units and work.channels is None and aligned < vector:
        for tile in _OLDER_TILES:
            yield replace(usual, architecture=_OLDER, tile=tile, alignment=aligned)
        return
    names = fit.kernels.get(name_values(work, has_units=has_units), ())
    for name in names:
        candidate = replace(read_kernel_name(name), name=usual.name, splits=None, split_k=None)
        yield candidate
        tiles = count_tiles(candidate, work)
        for splits in _SPLITS if work.channels is None else ():
            if tiles * splits <= _MOST_WAVES * gpu.sms:
                yield replace(candidate, splits=splits, split_k=True)
    if not names:
        yield usual
