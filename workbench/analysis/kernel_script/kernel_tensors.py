"""What kernels are given and leave behind: tensors, and the graph's values that they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.kernel_script.eager_slice import PrintedGraph
from workbench.analysis.kernel_script.wrapper_call import Layout, WrapperCalls
from workbench.errors import UsageError
from workbench.report import Buffer, Kernel, Report


@dataclass(frozen=True)
class KernelTensor:
    """A tensor in a kernel's call.

    `before` is the node whose value it holds before, None where nothing in it is read, `held` how
    that value lies in its memory, which is otherwise where the memory is another's; `after` the
    node whose value it leaves for others, None where it leaves none, or a part of one. `memory` is
    the tensor before it whose memory it takes over.
    """

    name: str
    layout: Layout
    dtype: str
    before: str | None
    held: Layout
    after: str | None
    is_written: bool
    memory: str | None = None


class KernelTensors:
    """The tensors of some calls, by the buffers of their lowered graph."""

    def __init__(
        self, report: Report, kernels: Sequence[Kernel], call: WrapperCalls, graph: PrintedGraph
    ):
        rows = (row for row in report.buffers if row.graph == kernels[0].graph)
        self._buffers: Mapping[str, Buffer] = {row.name: row for row in rows}
        self._own = frozenset(node for kernel in kernels for node in kernel.scheduler_nodes)
        self._call = call
        self._graph = graph
        if all(row.node is None for row in self._buffers.values()):
            raise UsageError(
                "the record does not say which values its buffers hold: compile again with this "
                "version"
            )
        self._first: dict[str, str] = {}
        for name in call.tensors:
            self._first.setdefault(call.root(name), name)

    def all(self) -> tuple[KernelTensor, ...]:
        """Every tensor once, in the order of the arguments."""
        return tuple(self._tensor(name) for name in self._call.tensors)

    def _tensor(self, name: str) -> KernelTensor:
        buffer = self._buffers.get(name)
        if buffer is None or buffer.dtype is None:
            raise UsageError(f"the record does not hold the dtype of {name}")
        changed = self._changed(name)
        is_own = self._is_own(buffer)
        before, held = None, name
        if is_own:
            before, held = self._taken_over(name)
        else:
            before = self._read(buffer, needs_value=changed is not None)
        after = changed if changed is not None else buffer.node if is_own else None
        if not self._is_left(name):
            after = None
        return KernelTensor(
            name,
            self._call.tensors[name],
            buffer.dtype,
            _bare(before),
            self._call.layouts[held],
            _bare(after) or None,
            is_own or changed is not None,
            memory=None if (first := self._first[self._call.root(name)]) == name else first,
        )

    def _is_left(self, name: str) -> bool:
        """Whether others see it: what only the kernel itself reads need not be stored at all."""
        rows = [row for row in self._buffers.values() if name in (row.name, row.stored_in)]
        return any(row.kind != "intermediate" or self._own < {*row.read_by, *self._own}
                   for row in rows)  # fmt: skip

    def _is_own(self, buffer: Buffer) -> bool:
        return not self._own.isdisjoint(buffer.written_by)

    def _changed(self, name: str) -> str | None:
        """The node of what the kernel stores into another buffer; "" for a part of a value."""
        rows = [row for row in self._buffers.values() if row.stored_in == name]
        if any(self._is_own(row) for row in rows) != bool(rows):
            raise UsageError(f"another kernel changes {name} in place")
        if not rows:
            return None
        if self._is_own(self._buffers[name]):
            return self._buffers[name].node or ""  # what it holds in the end
        if name in self._graph.placeholders:
            return rows[-1].node or self._graph.stored_in(name) or ""
        raise UsageError(f"the record does not say what {name} holds before it is changed in place")

    def _read(self, buffer: Buffer, *, needs_value: bool) -> str | None:
        """The node of a tensor that was there before."""
        if self._own.isdisjoint(buffer.read_by) and not needs_value:
            return None
        if buffer.node is None:
            raise UsageError(
                f"it reads {buffer.name}, which is a part of a value: the rest of an operator "
                "that was split over several kernels"
            )
        return buffer.node

    def _taken_over(self, name: str) -> tuple[str | None, str]:
        """The node whose memory is taken over, where the kernel reads it first, and its buffer."""
        step = name
        while step in self._call.reused:
            step = self._call.reused[step]
            buffer = self._buffers.get(step)
            if buffer is None or self._is_own(buffer):
                continue
            return self._read(buffer, needs_value=False), step
        return None, name


def _bare(node: str | None) -> str | None:
    """The name of a node without its graph."""
    return None if node is None else node.rpartition(":")[2]
