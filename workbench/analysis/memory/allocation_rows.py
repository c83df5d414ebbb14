"""The rows of the table `allocations`: each storage with its value, its place and its kind."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.fusion.traffic import strip_operator_name
from workbench.analysis.memory.storages import Storage
from workbench.analysis.memory.timeline import Timeline, input_label
from workbench.report import Buffer, Node
from workbench.report.memory_rows import Allocation


def list_allocations(timeline: Timeline) -> tuple[Allocation, ...]:
    """A row for each storage, in the order in which they were allocated."""
    return tuple(_Allocations(timeline).rows())


class _Allocations:
    def __init__(self, timeline: Timeline):
        self._timeline = timeline
        self._moments = [bytes_ for bytes_, _ in timeline.walk.moments]
        self._peak_at = max(range(len(self._moments)), key=self._moments.__getitem__, default=0)
        self._before = _running_max(self._moments)
        self._after = _running_max(self._moments[::-1])[::-1]
        self._last = max(len(timeline.walk.steps) - 1, 0)

    def rows(self) -> Iterator[Allocation]:
        pairs = zip(self._timeline.walk.storages, self._timeline.kinds, strict=True)
        for number, (storage, kind) in enumerate(pairs):
            last = len(self._moments) if storage.last_moment is None else storage.last_moment
            at_peak = storage.first_moment <= self._peak_at < last
            node = self._node(storage)
            label = input_label(self._timeline, storage.names[0]) if storage.is_given else None
            operator = self._operator(node) if node else storage.names[0]
            yield Allocation(
                id=f"m{number}",
                graph=self._timeline.wrappers[storage.program].graph,
                buffer=storage.names[0],
                names=tuple(storage.names),
                step_from=min(storage.first_step, self._last),
                step_to=None if storage.last_step is None else min(storage.last_step, self._last),
                bytes=storage.bytes,
                kind=kind,
                reused=tuple(self._reused(storage)),
                value=label or operator,
                node=node.id if node else None,
                file=node.file if node else None,
                line=node.line if node else None,
                module=node.module_path if node else storage.module,
                at_peak=at_peak,
                peak_without=self._without(storage, last) if at_peak else None,
            )

    def _node(self, storage: Storage) -> Node | None:
        """The FX node of the value that it is allocated for."""
        for name in storage.names:
            row = self._timeline.buffers.get((storage.program, name))
            node = self._timeline.node(row.node) if row is not None else None
            if node is not None:
                return node
        return None

    def _operator(self, node: Node) -> str:
        """What computes a value; of a part of a tuple what gave the tuple, not the taking."""
        report = self._timeline.report
        while strip_operator_name(node.target) == "getitem" and node.inputs:
            at = report.node_row.get(node.inputs[0])
            if at is None:
                break
            node = report.nodes[at]
        return strip_operator_name(node.target)

    def _without(self, storage: Storage, last: int) -> int:
        first = storage.first_moment
        inside = self._moments[self._peak_at] - storage.bytes  # it lives there
        before = self._before[first - 1] if first else 0
        after = self._after[last] if last < len(self._moments) else 0
        return max(inside, before, after)

    def _reused(self, storage: Storage) -> Iterator[tuple[str, str, str]]:
        for name, base in storage.shares:
            program = storage.program
            made = self._timeline.buffers.get((program, name))
            former = self._timeline.buffers.get((program, base))
            yield name, _how(made, former), base


def _how(made: Buffer | None, former: Buffer | None) -> str:
    """How a buffer came to the memory of a former one."""
    if made is None or former is None:
        return "view"
    if former.kind == "input" and made.kind == "input":
        return "view"
    return "in place" if set(made.written_by) & set(former.read_by) else "reuse"


def _running_max(values: list[int]) -> list[int]:
    maxima: list[int] = []
    for value in values:
        maxima.append(max(value, maxima[-1]) if maxima else value)
    return maxima
