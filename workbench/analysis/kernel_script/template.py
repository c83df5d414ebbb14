"""The fixed parts of a kernel's script."""

from __future__ import annotations

from string import Template

HEAD = Template('''"""Kernel $id, $name: $ops.
$besides
$how
It creates inputs, calls the kernel, compares the results with eager, and times both.
"""

import os
import sys
from math import inf, nan

import torch
import torch._inductor.inductor_prims  # noqa: F401  registers torch.ops.prims of Inductor

reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
DEVICE = $device
TOLERANCES = {  # rtol, atol; other dtypes must be equal
    torch.float16: (1e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}
ROUNDED = $rounded  # eager rounds intermediate values to it, the kernel may not

SOURCES = {
$sources}


def device(type, index=None):
    """The device of this script, in place of the graph's device."""
    return torch.device(type if type == "cpu" else DEVICE)


def drawn(shape, dtype, draw):
    """Random values; integers are 0 or 1, which are also valid indices."""
    if dtype.is_floating_point or dtype.is_complex:
        return draw(shape, device=DEVICE).to(dtype)
    return torch.randint(0, 2, shape, device=DEVICE).to(dtype)


def unwritten(shape, dtype):
    """The contents of an output before the kernel writes it."""
    is_inexact = dtype.is_floating_point or dtype.is_complex
    return torch.full(shape, nan if is_inexact else 0, device=DEVICE).to(dtype)


def strided(value, stride):
    """A copy of a value with these strides."""
    made = torch.empty_strided(value.shape, stride, dtype=value.dtype, device=DEVICE)
    once = tuple(slice(0, 1) if step == 0 else slice(None) for step in stride)
    made[once].copy_(value[once])
    return made

''')

BUILD_CPP = Template('''
TYPES = {
$types}


def build():
    """The kernels as Inductor builds them: with the C++ compiler of this machine."""
    from torch._inductor.async_compile import AsyncCompile

    compiler = AsyncCompile()
    kernels = {name: compiler.cpp_pybinding(TYPES[name], text) for name, text in SOURCES.items()}
    compiler.wait(kernels)
    return kernels

''')

BUILD_TRITON = Template('''
def build():
    """The kernels as Inductor builds them; on a CPU, as the interpreter of aot-workbench does."""
    if DEVICE == "cpu":
        from workbench.compiler.interpreter.triton.language import install

        builder = install()
$products        from workbench.compiler.interpreter.triton.triton_kernels import InterpretedKernel

        made = {name: InterpretedKernel(name, text, builder) for name, text in SOURCES.items()}
        return {name: lambda *args, own=own: own.run(args, {}) for name, own in made.items()}
    from torch._C import _cuda_getCurrentRawStream
    from torch._inductor.async_compile import AsyncCompile

    compiler = AsyncCompile()
    made = {name: compiler.triton(name, text, device_str="cuda") for name, text in SOURCES.items()}
    compiler.wait(made)
    stream = _cuda_getCurrentRawStream(0)
    return {
        name: lambda *args, own=own: own.run(*args, stream=stream) for name, own in made.items()
    }

''')

TAIL = '''
def agrees(name, got, expected, exact):
    """Whether they are the same but for rounding: as near to double precision as eager, or so."""
    expected, exact = (value.reshape(got.shape) for value in (expected, exact))
    wide = torch.complex128 if got.is_complex() else torch.float64
    a, b, c = got.to(wide), expected.to(wide), exact.to(wide)
    known = [TOLERANCES.get(each, (0.0, 0.0)) for each in (got.dtype, ROUNDED)]
    rtol, atol = max(known) if got.dtype in TOLERANCES else (0.0, 0.0)
    finite = b[b.isfinite()].abs()
    size = max(1.0, finite.square().mean().sqrt().item() if finite.numel() else 0.0)
    off = ~torch.isclose(a, b, rtol=rtol, atol=atol * size, equal_nan=True)
    if atol:
        off &= ~((a - c).abs() <= 4 * (b - c).abs().nan_to_num().max())
    count = int(off.sum())
    if count:
        most = (a - b).abs()[off].max().item()
        where = f"{count} of {got.numel()} values"
        print(f"{name} DISAGREES with eager in {where}, by up to {most:.3g}")
    else:
        print(f"{name} agrees with eager in all {got.numel()} values")
    return count == 0


def timed(call):
    """Median time in microseconds."""
    if DEVICE == "cuda":
        from triton.testing import do_bench

        return 1e3 * do_bench(call, return_mode="median")
    from torch.utils.benchmark import Timer

    return 1e6 * Timer("call()", globals={"call": call}).blocked_autorange(min_run_time=0.2).median


def main():
    kernels = build()
    for draw in (torch.randn, torch.rand):  # positive values where others give no numbers
        torch.manual_seed(0)
        tensors = inputs(draw)
        values = given(tensors)
        expected = eager(**{name: value.clone() for name, value in values.items()})
        wide = [v.double() if v.is_floating_point() else v for v in expected.values()]
        if all(value.isfinite().all() for value in wide):
            break
    doubles = {n: v.double() if v.is_floating_point() else v.clone() for n, v in values.items()}
    try:
        exact = eager(**doubles)
    except RuntimeError:  # an operator that has no form in double precision
        exact = expected
    call(kernels, **tensors)
    verdicts = [agrees(n, tensors[n], expected[n], exact[n]) for n in expected]
    if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") == "1":
        print("Not timed: the interpreter's time says nothing of a GPU")
    else:
        own, other = timed(lambda: call(kernels, **tensors)), timed(lambda: eager(**values))
        print(f"kernel {own:.1f} us, eager {other:.1f} us (medians on {DEVICE})")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
'''
