"""The memory of a compiled call: its peak, what that is made of, and what would lower it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.fusion.traffic import strip_operator_name
from workbench.analysis.memory.peaks import (
    BASE,
    explain_no_eager,
    find_peaks,
    list_missing,
    read_eager_peak,
)
from workbench.analysis.memory.scratch import Scratch, describe_scratch, list_scratch
from workbench.analysis.memory.storages import IN_CPP, Storage, name_operator
from workbench.analysis.memory.timeline import (
    Timeline,
    explain_unknown_memory,
    input_label,
    is_on_cpu,
    timeline,
)
from workbench.arguments import checked
from workbench.errors import UsageError, suggest
from workbench.number_text import number_text
from workbench.report import Buffer, Node, Report
from workbench.report.memory_rows import (
    HOOKED,
    KINDS,
    Allocation,
    MemoryPeak,
    MemoryStep,
    SavedTensor,
)
from workbench.report.presenter import Presented, Viewed, presenter
from workbench.specs import Catalogue

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

By = Literal["line", "module", "kind", "value"]
TABLES: Mapping[str, type] = {
    "allocations": Allocation,
    "memory_steps": MemoryStep,
    "memory_peaks": MemoryPeak,
    "saved": SavedTensor,
}


QUICK = 500_000
"""Letters of programs that are read at once: in a few hundredths of a second."""


def memory(report: Report) -> Memory:
    """The memory of a call, from the text of its generated programs; nothing is run.

    Raises `UsageError` for a record without a generated program.
    """
    return report.once(_counted)


def _counted(report: Report) -> Memory:
    return Memory(report, timeline(report))


@dataclass(frozen=True, repr=False)
class Memory(Viewed, Presented):
    """Hold the live memory of a compiled call at each step, counted from its program's text.

    Bytes are those of storages, as allocated: exact except for items in `missing`. The backward
    pass is assumed to follow the forward pass at once, with the outputs still held. `measure` runs
    the call and compares, if it can run.
    """

    report: Report
    timeline: Timeline
    measurer: Callable[..., Any] | None = field(default=None, compare=False)

    @property
    def peak(self) -> int:
        """The peak live bytes, including weights and inputs."""
        return self.peaks[-1].bytes

    @property
    def base(self) -> int:
        """Bytes of weights, constants and inputs, which the caller always holds."""
        return self.peaks[-1].base_bytes

    @cached_property
    def live(self) -> tuple[int, ...]:
        """The peak live bytes while each step is prepared and runs."""
        last = len(self.timeline.walk.steps) - 1
        live = [0] * (last + 1)
        for bytes_, step in self.timeline.walk.moments:
            place = min(step, last)
            live[place] = max(live[place], bytes_)
        return tuple(live)

    @cached_property
    def peaks(self) -> tuple[MemoryPeak, ...]:
        """The peak of each part of the call, that of the whole last; eager is not included."""
        return find_peaks(self.timeline)

    @cached_property
    def eager(self) -> MemoryPeak | None:
        """The peak of the call in eager; None if it was not counted."""
        return read_eager_peak(self.report, self.base)

    @property
    def why_no_eager(self) -> str:
        """The reason why eager's peak is unknown, in a sentence; empty if it is known."""
        return explain_no_eager(self.report)

    @cached_property
    def missing(self) -> str:
        """The items that the figures leave out."""
        return list_missing(self.timeline)

    @cached_property
    def also_missing(self) -> str:
        """The items left out in addition to the memory of library calls, which `sentence` names."""
        return list_missing(self.timeline, with_scratch=False)

    @cached_property
    def scratch(self) -> tuple[Scratch, ...]:
        """The library calls that allocate workspace while they run, with a bound if known."""
        return list_scratch(self.timeline)

    @property
    def most(self) -> int | None:
        """The peak in bytes including workspace of library calls; None if that is unknown."""
        if not self.timeline.is_whole or any(row.bytes is None for row in self.scratch):
            return None
        return max(self.peak, *(self._hold_while(row) for row in self.scratch), 0)

    def _hold_while(self, row: Scratch) -> int:
        """Bytes that live while a library call runs, its own included."""
        return self.live[row.step] + (row.bytes or 0)

    @cached_property
    def allocations(self) -> tuple[Allocation, ...]:
        """A row for each storage, in the order of allocation."""
        return list_allocations(self.timeline)

    @cached_property
    def steps(self) -> tuple[MemoryStep, ...]:
        """A row for each kernel and library call, in order."""
        lines = _kernel_lines(self.report)
        rows = []
        for number, (step, kernel) in enumerate(
            zip(self.timeline.walk.steps, self.timeline.kernels, strict=True)
        ):
            wrapper = self.timeline.wrappers[step.program]
            file, line = lines.get(kernel or "", (None, None))
            rows.append(
                MemoryStep(
                    number,
                    wrapper.graph,
                    wrapper.is_backward,
                    kernel,
                    step.kernel,
                    self.live[number],
                    step.allocated,
                    step.freed,
                    file,
                    line,
                )
            )
        return tuple(rows)

    @cached_property
    def saved(self) -> tuple[SavedTensor, ...]:
        """A row for each saved activation for the backward pass."""
        places = {id(s): n for n, s in enumerate(self.timeline.walk.storages)}
        places_of_nodes = self.report.node_rows.get(_last_forward(self.report) or "", [])
        nodes = {row.name: row for row in map(self.report.nodes.__getitem__, places_of_nodes)}
        reasons = {row.node: row.why for row in self.report.saved_reasons}
        rows = []
        counted: set[int] = set()
        for name, storage in self.timeline.saved:
            is_counted = id(storage) in counted or storage.is_given
            counted.add(id(storage))
            owner = self.allocations[places[id(storage)]]
            node = nodes.get(name)
            rows.append(
                SavedTensor(
                    name,
                    0 if is_counted else storage.bytes,
                    owner.id,
                    owner.kind,
                    reasons.get(name),
                    node.id if node else owner.node,
                    node.file if node else owner.file,
                    node.line if node else owner.line,
                    node.module_path if node else owner.module,
                )
            )
        return tuple(rows)

    @property
    def saved_bytes(self) -> int:
        """Bytes of saved activations: each storage once, without weights."""
        return sum(row.bytes for row in self.saved)

    @checked
    def at_peak(self, by: By = "line") -> dict[str, int]:
        """Return the live bytes at the peak by "line", "module", "kind" or "value", largest first.

        Weights, constants and inputs are one entry each except by kind and value. By line, what has
        no line is listed by its module. Raises `UsageError` for another word.
        """
        if by not in ("line", "module", "kind", "value"):
            raise UsageError(f"by={by!r} is unknown: pass 'line', 'module', 'kind' or 'value'.")
        by_key: dict[str, int] = {}
        for row in self.allocations:
            if row.at_peak:
                key = _key(row, by)
                by_key[key] = by_key.get(key, 0) + row.bytes
        return dict(sorted(by_key.items(), key=lambda item: -item[1]))

    @checked
    def without(self, buffer: str) -> int:
        """Return the peak in bytes if a buffer's storage were empty, by the buffer's name or id.

        If several programs have the name, it is the most important one. Raises `UsageError` for a
        name that is not in the table `allocations`.
        """
        rows = [row for row in self.allocations if buffer == row.id or buffer in row.names]
        if not rows:
            raise UsageError(
                f"Storage {buffer!r} does not exist: see `.frame('allocations')` for the names."
            )
        peaks = [row.peak_without for row in rows if row.peak_without is not None]
        return min(peaks, default=self.peak)

    @property
    def held_at_peak(self) -> dict[str, int]:
        """The bytes that the caller holds: weights, constants and inputs, largest first."""
        return {kind: size for kind, size in self.at_peak("kind").items() if kind in BASE}

    @property
    def capacity(self) -> int | None:
        """The bytes of memory of the GPU that was compiled for; None for another target."""
        gpus, target = Catalogue.built_in(), self.report.request.target
        return gpus[target].dram_bytes if target in gpus else None

    @property
    def step_names(self) -> list[str]:
        """What each step calls: a kernel's name, or the operator of a library call."""
        return [
            name_operator(step.kernel)
            if "." in step.kernel or step.kernel.startswith(IN_CPP)
            else step.kernel
            for step in self.timeline.walk.steps
        ]

    @property
    def is_upper_bound(self) -> bool:
        """Whether nothing is left out of the peak; otherwise it is a lower bound."""
        return self.timeline.is_whole and not self.scratch

    @cached_property
    def sentence(self) -> str:
        """The peak, its position and its largest part."""
        whole = self.peaks[-1]
        above = whole.bytes - whole.base_bytes
        bound = "At most" if self.is_upper_bound else "At least"
        words = (
            f"{bound} {number_text(whole.bytes, 'bytes')} are live at the peak "
            f"(at {whole.kernel or whole.name or 'the start'}), "
            f"{number_text(above, 'bytes')} of it above weights and inputs"
        )
        ours = [row for row in self.allocations if row.at_peak and row.kind not in BASE]
        eager = "" if self.eager is None else _eager_words(self.eager, whole)
        eager = f"{self._scratch_words}{eager}"
        if not ours or not above:
            return f"{words}.{eager}"
        largest = max(ours, key=lambda row: row.bytes)
        if line := _name_line(ours, more_than=1.5 * largest.bytes):
            return f"{words}. {line}.{eager}"
        place = f" of line {largest.line}" if largest.line else ""
        lowered = whole.bytes - (largest.peak_without or whole.bytes)
        more = (
            f" Without it, the peak would be {number_text(lowered, 'bytes')} lower."
            if lowered
            else ""
        )
        return (
            f"{words}. The largest part of that is {largest.value}{place} ({largest.kind}), with "
            f"{number_text(largest.bytes, 'bytes')}.{more}{eager}"
        )

    @property
    def _scratch_words(self) -> str:
        """What library calls take beside what was counted, as a sentence of its own."""
        words = describe_scratch(self.scratch, on_cpu=is_on_cpu(self.report))
        if not words:
            return ""
        if self.most is None:
            return f" Not counted: {words}."
        worst = max(self.scratch, key=self._hold_while)
        step = worst.step if self._hold_while(worst) >= self.peak else self.peaks[-1].step or 0
        where = self.timeline.kernels[step] or self.timeline.walk.steps[step].kernel
        most = number_text(self.most, "bytes")
        return f" Not counted: {words} (with it, the peak is at most {most}, at {where})."

    @checked
    def measure(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it and eager on these inputs under torch's profiler; see `MeasuredMemory`.

        Raises `UsageError` for a report, and if it does not run on the CPU of this machine.
        """
        if self.measurer is None:
            raise UsageError(
                f"Memory is measured only on the CPU, but {self.report.request.name} is a report "
                f"or was compiled for another device ({self.report.request.target}). See .peaks "
                "for counted values, or compile for 'cpu' to measure them."
            )
        return self.measurer(*args, **kwargs)

    @checked
    def frame(self, table: str = "allocations") -> pandas.DataFrame:
        """Return a table: "allocations", "memory_steps", "memory_peaks" or "saved".

        Raises `UsageError` for another name.
        """
        if table not in TABLES:
            raise UsageError(
                f"Table {table!r} does not exist; choose one of {', '.join(TABLES)}."
                f"{suggest(table, TABLES)}"
            )
        return presenter().rows_frame(self.rows(table), TABLES[table])

    @checked
    def rows(self, table: str) -> tuple[Any, ...]:
        """The rows of a table by its name."""
        tables: dict[str, tuple[Any, ...]] = {
            "allocations": self.allocations,
            "memory_steps": self.steps,
            "memory_peaks": self.peaks if self.eager is None else (*self.peaks, self.eager),
            "saved": self.saved,
        }
        if table not in tables:
            raise UsageError(f"Table {table!r} does not exist; choose one of {', '.join(tables)}.")
        return tables[table]

    def plot(self) -> matplotlib.figure.Figure:
        """Plot live bytes over the steps, stacked by kind."""
        return presenter().plot(self)


def count_quick_memory(report: Report) -> Memory | None:
    """The memory of a call where it is counted at once; None where that takes long, or cannot be.

    Long programs are read by who asks for their memory, not by who looks at something else.
    """
    return report.once(_quick_memory)


def _quick_memory(report: Report) -> Memory | None:
    texts = (report.texts.get(wrapper.text or "", "") for wrapper in report.wrappers)
    if explain_unknown_memory(report) is not None or sum(map(len, texts)) > QUICK:
        return None
    try:
        return memory(report)
    except UsageError:
        return None  # it runs no kernel


def _eager_words(eager: MemoryPeak, compiled: MemoryPeak) -> str:
    more = eager.bytes - compiled.bytes
    size = f"{number_text(abs(more), 'bytes')} {'more' if more > 0 else 'less'}"
    return f" Eager holds {number_text(eager.bytes, 'bytes')}, {size if more else 'as much'}."


def _name_line(rows: Iterable[Allocation], more_than: float) -> str:
    """The line, or else the module, that most of these bytes are of, if several are larger."""
    by_line: dict[str, list[Allocation]] = defaultdict(list)
    for row in rows:
        if row.line or row.module:
            by_line[_key(row, "line")].append(row)
    most = max(by_line.values(), key=lambda own: sum(row.bytes for row in own), default=[])
    size = sum(row.bytes for row in most)
    if len(most) < 2 or size <= more_than:
        return ""
    kinds = dict.fromkeys(row.kind for row in sorted(most, key=lambda row: -row.bytes))
    where = f"line {most[0].line}" if most[0].line else f"module {most[0].module}"
    what = f"{len(most)} tensors of {where} ({', '.join(kinds)})"
    return f"The largest part of that is {what}, with {number_text(size, 'bytes')}"


def _key(row: Allocation, by: By) -> str:
    if by == "kind":
        return row.kind
    if by == "value":
        return row.value
    if row.kind in BASE or (by == "line" and row.kind in HOOKED):
        return row.kind
    if by == "module":
        return row.module or "no module"
    if row.file and row.line:
        return f"{PurePath(row.file).name}:{row.line}"
    # torch keeps no line of a module whose forward is its own, such as nn.TransformerEncoderLayer
    return f"module {row.module}" if row.module else "no line"


def _last_forward(report: Report) -> str | None:
    last = None
    for graph in report.graphs:
        last = graph.id if graph.stage == "forward" else last
    return last


def _kernel_lines(report: Report) -> dict[str, tuple[str | None, int | None]]:
    """The line of the last node of each kernel that has one."""
    columns = report.nodes.columns  # as rows, thousands would be made for a few
    ids = {id for kernel in report.kernels for id in kernel.nodes}
    places = {
        id: (file, line)
        for id, file, line in zip(
            *(columns.get(name, ()) for name in ("id", "file", "line")), strict=True
        )
        if line and id in ids
    }
    by_kernel: dict[str, tuple[str | None, int | None]] = {}
    for kernel in report.kernels:
        place = next((places[id] for id in reversed(kernel.nodes) if id in places), None)
        if place is not None:
            by_kernel[kernel.id] = place
    return by_kernel


def list_made_at_peak(memory: Memory) -> list[Allocation]:
    """What lives at the peak and was not there before the program."""
    pairs = zip(memory.allocations, memory.timeline.walk.storages, strict=True)
    return [row for row, storage in pairs if row.at_peak and not storage.is_given]


def stacked(memory: Memory) -> dict[str, list[int]]:
    """Bytes of each kind that live at the fullest moment of every step, in the order of `KINDS`."""
    count = len(memory.timeline.walk.steps)
    fullest = [0] * count
    best = [-1] * count
    for moment, (bytes_, step) in enumerate(memory.timeline.walk.moments):
        place = min(step, count - 1)
        if count and bytes_ > best[place]:
            best[place], fullest[place] = bytes_, moment
    changes: dict[str, list[int]] = {kind: [0] * (count + 1) for kind in KINDS}
    for storage, kind in zip(memory.timeline.walk.storages, memory.timeline.kinds, strict=True):
        last = storage.last_moment  # moments grow with the steps: it lives in a run of them
        changes[kind][bisect_left(fullest, storage.first_moment)] += storage.bytes
        if last is not None:
            changes[kind][bisect_left(fullest, last)] -= storage.bytes
    layers = {kind: list(accumulate(values[:-1])) for kind, values in changes.items()}
    return {kind: values for kind, values in layers.items() if any(values)}


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
            buffer = self._timeline.buffers.get((program, name))
            former = self._timeline.buffers.get((program, base))
            yield name, _how(buffer, former), base


def _how(buffer: Buffer | None, former: Buffer | None) -> str:
    """How a buffer came to the memory of a former one."""
    if buffer is None or former is None:
        return "view"
    if former.kind == "input" and buffer.kind == "input":
        return "view"
    return "in place" if set(buffer.written_by) & set(former.read_by) else "reuse"


def _running_max(values: list[int]) -> list[int]:
    maxima: list[int] = []
    for value in values:
        maxima.append(max(value, maxima[-1]) if maxima else value)
    return maxima
