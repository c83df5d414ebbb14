"""The memory of a compilation beside what a call takes, and what eager would hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.memory.memory import Memory
from workbench.analysis.memory.timeline import is_on_cpu
from workbench.compiler.call_state.call_leaves import find_held_inputs, restore_state
from workbench.compiler.call_state.reachable import list_tensors
from workbench.compiler.measuring.call_memory import PANE, EagerCounter, add_eager_memory, allocated
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError, WorkbenchError
from workbench.number_text import number_text
from workbench.report import Report
from workbench.report.collectives.shard_groups import SHARDS
from workbench.report.memory_rows import EagerMemory
from workbench.tasks.progress_events import ProgressCallback

if TYPE_CHECKING:
    from workbench.handles.base.checked_call import CheckedCall
    from workbench.handles.base.compiled_base import CompiledBase

MEASURED = "torch's profiler measured an eager call"
WARM = 2  # the first calls allocate what stays, such as the weights that oneDNN packs


@dataclass(frozen=True)
class MeasuredMemory:
    """The peak memory of one call, in bytes on top of its weights and inputs.

    `measured` comes from torch's profiler, `counted` from the program's source. `eager` is the
    measured peak of the eager function, or None if that function is not available. With gradients,
    a call includes the backward pass.
    """

    counted: int
    measured: int
    eager: int | None

    @property
    def error(self) -> float:
        """The relative error of the count: −0.05 means 5 % too low."""
        return self.counted / self.measured - 1 if self.measured else 0.0

    def __str__(self) -> str:
        eager = f", eager {number_text(self.eager, 'bytes')}" if self.eager is not None else ""
        return (
            f"{number_text(self.measured, 'bytes')} measured above weights and inputs, "
            f"{number_text(self.counted, 'bytes')} counted ({self.error:+.1%}){eager}"
        )


def make_measurable(compiled: CheckedCall, usage: Memory) -> Memory:
    """Return the memory of a compilation, measurable if the code runs entirely on the CPU."""
    if not is_on_cpu(usage.report):
        return usage
    return replace(usage, measurer=partial(_measure, compiled, usage))


def _measure(compiled: CheckedCall, usage: Memory, /, *args: Any, **kwargs: Any) -> MeasuredMemory:
    check_sizes(usage, args, kwargs)
    learns = any(wrapper.is_backward for wrapper in usage.timeline.wrappers)
    original = compiled.original
    held = find_held_inputs(original, args, kwargs)
    learning = _learning(compiled, args, kwargs)
    with (
        restore_state(compiled.module, held=held),
        _without_gradients(learning),
        torch.set_grad_enabled(usage.report.request.grad),
    ):
        measured = _peak(partial(compiled, *args, **kwargs), learning if learns else None)
        eager = None
        if original is not None:
            eager = _peak(partial(original, *args, **kwargs), learning if learns else None)
    if eager is not None:
        keep_measured(compiled, eager)
    return MeasuredMemory(usage.peak - usage.base, measured, eager)


def count_eager(compiled: CompiledBase, progress: ProgressCallback | None = None) -> None:
    """Count eager's memory, unless the report already has it or says why it is missing."""
    report, recipe = compiled.report, compiled.recipe
    is_known = len(report.eager_memory) or report.why_missing(PANE)
    if recipe is None or is_known or SHARDS in report.extra:
        return

    def change(call: CompileRequest) -> CompileRequest:
        plain = replace(call.options, capture="light", budgets=(), fusion=None)
        return replace(call, options=replace(plain, counts_eager=True))

    try:
        recompiled, _, _ = recipe.compile_changed(change, progress)
        counted = recompiled.report
    except WorkbenchError as error:
        counted = EagerCounter(str(error)).added(Report())
    why = counted.why_missing(PANE)
    compiled.update(add_eager_memory(report, tuple(counted.eager_memory), why))


def keep_measured(compiled: CompiledBase, bytes_: int) -> None:
    """Replace the counted eager memory in the report with the measured one."""
    row = EagerMemory(bytes_, "", False, 0, MEASURED, "", None)
    compiled.update(add_eager_memory(compiled.report, (row,), None))


def check_sizes(usage: Memory, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise `UsageError` if the input sizes differ from those used for the count."""
    sizes = Counter(
        tensor.untyped_storage().nbytes() for tensor in list_tensors(args, dict(kwargs))
    )
    rows = [row for row in usage.allocations if row.kind == "input"]
    missing = Counter(row.bytes for row in rows) - sizes
    other = next((row for row in rows if missing[row.bytes]), None)
    if usage.timeline.is_sized_by_hint and other is not None:
        raise UsageError(
            f"Memory was counted for the sizes of the compiled call ({other.value} with "
            f"{number_text(other.bytes, 'bytes')}), but these inputs have different ones. Pass "
            "inputs of those sizes, or recompile with these."
        )


def _peak(call: Callable[[], Any], learning: list[torch.Tensor] | None) -> int:
    """The peak of a call; with its backward where there are tensors that learn."""
    ones: dict[tuple[torch.dtype, torch.device], torch.Tensor] = {}

    def once() -> Any:
        outputs = call()
        if learning is not None:
            differentiable = [t for t in list_tensors(outputs) if t.requires_grad]
            # made while it warms up: a loss would be counted as the program's
            for t in differentiable:
                ones.setdefault((t.dtype, t.device), t.new_ones(()))
            torch.autograd.backward(
                differentiable, [ones[t.dtype, t.device].expand(t.shape) for t in differentiable]
            )
        return outputs

    for _ in range(WARM):
        once()
        _drop_gradients(learning)
    peak = allocated(once).peak
    _drop_gradients(learning)
    return peak


@contextmanager
def _without_gradients(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Put the gradients aside that were there before, and back."""
    before = [(tensor, tensor.grad) for tensor in tensors]
    _drop_gradients(tensors)
    try:
        yield
    finally:
        for tensor, gradient in before:
            tensor.grad = gradient


def _drop_gradients(tensors: list[torch.Tensor] | None) -> None:
    for tensor in tensors or ():
        tensor.grad = None


def _learning(
    compiled: CheckedCall, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[torch.Tensor]:
    """Every tensor whose gradient a call of the compiled or the original can write."""
    reached = list_tensors(args, dict(kwargs), compiled.original, compiled.module, code=True)
    return [tensor for tensor in reached if tensor.requires_grad and tensor.is_leaf]
