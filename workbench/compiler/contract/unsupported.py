"""Callables and inputs that no capture of torch takes, refused by name before one is tried."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from workbench.compiler.contract.paths import Path, leaves
from workbench.errors import UsageError

_NO_FUNCTION = (
    (
        inspect.isgeneratorfunction,
        "a generator function: its body runs while somebody iterates, so there is nothing to "
        "capture in the call. Compile a function that returns a list or a tuple of what it yields",
    ),
    (
        inspect.iscoroutinefunction,
        "a coroutine function: its body runs while somebody awaits it, so there is nothing to "
        "capture in the call. Compile a plain function, and call that from the coroutine",
    ),
    (
        inspect.isasyncgenfunction,
        "an asynchronous generator: there is nothing to capture in the call. Compile a plain "
        "function, and call that from it",
    ),
)


def check_function(function: Any, name: str) -> None:
    """Raise `UsageError` for a function whose body does not run when it is called."""
    for is_such, words in _NO_FUNCTION:
        if is_such(function):
            raise UsageError(f"{name} is {words}.")


def check_inputs(bound: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an input tensor that has no plain memory."""
    for name, value in bound.items():
        if isinstance(value, torch.nn.Module):
            continue
        for path, leaf in leaves(value, Path(name)):
            if isinstance(leaf, torch.Tensor) and (words := _why_not(leaf)):
                raise UsageError(f"{path} is {words}.")


def _why_not(tensor: torch.Tensor) -> str | None:
    if tensor.is_nested:
        return (
            "a nested tensor: the sizes of its parts are no numbers that a compiled call could "
            "check. Pass its values() and offsets() as tensors, and make the nested tensor inside"
        )
    if tensor.layout is not torch.strided:
        kind = str(tensor.layout).rpartition(".")[2].strip("_")
        return (
            f"a {kind} tensor: only dense tensors can be captured. Pass .to_dense(), or its "
            "indices and values as tensors of their own"
        )
    if tensor.is_quantized:
        return (
            "a quantized tensor of the old kind: it cannot be captured. Pass .dequantize(), or "
            "its int_repr() with scale and zero point"
        )
    return None
