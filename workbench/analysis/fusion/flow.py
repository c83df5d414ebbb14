"""The calls of a compilation in their order, and what flows between them."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.fusion.fusion import final_groups
from workbench.report import Kernel, Report


@dataclass(frozen=True)
class Call:
    """One call of a kernel; `inputs` are indexes of earlier calls that write what it reads."""

    kernel: Kernel
    inputs: tuple[int, ...]


def calls(report: Report) -> list[Call]:
    """Every call of a kernel, from the final scheduler groups; a kernel may be called often.

    Without groups every kernel counts as one call.
    """
    groups = _groups(report)
    if not groups:
        return [Call(kernel, ()) for kernel in report.kernels]
    index = {name: number for number, name in enumerate(groups)}
    owner = {
        f"{graph}:{node}": f"{graph}:{name}" for (graph, node), name in final_groups(report).items()
    }
    sources = _sources(report, owner)
    found = []
    for number, (name, kernel) in enumerate(groups.items()):
        seen: set[int] = set()
        waiting, passed = list(sources.get(name, ())), set()
        while waiting:
            source = waiting.pop()
            if source in index:
                seen.add(index[source])
            elif source not in passed:  # no kernel of its own, such as taking an item: look behind
                passed.add(source)
                waiting += sources.get(source, ())
        found.append(Call(kernel, tuple(sorted(i for i in seen if i < number))))
    return found


def _groups(report: Report) -> dict[str, Kernel]:
    """Final groups that a kernel runs, in the order of the program."""
    by_node = {node: kernel for kernel in report.kernels for node in kernel.scheduler_nodes}
    found = {}
    for node in report.scheduler_nodes:
        if node.phase == "after":
            names = (node.name, *node.members)
            full = (f"{node.graph}:{name.rpartition(':')[2]}" for name in names)
            kernel = next((by_node[n] for n in (*full, *names) if n in by_node), None)
            if kernel is not None:
                found[f"{node.graph}:{node.name}"] = kernel
    return found


def _sources(report: Report, owner: dict[str, str]) -> dict[str, set[str]]:
    """By group: the groups that write what it reads."""
    found: dict[str, set[str]] = {}
    for buffer in report.buffers:
        writers = {owner.get(node, node) for node in buffer.written_by}
        for reader in {owner.get(node, node) for node in buffer.read_by}:
            found.setdefault(reader, set()).update(writers - {reader})
    return found
