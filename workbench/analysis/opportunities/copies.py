"""Avoidable copies: of a matrix before a matmul, into another memory format."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.fusion.traffic import NodeFacts, count_moved_bytes
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.report import Buffer, Kernel

_COPIES = frozenset(("clone", "permute", "t", "transpose", "view", "reshape"))
_PRODUCTS = frozenset(("mm", "addmm"))
_COPYING = re.compile(r"\.(contiguous|clone)\(\)")
_COUNTED = "counted: the traffic of the copying kernels"
_STAYS = 0.5
"""The share of a copy's measured time that stays at most: reading, which the matmul then does."""


def find_copied_matrices(facts: Facts) -> Iterator[Opportunity]:
    """A matrix that `.contiguous()` or `.clone()` copies only for a matmul, which needs no copy."""
    for kernel in facts.kernels:
        node = _copy(facts, kernel)
        moved = count_moved_bytes(kernel)
        if node is None or moved is None or node.file is None or node.line is None:
            continue
        line = facts.line_at(node.file, node.line)
        text = "" if line is None else line[1]
        calls = list(_COPYING.finditer(text))
        if len(calls) != 1:
            continue
        name = calls[0][0]
        stays = (
            "; the low end is half of it, because the matmul still has to read the matrix"
            if facts.is_measured([kernel])
            else ""
        )
        yield Opportunity(
            id="",
            rule="copied-matrix",
            kind="rewrite",
            text=f"Remove {name}: only a matmul reads the copy, and matmuls accept any strides.",
            sure="likely",
            source=_COUNTED + facts.time_source([kernel]) + stays,
            kernels=(kernel.id,),
            **facts.place([node]),
            saved_bytes_low=moved,
            saved_bytes_high=moved,
            saved_us_low=facts.least_microseconds(moved, [kernel], stays=_STAYS),
            saved_us_high=facts.microseconds(moved, [kernel]),
            fewer_kernels=max(kernel.calls, 1),
            before=(text,),
            after=(_COPYING.sub("", text),),
        )


def _copy(facts: Facts, kernel: Kernel) -> NodeFacts | None:
    """The copy that a kernel is, if it copies a dense matrix for matmuls."""
    if not kernel.is_generated or not {base(op) for op in kernel.ops} <= _COPIES:
        return None
    nodes = [node for node in facts.nodes_of(kernel) if base(node.target) == "clone"]
    if len(nodes) != 1 or len(nodes[0].shape or ()) != 2:
        return None
    source = facts.nodes.get(nodes[0].inputs[0]) if nodes[0].inputs else None
    if source is None or source.bytes != nodes[0].bytes or base(source.target) == "expand":
        return None
    for buffer, readers in facts.written(kernel):
        if buffer.kind != "intermediate" or not readers or not all(map(_is_product, readers)):
            return None
    return nodes[0]


def _is_product(kernel: Kernel) -> bool:
    return kernel.is_library and any(base(op) in _PRODUCTS for op in kernel.ops)


def find_padded_matrices(facts: Facts) -> Iterator[Opportunity]:
    """Matrices that are copied with padded rows or columns, for a GPU's matrix units."""
    padding = [kernel for kernel in facts.kernels if _is_padding(facts, kernel)]
    moved = sum(count_moved_bytes(kernel) or 0 for kernel in padding)
    if not moved:
        return
    readers = {r.id: r for k in padding for _, readers in facts.written(k) for r in readers}
    yield Opportunity(
        id="",
        rule="padded-matrix",
        kind="padding",
        text="Choose sizes whose rows and columns are multiples of 16 bytes (8 elements in "
        "bfloat16). Now each call pads the matrices with zeros to use the GPU's matrix units.",
        sure="likely",
        source="counted: the traffic of the padding kernels" + facts.time_source(padding),
        kernels=tuple(kernel.id for kernel in padding),
        **facts.place(n for k in readers.values() for n in facts.nodes_of(k)),
        saved_bytes_low=moved,
        saved_bytes_high=moved,
        saved_us_low=facts.least_microseconds(moved, padding),
        saved_us_high=facts.microseconds(moved, padding),
        fewer_kernels=sum(max(kernel.calls, 1) for kernel in padding),
    )


def _is_padding(facts: Facts, kernel: Kernel) -> bool:
    """Whether a kernel only pads, for matmuls, by Inductor's choice and not by its line."""
    if facts.gpu is None or {base(op) for op in kernel.ops} != {"constant_pad_nd"}:
        return False
    written = facts.written(kernel)
    lines = [facts.line_at(n.file or "", n.line or 0) for n in facts.nodes_of(kernel)]
    return (
        bool(written)
        and not any("pad" in line[1] for line in lines if line is not None)
        and all(b.kind == "intermediate" and r and all(map(_is_product, r)) for b, r in written)
    )


def find_channels_last(facts: Facts) -> Iterator[Opportunity]:
    """Images and weights that every call converts for the convolutions that read them."""
    kernels, total, images = _rearranged(facts)
    if not images:
        return
    whole = [k for k in kernels if {base(op) for op in k.ops} == {"convolution"}]
    back = _turned_back(facts)
    source, high = "", facts.microseconds(total, kernels)
    if back and high is not None and facts.is_measured((*kernels, *back)):
        source = "; the high end includes the kernels that convert outputs to eager's memory format"
        high += sum(kernel.time_us or 0.0 for kernel in back)
    yield Opportunity(
        id="",
        rule="channels-last",
        kind="layout",
        text="Keep the model and the images in torch.channels_last (NHWC). The convolutions run "
        "in this format, so now each call first converts the images and the weights.",
        sure="likely",
        source="counted: reading and writing each converted input"
        f"{facts.time_source(kernels)}{source}",
        kernels=tuple(kernel.id for kernel in kernels),
        **facts.place(n for k in kernels for n in facts.nodes_of(k)),
        saved_bytes_low=total,
        saved_bytes_high=total,
        saved_us_low=facts.least_microseconds(total, kernels),
        saved_us_high=high,
        fewer_kernels=len(whole) or None,
        settings=(("memory_format", "channels_last"),),
    )


def _rearranged(facts: Facts) -> tuple[list[Kernel], int, int]:
    """The kernels that copy inputs for convolutions, the bytes of the copies, how many there are.

    The bytes are those read and written.
    """
    before = {n.id: n for n in facts.report.scheduler_nodes if n.phase == "before"}
    inputs: dict[str, list[Buffer]] = {}
    for buffer in facts.report.buffers:
        for node in buffer.read_by if buffer.kind == "input" else ():
            inputs.setdefault(node, []).append(buffer)
    kernels: dict[str, Kernel] = {}
    total = images = 0
    for buffer, writers, readers in facts.buffers:
        nodes = [before[id] for id in buffer.written_by if id in before]
        reads = [source for node in buffer.written_by for source in inputs.get(node, ())]
        is_copy = len(nodes) == 1 and nodes[0].kind == "pointwise" and len(reads) == 1
        if not is_copy or reads[0].shape != buffer.shape or len(buffer.shape or ()) != 4:
            continue
        if not writers or not readers or not all(map(_is_convolution, readers)):
            continue
        if {_op(facts, id) for id in nodes[0].origins} != {"convolution"}:
            continue
        kernels |= {kernel.id: kernel for kernel in writers}
        total += 2 * (buffer.bytes or 0)
        images += 1
    return list(kernels.values()), total, images


def _turned_back(facts: Facts) -> list[Kernel]:
    """The generated kernels that make outputs of convolutions' results, all of one shape."""
    by_id: dict[str, Kernel] = {}
    for buffer, writers, _ in facts.buffers:
        for kernel in writers if buffer.kind == "output" else ():
            inputs = (b for b, made_by in facts.read(kernel) if any(map(_is_convolution, made_by)))
            if kernel.is_generated and any(b.shape == buffer.shape for b in inputs):
                by_id[kernel.id] = kernel
    return list(by_id.values())


def _op(facts: Facts, node: str) -> str:
    facts_of_node = facts.nodes.get(node)
    return "" if facts_of_node is None else base(facts_of_node.target)


def _is_convolution(kernel: Kernel) -> bool:
    return kernel.is_library and any(base(op) == "convolution" for op in kernel.ops)
