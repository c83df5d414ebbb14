"""What sort of kernel a kernel is: generated, a library call, a fallback."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.report import Kernel, Report
from workbench.report.column_filter import select_rows

GENERATED = ("triton", "cpp")
_FALLBACKS = ("aten::", "aten.", "torch.ops.")


def is_library(kernel: Kernel) -> bool:
    """Whether a kernel is a call of a library routine that Inductor chose, such as a GEMM."""
    return kernel.language not in GENERATED and not is_fallback(kernel)


def is_fallback(kernel: Kernel) -> bool:
    """Whether a kernel is an eager operator that Inductor has no code for."""
    return kernel.language not in GENERATED and kernel.name.startswith(_FALLBACKS)


def find_fallen_places(report: Report) -> dict[tuple[str, int], list[str]]:
    """By file and line of an operator that Inductor has no code for: the kernels that call it."""
    fallen = [kernel for kernel in report.kernels if is_fallback(kernel)]
    wanted = {id for kernel in fallen for id in kernel.nodes}
    nodes = {node.id: node for node in select_rows(report.nodes, "id", wanted)} if fallen else {}
    found: dict[tuple[str, int], list[str]] = {}
    for kernel in fallen:
        name = kernel.name.removeprefix("torch.ops.")
        inside = [nodes[id] for id in kernel.nodes if id in nodes]
        for node in [n for n in inside if n.target == name] or inside:
            if node.file is not None and node.line is not None:
                found.setdefault((node.file, node.line), []).append(kernel.id)
    return found


def mark_kernels(report: Report) -> dict[str, str]:
    """How each kernel's square looks: `g0` to `g7` generated, `ext` library call, `fb` fallback."""
    marks = {}
    generated = 0
    for kernel in report.kernels:
        if is_fallback(kernel):
            marks[kernel.id] = "fb"
        elif is_library(kernel):
            marks[kernel.id] = "ext"
        else:
            marks[kernel.id] = f"g{generated % 8}"
            generated += 1
    return marks


def kernel_kinds(report: Report) -> Mapping[str, str]:
    """By kernel id its kind: pointwise, reduction, template, library call or fallback.

    A generated kernel is a reduction when any of the scheduler nodes in it is one.
    """
    kinds: dict[str, str] = {}
    for node in report.scheduler_nodes:
        if node.phase == "before" or node.kind != "fused":
            kinds[node.id] = kinds[node.name] = node.kind
    found = {}
    for kernel in report.kernels:
        inside = {kinds[name] for name in kernel.scheduler_nodes if name in kinds}
        if is_fallback(kernel):
            found[kernel.id] = "fallback"
        elif is_library(kernel):
            found[kernel.id] = "library call"
        elif "template" in inside or "reduction" in inside:
            found[kernel.id] = "template" if "template" in inside else "reduction"
        else:
            found[kernel.id] = next(iter(sorted(inside)), "generated")
    return found
