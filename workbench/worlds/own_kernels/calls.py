"""Kernels that you wrote: compiled for any GPU, checked, explained and tuned without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel


__all__ = ["kernel"]


@require_torch
@checked
def kernel(
    fn: Any, /, *args: Any, grid: Any = None, target: str = "h100", **meta: Any
) -> OwnKernel:
    """Describe a Triton or Gluon kernel call, so it can be compiled, checked and tuned.

    Pass the launch arguments, with the grid as a keyword: `add[(4,)](x, y, out, n, BLOCK=256)`
    becomes `wb.kernel(add, x, y, out, n, grid=(4,), BLOCK=256)`. Compilation and execution are lazy
    and need no GPU. As in Triton, the kernel is specialized for the call's argument types, the
    divisibility of its sizes by 16 and its tensor alignment.

    Parameters
    ----------
    fn
        A `@triton.jit` or `@gluon.jit` kernel, optionally with `@triton.autotune` and
        `@triton.heuristics`. For a `@helion.kernel`, the generated Triton code is used, and no grid
        is needed. Select its configuration with `config=`, which defaults to the first one.
    args
        Tensors, tensor descriptors and numbers. Meta tensors have no values, so a call with them
        can be compiled but not run.
    grid
        A tuple of 1 to 3 sizes, or a function that returns such a tuple from the argument values.
    target
        A GPU name from `targets()`.
    meta
        Keyword arguments, `tl.constexpr` values, and Triton options such as `num_warps`.

    Raises
    ------
    UsageError
        `fn` is not a kernel, an argument is missing or unknown, the grid is invalid, or the GPU is
        unknown.

    Examples
    --------
    >>> from kernels import add  # a kernel of Triton: out[i] = x[i] + y[i]
    >>> out = torch.empty_like(x)
    >>> k = wb.kernel(add, x, x, out, x.numel(), grid=(16,), BLOCK=256)
    >>> k.name
    'add'
    """
    from workbench.compiler.kernels.helion_kernels import is_helion, read_helion
    from workbench.compiler.kernels.kernel_call import KernelCall
    from workbench.compiler.request.compile_request import list_known_gpus
    from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

    gpu = list_known_gpus()[target]
    if is_helion(fn):
        return OwnKernel(read_helion(fn, args, meta), gpu)
    return OwnKernel(KernelCall.of(fn, args, grid, meta), gpu)
