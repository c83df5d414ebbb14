"""Memory and work that a program could do without: remarks on lines, each with its bytes."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.fusion.traffic import NodeFacts, is_view, select_nodes, strip_operator_name
from workbench.analysis.memory.memory import Memory, memory
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report import Kernel, Report
from workbench.report.memory_rows import Allocation

Waste = Literal["evaluated again", "part holds the whole", "converted weight", "scratch"]
_FUNCTIONS: Mapping[str, str] = {
    name: rf"(?:libdevice\.|tl_math\.|std::|\.){name}\("
    for name in ("erf", "tanh", "sin", "cos", "log1p", "expm1", "atan", "lgamma", "digamma")
}
"""Functions that cost many instructions, and what calls them in Triton and in C++."""
_TAIL = "C10_UNLIKELY"  # the elements behind the last whole vector: the same once more in the text
_CASTS = ("convert_element_type", "_to_copy")
_MUCH = 2  # times the size that is needed
_WIDE = 1.5


@dataclass(frozen=True, slots=True)
class MemoryRemark:
    """What could be left out; `bytes` are those that it takes, or that would do in its place.

    "evaluated again": a kernel computes a function several times for each element; `bytes` would
    keep the result. "part holds the whole": of what lives on only a part is needed, `bytes` are the
    others. "converted weight": a weight is copied into another type in each call. "scratch": an
    operator takes more than its result. `count` is how often, `dtype` the type of the copy.
    """

    waste: Waste  # what could be left out
    text: str  # in a sentence
    bytes: int
    kernel: str | None  # the kernel that it is about
    storage: str | None  # the storage, by its id in the allocations
    node: str | None  # the operator, by its id
    file: str | None  # the file, from the home folder or from site-packages on; or the cell
    line: int | None  # the line, from 1
    count: int = 1
    dtype: str | None = None


def remarks(report: Report) -> tuple[MemoryRemark, ...]:
    """What a program could do without, most bytes first."""
    return report.once(_remarks)


def _remarks(report: Report) -> tuple[MemoryRemark, ...]:
    remarks = list(_evaluated_again(report))
    if explain_unknown_memory(report) is None:
        with contextlib.suppress(UsageError):  # it runs no kernel
            remarks += _of_storages(memory(report))
    return tuple(sorted(remarks, key=lambda remark: -remark.bytes))


def _evaluated_again(report: Report) -> Iterator[MemoryRemark]:
    """Functions that a kernel's text calls more often than the graph has them in it."""
    for kernel in report.kernels:
        text = report.texts.get(kernel.text or "")
        if text is None:
            continue
        body = _whole_vectors(text)
        counts = {name: len(re.findall(call, body)) for name, call in _FUNCTIONS.items()}
        if any(counts.values()):
            by_id = select_nodes(report, "id", set(kernel.nodes))
            nodes = [by_id[id] for id in kernel.nodes if id in by_id]
            yield from _more_often(kernel, nodes, counts)


def _more_often(
    kernel: Kernel, nodes: Iterable[NodeFacts], counts: Mapping[str, int]
) -> Iterator[MemoryRemark]:
    own: dict[str, list[NodeFacts]] = defaultdict(list)
    for node in nodes:
        own[strip_operator_name(node.target)].append(node)
    for name, count in counts.items():
        # its nodes are those of all its calls
        per_call = -(-len(own[name]) // max(kernel.calls, 1))
        if not per_call:
            continue  # a helper of another function
        times, node = count // per_call, own[name][0]
        if times > 1 and node.bytes:
            text = (
                f"{kernel.id} evaluates {name} {times} times per element, once in each loop. "
                f"Storing the result would take {number_text(node.bytes, 'bytes')}."
            )
            place = node.id, node.file, node.line
            yield MemoryRemark(
                "evaluated again", text, node.bytes, kernel.id, None, *place, count=times
            )


def _whole_vectors(text: str) -> str:
    """The text of a kernel without its branches for the elements behind the last whole vector."""
    kept, depth, is_out, has_begun = [], 0, False, False
    for line in text.split("\n"):
        if not is_out and _TAIL in line:
            is_out, has_begun, depth = True, False, 0
        if not is_out:
            kept.append(line)
            continue
        depth += line.count("{") - line.count("}")
        has_begun = has_begun or "{" in line
        is_out = not (has_begun and depth <= 0)
    return "\n".join(kept)


def _of_storages(usage: Memory) -> Iterator[MemoryRemark]:
    own = {row.node for row in usage.allocations if row.node is not None}
    graphs = {id.partition(":")[0] for id in own}
    nodes = select_nodes(usage.report, "graph", graphs)
    for row in usage.allocations:
        node = nodes.get(row.node or "")
        if node is None or row.kind in ("weights", "constant", "input"):
            continue
        yield from _converted(usage, row, node, nodes)
        yield from _scratch(usage, row, node)
    yield from _held_by_parts(usage, nodes)


def _converted(
    usage: Memory, row: Allocation, node: NodeFacts, nodes: Mapping[str, NodeFacts]
) -> Iterator[MemoryRemark]:
    """A weight that is copied into another type, each time that it is called."""
    if strip_operator_name(node.target) not in _CASTS or not node.inputs:
        return
    source = _base(nodes.get(node.inputs[0]), nodes)
    rows = [allocation for allocation in usage.allocations if allocation.kind == "weights"]
    weights = {name: allocation for allocation in rows for name in allocation.names}
    weight = weights.get(source.id.rpartition(":")[2]) if source is not None else None
    if source is None or weight is None or source.op != "placeholder":
        return
    size = number_text(row.bytes, "bytes")
    yield _remark(
        usage,
        "converted weight",
        f"{weight.value} is {source.dtype}, and each call converts it to {node.dtype}, which "
        f"takes {size}.",
        row,
        row.bytes,
        node.dtype,
    )


def _scratch(usage: Memory, row: Allocation, node: NodeFacts) -> Iterator[MemoryRemark]:
    """More than the result of an operator needs: partial sums, a wider type, a workspace."""
    operator = strip_operator_name(node.target)
    if row.kind == "workspace":
        yield _remark(
            usage,
            "scratch",
            f"{operator} uses a workspace of {number_text(row.bytes, 'bytes')}.",
            row,
            row.bytes,
        )
    elif row.kind == "temporary" and node.bytes and row.bytes >= _WIDE * node.bytes:
        yield _remark(
            usage,
            "scratch",
            f"{operator} uses {number_text(row.bytes, 'bytes')} for a result of "
            f"{number_text(node.bytes, 'bytes')}: a buffer for partial results or a wider dtype.",
            row,
            row.bytes,
        )


def _held_by_parts(usage: Memory, nodes: Mapping[str, NodeFacts]) -> Iterator[MemoryRemark]:
    """Storages that live on for a part of them: what is returned, what is kept for the backward."""
    rows = {row.node: row for row in usage.allocations if row.node is not None}
    needed: Counter[str] = Counter()
    for id in {id for node in nodes.values() if node.op == "output" for id in node.inputs}:
        part = nodes.get(id)
        whole = _base(part, nodes)
        if part is not None and whole is not None and whole.id in rows:
            needed[whole.id] += part.bytes or whole.bytes or 0
    for id, size in needed.items():
        row = rows[id]
        if row.kind not in ("output", "saved for backward", "gradient") or not size:
            continue
        if row.bytes >= _MUCH * size:
            is_saved = row.kind == "saved for backward"
            what = "The backward pass needs" if is_saved else "It returns"
            yield _remark(
                usage,
                "part holds the whole",
                f"{what} only {number_text(size, 'bytes')} of {row.value}, in a view that keeps "
                f"all {number_text(row.bytes, 'bytes')} live.",
                row,
                row.bytes - size,
            )


def _base(node: NodeFacts | None, nodes: Mapping[str, NodeFacts]) -> NodeFacts | None:
    """What a view is a view of."""
    while node is not None and node.op == "call_function" and is_view(node) and node.inputs:
        node = nodes.get(node.inputs[0])
    return node


def _remark(
    usage: Memory, waste: Waste, text: str, row: Allocation, size: int, dtype: str | None = None
) -> MemoryRemark:
    kernels = usage.timeline.kernels
    kernel = kernels[min(row.step_from, len(kernels) - 1)] if kernels else None
    place = row.node, row.file, row.line
    return MemoryRemark(waste, text, size, kernel, row.id, *place, dtype=dtype)
