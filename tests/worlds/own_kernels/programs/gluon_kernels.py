"""Kernels of Gluon, which say themselves where each element is held."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_transposed(x, out, M: gl.constexpr, N: gl.constexpr, SHARED: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tall: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    i = gl.arange(0, M, gl.SliceLayout(1, wide))
    j = gl.arange(0, N, gl.SliceLayout(0, wide))
    held = gl.allocate_shared_memory(
        gl.float32, [M, N], SHARED, gl.load(x + i[:, None] * N + j[None, :])
    )
    w = held.load(tall)
    a = gl.arange(0, M, gl.SliceLayout(1, tall))
    b = gl.arange(0, N, gl.SliceLayout(0, tall))
    gl.store(out + b[None, :] * M + a[:, None], w)


PLAIN = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
SWIZZLED = gl.SwizzledSharedLayout(4, 1, 16, [1, 0])
PADDED = gl.PaddedSharedLayout.with_identity_for([[64, 4]], [64, 64], [1, 0])


@gluon.jit
def aborting(x, SHARED: gl.constexpr):
    """Ends the process of Triton's compiler 3.7.1 by an assertion, for a padded layout."""
    tall: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    held = gl.allocate_shared_memory(gl.float32, [64, 64], SHARED)
    v = held.load(tall)
    conflicts: gl.constexpr = gl.bank_conflicts(v.type, held.type)
    gl.store(x, conflicts)
