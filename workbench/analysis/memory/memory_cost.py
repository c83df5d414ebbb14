"""What of the peak of memory each kernel has made, and each source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from workbench.analysis.cost.costs import Cost, list_costs
from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.fusion.traffic import select_nodes
from workbench.analysis.memory.memory import Memory, memory
from workbench.analysis.memory.memory_tables import Allocation
from workbench.analysis.memory.storages import Storage
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.errors import UsageError
from workbench.report import Report

QUICK = 500_000
"""Letters of programs that are read at once: in a few hundredths of a second."""
_SOURCE = "counted: bytes allocated for a kernel that live when the memory is at its peak"
_UNKNOWN = "the program does not call it"


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


def list_all_costs(report: Report) -> tuple[Cost, ...]:
    """The costs of kernels that are known, best first; memory comes last.

    Memory is among them where it is counted at once.
    """
    return report.once(_all_costs)


def _all_costs(report: Report) -> tuple[Cost, ...]:
    found = count_quick_memory(report)
    made = {} if found is None else find_peak_by_kernel(found)
    if not any(made.values()):
        return list_costs(report)
    return (*list_costs(report), Cost("memory", "B", _SOURCE, _UNKNOWN, made))


def find_peak_by_kernel(found: Memory) -> dict[str, float]:
    """By kernel the bytes that are allocated for it and live at the peak; 0 for most."""
    made = dict.fromkeys((kernel for kernel in found.timeline.kernels if kernel), 0.0)
    for row, storage in _made(found):
        kernel = found.timeline.kernels[min(storage.first_step, len(found.timeline.kernels) - 1)]
        if kernel is not None:
            made[kernel] += row.bytes
    return made


def find_peak_by_line(found: Memory) -> dict[str, float]:
    """By line id the bytes that it makes and that live at the peak.

    A line that calls a function has those of what was traced in it, too.
    """
    rows = [row for row, _ in _made(found) if row.node is not None]
    nodes = select_nodes(found.report, "id", {row.node or "" for row in rows})
    ids = list_line_ids(found.report)
    by_line: dict[str, float] = defaultdict(float)
    for row in rows:
        node = nodes[row.node or ""]
        own = ids.get((node.file or "", node.line or 0))
        for line in dict.fromkeys((own, *node.called_from)):
            if line is not None:
                by_line[line] += row.bytes
    return dict(by_line)


def _made(found: Memory) -> Iterator[tuple[Allocation, Storage]]:
    """What lives at the peak and was not there before the program."""
    for row, storage in zip(found.allocations, found.timeline.walk.storages, strict=True):
        if row.at_peak and not storage.is_given:
            yield row, storage
