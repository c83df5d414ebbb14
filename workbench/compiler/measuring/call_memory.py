"""What calls hold in memory: eager ones counted without data, any by torch's profiler."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.call_state.reachable import list_tensors
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.compiler.measuring.profiler_trace import trace
from workbench.report import Capability, Report, Table
from workbench.report.memory_rows import EagerMemory

PANE = "eager_memory"
OF_CALL = "the call itself ran on tensors without data"
OF_GRAPH = "the operators of the captured graph ran on tensors without data"
_MISSING = "memory that operators allocate and free while they run"
_VARIABLES = "values that Python variables keep alive after their last use"
_CHECKPOINT = "tag_activation_checkpoint"
_CHECKPOINTED = "memory that torch.utils.checkpoint frees, which is counted as kept"
_EVENT = "[memory]"


class EagerCounter:
    """Counts what eager would hold: of a call, or of what Dynamo captures of it.

    With gradients the backward follows, where an output takes part in one. Outputs are held until
    the end, as `MeasuredMemory` holds them. What cannot be counted is a reason, and no error.
    """

    def __init__(self, why_not: str | None = None) -> None:
        self.rows: list[EagerMemory] = []
        self.why_not = why_not

    def count_call(self, call: Callable[[], Any]) -> bool:
        """Count a call whose tensors have no data; False where it needs them."""
        return self._try(lambda: _counted(call, OF_CALL, _MISSING))

    def before(self, backend: Callable[..., Any]) -> Callable[..., Any]:
        """A backend of Dynamo that counts a captured graph first."""

        def counting(module: Any, inputs: Sequence[Any]) -> Any:
            self._try(lambda: _counted_graph(module))
            return backend(module, inputs)

        return counting

    def added(self, report: Report) -> Report:
        """A report with what was counted, or with the reason why it was not."""
        reason = self.why_not
        if not self.rows and reason is None:
            reason = "eager's peak was not counted: nothing was captured"
        return add_eager_memory(report, self.rows, reason)

    def _try(self, count: Callable[[], EagerMemory]) -> bool:
        try:
            self.rows, self.why_not = [count()], None
        except Exception as error:  # what it runs is the user's, on tensors that nobody expects
            first = str(error).strip().partition("\n")[0]
            self.why_not = f"eager's peak cannot be counted ({type(error).__name__}): {first}"
        return self.why_not is None


def add_eager_memory(report: Report, rows: Sequence[EagerMemory], why_not: str | None) -> Report:
    """A report that says what eager holds, or why that is not known."""
    capabilities = [row for row in report.capabilities if row.name != PANE]
    capabilities.append(Capability(PANE, why_not is None, why_not))
    tables: dict[str, Table[Any]] = {
        PANE: Table.of(EagerMemory, rows),
        "capabilities": Table.of(Capability, capabilities),
    }
    return replace(report, tables={**report.tables, **tables})


def _counted_graph(module: Any) -> EagerMemory:
    mode = tp.FAKE_TENSOR_MODE.get()(allow_non_fake_inputs=True, shape_env=tp.SHAPE_ENV.get()())
    targets = (str(node.target) for node in module.graph.nodes)
    is_checkpointed = any(_CHECKPOINT in target for target in targets)
    missing = (_MISSING, _VARIABLES, *([_CHECKPOINTED] if is_checkpointed else []))
    with mode:
        inputs = [_input(node) for node in module.graph.find_nodes(op="placeholder")]
        return _counted(lambda: module(*inputs), OF_GRAPH, "; ".join(missing))


def _counted(call: Callable[[], Any], source: str, missing: str) -> EagerMemory:
    started = time.perf_counter()
    live = _live_storages()
    with live.mode:
        outputs = call()
        learning = [leaf for leaf in list_tensors(outputs) if leaf.requires_grad]
        if learning:
            live.is_backward = True
            loss = torch.stack([leaf.real.sum().double() for leaf in learning]).sum()
            torch.autograd.backward(loss)
    return EagerMemory(
        bytes=live.peak,
        operator=live.at_peak[0],
        is_backward=live.at_peak[1],
        unsized=live.unsized,
        source=source,
        missing=missing,
        seconds=time.perf_counter() - started,
    )


def _input(node: Any) -> Any:
    """What stands for an input: without data, of the sizes of the example."""
    value = node.meta["example_value"]
    if not isinstance(value, torch.Tensor):
        return _size(value)
    shape, stride = ([_size(n) for n in sizes] for sizes in (value.shape, value.stride()))
    tensor = torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device)
    return tensor.requires_grad_(value.requires_grad)


def _size(value: Any) -> Any:
    """A size as it was in the example; None where data decide it. Others are what they are."""
    return value.node.hint if isinstance(value, torch.SymInt) else value


class _Live:
    """The bytes of storages that operators made, until nothing refers to them.

    Exact for what is a tensor; what an operator allocates inside and frees is not seen.
    """

    def __init__(self) -> None:
        self.now = self.peak = self.unsized = 0
        self.is_backward = False
        self.at_peak = ("", False)
        self.mode: AbstractContextManager[Any]
        self._known: set[int] = set()

    def hold(self, tensor: torch.Tensor) -> None:
        """What an operator is given and none has made is the caller's."""
        storage = tensor.untyped_storage()
        if tp.address_of(storage) not in self._known:
            self._know(storage, 0)

    def add(self, tensor: torch.Tensor, operator: Any) -> None:
        """Count the storage of a result, once."""
        storage = tensor.untyped_storage()
        if tp.address_of(storage) in self._known:
            return
        size = _size(storage.nbytes())
        if size is None:
            self.unsized += 1
            size = 0
        self._know(storage, size)
        if self.now > self.peak:
            self.peak, self.at_peak = self.now, (str(operator), self.is_backward)

    def _know(self, storage: Any, size: int) -> None:
        self._known.add(tp.address_of(storage))
        self.now += size
        weakref.finalize(storage, self._free, tp.address_of(storage), size)

    def _free(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def _live_storages() -> _Live:
    live = _Live()

    class Counting(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            for tensor in list_tensor_leaves((args, kwargs)):
                live.hold(tensor)
            result = func(*args, **(kwargs or {}))
            for tensor in list_tensor_leaves(result):
                live.add(tensor, func)
            return result

    live.mode = Counting()
    return live


@dataclass(frozen=True)
class Allocated:
    """Bytes above what lived before: the most at once, and what lives on."""

    peak: int
    kept: int


def allocated(call: Callable[[], Any]) -> Allocated:
    """Run a call under the profiler; its result is held until the figures are read.

    What was allocated before is not seen when it is freed: a backward has to be in one call with
    its forward. Memory that a library takes without torch's allocator is not seen either.
    """
    kinds = [torch.profiler.ProfilerActivity.CPU]
    profiler = torch.profiler.profile(activities=kinds, profile_memory=True, acc_events=True)
    held: list[Any] = []
    events = [e for e in trace(lambda: held.append(call()), profiler) if e.get("name") == _EVENT]
    events.sort(key=lambda e: float(e["ts"]))  # releases have negative sizes
    now = peak = 0
    for event in events:
        now += int(event["args"]["Bytes"])
        peak = max(peak, now)
    return Allocated(peak, now)
