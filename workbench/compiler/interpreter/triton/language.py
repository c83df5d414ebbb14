"""Has Triton's language compute with batches of programs, for the life of this process."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter as stock

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.triton.block_builder import BlockBuilder
from workbench.compiler.interpreter.triton.device_library import DeviceLibrary
from workbench.compiler.interpreter.triton.reductions import reduce, scan


class DivergentError(Exception):
    """Programs of one batch want to go different ways; `values` has one for each of them."""

    def __init__(self, values: Any):
        super().__init__("the programs of a batch go different ways")
        self.values = values


def install() -> BlockBuilder:
    """Replace the operators of Triton's interpreter; nothing of it is undone.

    The process must have been started for interpreting (TRITON_INTERPRET=1): Triton's own
    functions are made for one or the other when it is imported.
    """
    builder = BlockBuilder()
    stock.interpreter_builder = builder
    stock.interpreter_semantic = TritonSemantic(builder)
    stock._patch_lang(_uses_language)
    for module in (tl, tl.core):
        module.reduce, module.associative_scan = reduce, scan
    tensor: Any = tl.core.tensor
    # Triton's own code asks for the truth of a tensor to see whether there is one
    tensor.__bool__ = lambda self: self.type.is_block() or bool(_one(self))
    tensor.__index__ = lambda self: int(_one(self))
    tensor.__int__ = lambda self: int(_one(self))
    tensor.__float__ = lambda self: float(_one(self))
    tensor.T = property(_transposed)
    stock.InterpretedFunction.__call__ = _call
    library = DeviceLibrary("libdevice")
    tl.extra.libdevice = library
    for row in (tp.TRITON_HELPERS, tp.TRITON_COMPAT):
        row.get().libdevice = library
    tp.TRITON_HELPERS.get().set_driver_to_gpu = _nothing  # kernels call it when they are imported
    for name in [name for name in sys.modules if name.endswith(".libdevice")]:
        sys.modules[name] = library
    return builder


def _uses_language() -> None:
    """Stands for a kernel: the functions of the modules that it sees are replaced."""


_uses_language.__globals__["core"] = tl.core


def _nothing() -> None:
    """There is no driver."""


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of Triton's language from another one."""
    return self.rewrite()(*args, **kwargs)


def _one(tensor: Any) -> Any:
    """The value that all programs agree on."""
    data = tensor.handle.data
    if data.size != len(data):
        raise TypeError("a block is no index")
    values = data.reshape(-1)
    if np.all(values == values[0]):
        return values[0]
    raise DivergentError(values)


def _transposed(tensor: Any) -> Any:
    shape = list(tensor.shape)
    shape[-1], shape[-2] = shape[-2], shape[-1]
    data = np.swapaxes(tensor.handle.data, -1, -2)
    held = stock.TensorHandle(data, tensor.handle.dtype)
    return tl.core.tensor(held, tl.block_type(tensor.dtype, shape))


def annotated_constants(function: Any) -> list[str]:
    """The parameters of a kernel that are constants of the compilation."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if "constexpr" in str(p.annotation)]
