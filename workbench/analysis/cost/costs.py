"""What every kernel of a compilation costs, in each of the ways in which that is known.

Memory is one of them, and one that lines have too: what of the peak each has made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.fusion.traffic import count_moved_bytes, select_nodes
from workbench.analysis.memory.memory import Memory, count_quick_memory, list_made_at_peak
from workbench.number_text import plural
from workbench.report import Kernel, Report
from workbench.report.collectives.collective_rows import NETWORK
from workbench.report.machine_rows import KernelRoofline
from workbench.report.profile_record import TIMED_BY, read_measured_call
from workbench.specs import Catalogue

CostKind = Literal["time", "bound", "bytes", "memory"]
_SOURCE = "counted: bytes that are allocated for a kernel and live at the memory peak"
_UNKNOWN = "the program does not call it"


@dataclass(frozen=True)
class Cost:
    """One cost of the kernels of a report, for all calls of each in one call of the whole.

    `by_kernel` has those that are known, in `unit` ("µs" or "B"); `source` says in words where the
    numbers are from and what they leave out, `brief` the same in a few words, `unknown` why a
    kernel has none.
    """

    kind: CostKind
    unit: str
    source: str
    brief: str
    unknown: str
    by_kernel: Mapping[str, float]

    @cached_property
    def total(self) -> float:
        """The sum over the kernels whose cost is known."""
        return sum(self.by_kernel.values())

    def share(self, kernel: str) -> float | None:
        """The part that a kernel has of `total`, from 0 to 1; None where its cost is unknown."""
        cost = self.by_kernel.get(kernel)
        return None if cost is None or not self.total else cost / self.total


def list_costs(report: Report) -> tuple[Cost, ...]:
    """The costs that are known, best first: measured time, the model's bound, the bytes moved."""
    return report.once(_costs)


def _costs(report: Report) -> tuple[Cost, ...]:
    costs = (_time(report), _bound(report), _bytes(report))
    return tuple(cost for cost in costs if cost.by_kernel)


def choose_cost(report: Report) -> Cost | None:
    """The one that everything is ranked by unless the reader asks for another."""
    return next(iter(list_costs(report)), None)


def get_rooflines(report: Report) -> dict[str, KernelRoofline]:
    """By kernel its place under the roofline of the first GPU that the report has one for."""
    return {row.kernel: row for row in report.own_roofline}


_NOISY = "noisy: "  # how a measured call's notes begin that say why it is not sure


def _time(report: Report) -> Cost:
    call = read_measured_call(report)
    source = brief = "measured"
    timed_by = report.extra.get(TIMED_BY)
    if isinstance(timed_by, str):
        source = brief = f"measured {timed_by} kernels"
    elif call is not None:
        notes = [note for note in call.notes if not note.startswith(_NOISY)]
        noise = [note.removeprefix(_NOISY) for note in call.notes if note.startswith(_NOISY)]
        notes += [_NOISY + ", and ".join(noise)] if noise else []
        source = "; ".join((f"measured, median of {plural(call.repeats, 'call')}", *notes))
        brief = "measured, noisy" if noise else "measured"
    amounts = _known(report, lambda kernel: kernel.time_us)
    return Cost("time", "µs", source, brief, "not measured", amounts)


def _bound(report: Report) -> Cost:
    rows = get_rooflines(report)
    target = next((row.target for row in rows.values()), "")
    gpus = Catalogue.built_in()
    name = gpus[target].title if target in gpus else target

    def bound(kernel: Kernel) -> float | None:
        row = rows.get(kernel.id)
        return None if row is None or row.bound_us is None else row.bound_us * max(kernel.calls, 1)

    left_out = "excludes launch overhead, caches and latency"
    source = f"model: bytes and operations over the peak rates of the {name}, {left_out}"
    unknown = "neither its bytes nor its operations are known"
    return Cost("bound", "µs", source, f"model: {left_out}", unknown, _known(report, bound))


def _bytes(report: Report) -> Cost:
    brief = "Inductor's traffic estimate"
    source = f"{brief}: bytes read and written, each counted once"
    amounts = _known(report, count_moved_bytes)
    return Cost("bytes", "B", source, brief, "its traffic is not known", amounts)


def _known(report: Report, cost: Callable[[Kernel], float | None]) -> dict[str, float]:
    values = ((kernel.id, cost(kernel)) for kernel in report.kernels)
    return {id: value for id, value in values if value is not None}


@dataclass(frozen=True)
class KernelCost:
    """What one kernel costs in one call of the whole, all its `calls` together.

    `cost` is in `unit`: "µs" of measured time, else of the model's bound, else "B" that it moves;
    `source` says which and what it leaves out, or why there is none. `share` is the part of the sum
    over all kernels. Bytes and operations are those of one call, by Inductor's model and as in
    `Kernel.flops`; `bound` is "memory" or "compute" where the target has a roofline, `registers`
    and `occupancy` are those of a GPU's kernel.
    """

    kernel: str  # the kernel, by its id
    name: str  # the kernel's name
    cost: int | float | None
    unit: str
    source: str
    share: float | None
    calls: int
    bytes_read: int | None
    bytes_written: int | None
    flops: int | None
    bound: str | None
    registers: int | None
    occupancy: float | None
    ops: tuple[str, ...]  # the operations in it
    lines: tuple[str, ...]  # the lines that it comes from, by their `L:` ids


def list_kernel_costs(report: Report) -> list[KernelCost]:
    """A row for every kernel, the most expensive first; those of unknown cost are last."""
    cost, rooflines = choose_cost(report), get_rooflines(report)
    shared = {field.name for field in fields(KernelCost)} & {field.name for field in fields(Kernel)}
    rows = []
    for kernel in report.kernels:
        own = None if cost is None else cost.by_kernel.get(kernel.id)
        source = "its cost is not known"
        if cost is not None:
            unknown = NETWORK if kernel.is_collective else cost.unknown
            source = unknown if own is None else cost.source
        place = rooflines.get(kernel.id)
        rows.append(
            KernelCost(
                kernel=kernel.id,
                cost=own,
                unit="" if cost is None else cost.unit,
                source=source,
                share=None if cost is None else cost.share(kernel.id),
                bound=None if place is None else place.bound,
                **{name: getattr(kernel, name) for name in shared},
            )
        )
    return sorted(rows, key=lambda row: (row.cost is None, -(row.cost or 0.0)))


def list_all_costs(report: Report) -> tuple[Cost, ...]:
    """The costs of kernels that are known, best first; memory comes last.

    Memory is among them where it is counted at once.
    """
    return report.once(_all_costs)


def _all_costs(report: Report) -> tuple[Cost, ...]:
    usage = count_quick_memory(report)
    peaks = {} if usage is None else find_peak_by_kernel(usage)
    if not any(peaks.values()):
        return list_costs(report)
    return (*list_costs(report), Cost("memory", "B", _SOURCE, "counted", _UNKNOWN, peaks))


def find_peak_by_kernel(usage: Memory) -> dict[str, float]:
    """By kernel the bytes that are allocated for it and live at the peak; 0 for most."""
    by_kernel = dict.fromkeys((kernel for kernel in usage.timeline.kernels if kernel), 0.0)
    for row in list_made_at_peak(usage):
        kernel = usage.timeline.kernels[min(row.step_from, len(usage.timeline.kernels) - 1)]
        if kernel is not None:
            by_kernel[kernel] += row.bytes
    return by_kernel


def find_peak_by_line(usage: Memory) -> dict[str, float]:
    """By line id the bytes that it makes and that live at the peak.

    A line that calls a function has those of what was traced in it, too.
    """
    rows = [row for row in list_made_at_peak(usage) if row.node is not None]
    nodes = select_nodes(usage.report, "id", {row.node or "" for row in rows})
    ids = list_line_ids(usage.report)
    by_line: dict[str, float] = defaultdict(float)
    for row in rows:
        node = nodes[row.node or ""]
        own = ids.get((node.file or "", node.line or 0))
        for line in dict.fromkeys((own, *node.called_from)):
            if line is not None:
                by_line[line] += row.bytes
    return dict(by_line)
