"""The memory of a compilation, with a measurement of it where it can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.memory.memory import Memory, memory
from workbench.compiler.contract.paths import Path, leaves
from workbench.compiler.measuring.allocations import allocated
from workbench.compiler.measuring.call_leaves import held_inputs, restored
from workbench.number_text import number_text

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled

_WARM = 2  # the first calls allocate what stays, such as the weights that oneDNN packs


@dataclass(frozen=True)
class MeasuredMemory:
    """What one call took at most, in bytes above its weights and inputs.

    `measured` is from torch's profiler, `counted` from the program's text, `eager` what the
    original took in the same way; None without one. With gradients a call is forward and backward.
    """

    counted: int
    measured: int
    eager: int | None

    @property
    def error(self) -> float:
        """By how much the count is off: −0.05 is 5 % too low."""
        return self.counted / self.measured - 1 if self.measured else 0.0

    def __str__(self) -> str:
        eager = f", eager {number_text(self.eager, 'bytes')}" if self.eager is not None else ""
        return (
            f"{number_text(self.measured, 'bytes')} measured above weights and inputs, "
            f"{number_text(self.counted, 'bytes')} counted ({self.error:+.1%}){eager}"
        )


def memory_of(compiled: Compiled) -> Memory:
    """The memory of a compilation, which is measured where all of it is on the CPU."""
    found = memory(compiled.report)
    devices = {row.device for row in found.report.buffers if row.device}
    is_here = all(device.startswith("cpu") for device in devices)
    return replace(found, measurer=partial(_measure, compiled, found)) if is_here else found


def _measure(compiled: Compiled, found: Memory, *args: Any, **kwargs: Any) -> MeasuredMemory:
    learns = any(wrapper.is_backward for wrapper in found.timeline.wrappers)
    original = compiled.original
    held = held_inputs(original, args, kwargs)
    with (
        restored(compiled.module, held=held),
        _without_gradients(compiled, args, kwargs),
        torch.set_grad_enabled(found.report.request.grad),
    ):
        measured = _peak(compiled, args, kwargs, learns=learns)
        eager = None if original is None else _peak(original, args, kwargs, learns=learns)
    return MeasuredMemory(found.peak - found.base, measured, eager)


def _peak(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *, learns: bool
) -> int:
    def once() -> Any:
        outputs = call(*args, **kwargs)
        if learns:
            tensors = [leaf for _, leaf in leaves((outputs,), Path("out"))]
            wanted = [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]
            loss = torch.stack([t.real.sum().double() for t in wanted]).sum()
            torch.autograd.backward(loss)
        return outputs

    for _ in range(_WARM):
        once()
        _drop_gradients(call, args, kwargs)
    found = allocated(once).peak
    _drop_gradients(call, args, kwargs)
    return found


@contextmanager
def _without_gradients(
    compiled: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[None]:
    """Put the gradients aside that were there before, and back."""
    tensors = _learning(compiled, args, kwargs)
    before = [(tensor, tensor.grad) for tensor in tensors]
    for tensor, _ in before:
        tensor.grad = None
    try:
        yield
    finally:
        for tensor, gradient in before:
            tensor.grad = gradient


def _drop_gradients(call: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    for tensor in _learning(call, args, kwargs):
        tensor.grad = None


def _learning(call: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    module = getattr(call, "module", getattr(call, "__self__", call))
    parameters = list(module.parameters()) if isinstance(module, torch.nn.Module) else []
    given = [leaf for _, leaf in leaves((args, dict(kwargs)), Path("call"))]
    tensors = [leaf for leaf in given if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    return [*parameters, *tensors]
