"""Has Triton's language and its device library compute with batches of programs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter as stock
from triton.runtime.interpreter import _get_np_dtype

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.triton.batched_builder import BatchedBuilder
from workbench.compiler.interpreter.triton.kernel_logic import install_logic
from workbench.compiler.interpreter.triton.reductions import (
    DivergentError,
    reduce,
    scan,
    tensor_of,
)

Array = np.ndarray[Any, Any]
Function = Callable[..., Array]


def _by_torch(function: Callable[..., torch.Tensor]) -> Function:
    def apply(*parts: Array) -> Array:
        same = np.broadcast_arrays(*parts)
        tensor = function(*(torch.from_numpy(np.array(part)) for part in same))
        values: Array = tensor.numpy()
        return values

    return apply


def _in_double(function: Function) -> Function:
    """Computed in double precision and rounded, where float32 would lose digits on the way."""

    def apply(*parts: Array) -> Array:
        values: Array = function(*(part.astype(np.float64) for part in parts))
        return values

    return apply


def _rounded(values: Array) -> Array:
    """Half away from zero, as C does; numpy rounds half to even."""
    away: Array = np.where(
        np.abs(values - np.trunc(values)) < 0.5,
        np.trunc(values),
        np.trunc(values) + np.copysign(1, values),
    )
    return away


_SPECIAL = torch.special
_VALUES: dict[str, Function] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": _in_double(lambda v: 10.0**v),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "cbrt": np.cbrt,
    "rsqrt": _in_double(lambda v: 1 / np.sqrt(v)),
    "rcp64h": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sinpi": _in_double(lambda v: np.sin(np.pi * v)),
    "cospi": _in_double(lambda v: np.cos(np.pi * v)),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": _rounded,
    "rint": np.rint,
    "nearbyint": np.rint,
    "abs": np.abs,
    "fabs": np.abs,
    "pow": np.power,
    "fmod": np.fmod,
    "remainder": np.remainder,
    "copysign": np.copysign,
    "hypot": np.hypot,
    "nextafter": np.nextafter,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "fdim": lambda a, b: np.where(a > b, a - b, np.zeros_like(a)),
    "ldexp": lambda v, n: np.ldexp(v, n.astype(np.int64)),
    "div_rn": np.divide,
    "add_rn": np.add,
    "sub_rn": np.subtract,
    "mul_rn": np.multiply,
    "fast_dividef": np.divide,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_tanhf": np.tanh,
    "fast_exp": np.exp,
    "fast_tanh": np.tanh,
    "fma": _in_double(lambda a, b, c: a * b + c),
    "fma_rn": _in_double(lambda a, b, c: a * b + c),
    "erf": _by_torch(torch.erf),
    "erfc": _by_torch(torch.erfc),
    "erfinv": _by_torch(torch.erfinv),
    "lgamma": _by_torch(torch.lgamma),
    "normcdf": _by_torch(_SPECIAL.ndtr),
    "normcdfinv": _by_torch(_SPECIAL.ndtri),
    "erfcx": _by_torch(_SPECIAL.erfcx),
    "j0": _by_torch(_SPECIAL.bessel_j0),
    "j1": _by_torch(_SPECIAL.bessel_j1),
    "y0": _by_torch(_SPECIAL.bessel_y0),
    "y1": _by_torch(_SPECIAL.bessel_y1),
    "cyl_bessel_i0": _by_torch(_SPECIAL.i0),
    "cyl_bessel_i1": _by_torch(_SPECIAL.i1),
    "tgamma": _in_double(_by_torch(lambda v: torch.exp(torch.lgamma(v)))),
}
_OTHERS: dict[str, tuple[Function, Any]] = {
    "isnan": (np.isnan, tl.int32),
    "isinf": (np.isinf, tl.int32),
    "isfinited": (np.isfinite, tl.int32),
    "finitef": (np.isfinite, tl.int32),
    "signbit": (np.signbit, tl.int32),
    "signbitf": (np.signbit, tl.int32),
    "signbitd": (np.signbit, tl.int32),
    "ilogb": (lambda v: np.frexp(v)[1] - 1, tl.int32),
    "llrint": (np.rint, tl.int64),
    "llround": (_rounded, tl.int64),
    "popc": (lambda v: np.bitwise_count(v), tl.int32),
    "ffs": (lambda v: np.frexp((v & -v).astype(np.float64))[1], tl.int32),
    "clz": (
        lambda v: 8 * v.itemsize - np.frexp(v.view(f"u{v.itemsize}").astype(float))[1],
        tl.int32,
    ),
}


class DeviceLibrary(ModuleType):
    """Stands for the module `libdevice`; a function that it lacks is named when it is called.

    Triton's interpreter has none of CUDA's and AMD's functions. Each takes and gives the number
    format of its arguments, as the library does; float16 and bfloat16 never reach it.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OTHERS:
            return _called(*_OTHERS[name])
        if name in _VALUES:
            return _called(_VALUES[name], None)
        raise NotImplementedError(f"libdevice.{name} cannot be computed on the CPU")


def _called(function: Function, gives: Any) -> Callable[..., Any]:
    def call(*args: Any, **_: Any) -> Any:
        tensors = [arg for arg in args if isinstance(arg, tl.core.tensor)]
        widest = max(tensors, key=lambda tensor: len(tensor.shape))
        dtype = widest.dtype.scalar
        number = _get_np_dtype(dtype)
        rank = widest.handle.data.ndim
        parts = [_array(arg, number, rank) for arg in args]
        return tensor_of(function(*parts), dtype if gives is None else gives)

    return call


def _array(value: Any, number: np.dtype[Any], rank: int) -> Array:
    if not isinstance(value, tl.core.tensor):
        return np.full((1,) * rank, getattr(value, "value", value), dtype=number)
    data: Array = value.handle.data
    return data.reshape((len(data),) + (1,) * (rank - data.ndim) + data.shape[1:])


def install() -> BatchedBuilder:
    """Replace the operators of Triton's interpreter; nothing of it is undone.

    The process must have been started for interpreting (TRITON_INTERPRET=1): Triton's own
    functions are made for one or the other when it is imported.
    """
    builder = BatchedBuilder()
    stock.interpreter_builder = builder
    stock.interpreter_semantic = TritonSemantic(builder)
    stock._patch_lang(_uses_language)
    for module in (tl, tl.core):
        module.reduce, module.associative_scan = reduce, scan
    install_logic()
    tensor: Any = tl.core.tensor
    # Triton's own code asks for the truth of a tensor to see whether there is one
    tensor.__bool__ = lambda self: self.type.is_block() or bool(_one(self))
    tensor.__index__ = lambda self: int(_one(self))
    tensor.__int__ = lambda self: int(_one(self))
    tensor.__float__ = lambda self: float(_one(self))
    convert = stock._implicit_cvt  # it makes 32 bits of a bool, and refuses them for one
    stock._implicit_cvt = lambda value: (
        tensor_of(np.array([value]), tl.int1) if isinstance(value, bool) else convert(value)
    )
    tensor.T = property(lambda self: tensor_of(np.swapaxes(self.handle.data, -1, -2), self.dtype))
    # functions of Triton's language call one another
    stock.InterpretedFunction.__call__ = lambda self, *args, **named: self.rewrite()(*args, **named)
    library = DeviceLibrary("libdevice")
    import_module(f"{tl.extra.__name__}.libdevice")  # else a kernel would import it anew
    for row in (tp.TRITON_HELPERS, tp.TRITON_COMPAT):
        row.get().libdevice = library
    tp.TRITON_HELPERS.get().set_driver_to_gpu = lambda: None  # kernels call it on import
    for name in [name for name in sys.modules if name.endswith(".libdevice")]:
        sys.modules[name] = library
        package = name.rpartition(".")[0]
        # Triton's packages of backends exist twice: by name, and as attributes
        twin = getattr(tl.extra, package.rpartition(".")[2], tl.extra)
        for owner in (sys.modules[package], twin):
            vars(owner)["libdevice"] = library
    return builder


def _uses_language() -> None:
    """Stands for a kernel: the functions of the modules that it sees are replaced."""


_uses_language.__globals__["core"] = tl.core


def _one(tensor: Any) -> Any:
    """The value that all programs agree on."""
    data = tensor.handle.data
    if data.size != len(data):
        raise TypeError("a block of values cannot be used as an index")
    values = data.reshape(-1)
    if np.all(values == values[0]):
        return values[0]
    raise DivergentError(values)


def find_annotated_constants(function: Any) -> list[str]:
    """The parameters of a kernel that are constants of the compilation."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if "constexpr" in str(p.annotation)]
