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
    """Describe a call of a Triton or Gluon kernel, ready to be compiled, checked and tuned.

    Write it like the call itself: `add[(4,)](x, y, out, n, BLOCK=256)` is `wb.kernel(add, x, y,
    out, n, grid=(4,), BLOCK=256)`. Compiling and running are lazy; no GPU is needed. As in Triton,
    the kernel is specialized for the argument types, the divisibility of sizes by 16 and the tensor
    alignment of the call.

    Parameters
    ----------
    fn
        A `@triton.jit` or `@gluon.jit` kernel, optionally with `@triton.autotune` and
        `@triton.heuristics`. For a `@helion.kernel`, the generated Triton is used, with the
        configuration `config=` (default: its first one); it needs no grid.
    args
        Tensors, tensor descriptors and numbers. Tensors on meta have no values: such a call can be
        compiled but not run.
    grid
        A tuple of 1 to 3 sizes, or a function that takes the argument values and returns such a
        tuple.
    target
        A GPU name from `targets()`.
    meta
        Keyword arguments, values of `tl.constexpr` parameters, and Triton options such as
        `num_warps`.

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
