"""Kernels that move more than their operators would one by one, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.analysis.fusion.kinds import GENERATED
from workbench.analysis.fusion.traffic import count_bytes_by_node
from workbench.number_text import number_text
from workbench.report import Kernel, Report

_NOTHING = 1.005  # times the bytes of the operators: less is the padding of a partial result

Moved = Mapping[str, tuple[int, int]]
"""By kernel: the bytes of its operators alone, and together."""


def explain_worse_fusion(report: Report, moved: Moved) -> dict[str, str]:
    """By id of a generated kernel that fusion made worse: by how much and why, in sentences.

    Bytes are Inductor's model of the traffic to DRAM, not measured.
    """
    kernels = {kernel.id: kernel for kernel in report.kernels}
    found = {}
    for id, (alone, together) in moved.items():
        kernel = kernels.get(id)
        if kernel is None or kernel.language not in GENERATED or together <= alone * _NOTHING:
            continue
        parts = [*_again(report, kernel, moved), *_partial(report, kernel)]
        reason = " ".join(parts) or "The record does not say what it reads or writes besides."
        more = (
            f"It moves {_bytes(together)}, its operations, each alone, {_bytes(alone)} (estimates)."
        )
        found[id] = f"{more} {reason}"
    return found


def _again(report: Report, kernel: Kernel, moved: Moved) -> Iterator[str]:
    """What another kernel computes too, and whether that pays in all."""
    alone_bytes = count_bytes_by_node(report)
    own = {node for node in kernel.nodes if alone_bytes.get(node) != 0}  # views cost nothing
    others = [
        each
        for each in report.kernels
        if each.id != kernel.id and each.language in GENERATED and own & set(each.nodes)
    ]
    if not others:
        return
    shared = dict.fromkeys(node for each in others for node in each.nodes if node in own)
    names = ", ".join(node.rpartition(":")[2] for node in shared)
    who = ", ".join(each.id for each in others)
    verb = "compute" if len(others) > 1 else "computes"
    yield (
        f"It computes {names} again, which {who} {verb} too, and so reads what they start from "
        "instead of a result that was kept."
    )
    all_of = [moved[each.id] for each in (kernel, *others) if each.id in moved]
    alone, together = (sum(part) for part in zip(*all_of, strict=True))
    is_less = together < alone
    word = "still move less" if is_less else "move more"
    yield f"Together these kernels {word}: {_bytes(together)} instead of {_bytes(alone)}."


def _partial(report: Report, kernel: Kernel) -> Iterator[str]:
    """Parts of a value that it leaves for another kernel."""
    own = set(kernel.scheduler_nodes)
    rows = [row for row in report.buffers if row.graph == kernel.graph]
    if all(row.node is None for row in rows):
        return  # a record that does not say what its buffers hold
    parts = [
        row.name
        for row in rows
        if row.node is None
        and row.stored_in is None
        and own & set(row.written_by)
        and set(row.read_by) - own
    ]
    if parts:
        yield (
            f"It leaves partial results in {', '.join(parts)}: Inductor split a reduction over two "
            "kernels, so that more of the device works on it."
        )


def _bytes(value: float) -> str:
    return number_text(value, "bytes")
