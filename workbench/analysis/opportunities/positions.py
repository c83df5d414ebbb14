"""Logits of every position of a sequence, when often only the last are used."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.fusion.traffic import NodeFacts, select_nodes
from workbench.analysis.memory.memory import memory
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report import Buffer, Kernel

_WIDER = 4  # times the width of what is multiplied: a vocabulary, not a layer
_TOKENS = ("int64", "int32")
_PRODUCTS = ("mm", "addmm")
_CALL = re.compile(r"\b([\w.]+)\((\w+)\)")


def find_logits_of_all_positions(facts: Facts) -> Iterator[Opportunity]:
    """Logits of each position of an inference, where they are half of its memory or more."""
    for kernel, node, result in _logits(facts):
        positions = _positions(facts, node)
        lowers, above = _share_of_peak(facts, result) if positions else (0, 0)
        if positions is None or not lowers or 2 * lowers < above:
            continue
        saved = (result.bytes or 0) * (positions - 1) // positions
        place = facts.place([node])
        line = facts.line_at(place["file"], place["line"]) if place else None
        yield Opportunity(
            id="",
            rule="logits-of-all-positions",
            kind="rewrite",
            text="Compute the logits of the last position alone if you need only the next token: "
            f"transformers models take `logits_to_keep=1`. Without the logits of all {positions} "
            f"positions, the peak ({number_text(above, 'bytes')} above weights and inputs) is "
            f"{number_text(lowers, 'bytes')} lower.",
            sure="possible",
            source="counted: the storage at the memory peak, and the bytes that are no longer "
            f"written{facts.time_source([kernel])}",
            kernels=(kernel.id,),
            **place,
            saved_bytes_low=saved,
            saved_bytes_high=saved,
            saved_us_low=facts.least_microseconds(saved, [kernel]),
            saved_us_high=facts.microseconds(saved, [kernel]),
            after=(_of_the_last(line[1] if line else ""),),
        )


def _of_the_last(line: str) -> str:
    """The line with the last position alone, where it has one call; else an example."""
    if len(_CALL.findall(line)) == 1:
        return _CALL.sub(r"\1(\2[:, -1:])", line).strip()
    return "logits = self.lm_head(hidden[:, -1:])"


def _logits(facts: Facts) -> Iterator[tuple[Kernel, NodeFacts, Buffer]]:
    """Matmuls whose result an inference returns, and that are much wider than their input."""
    if any(wrapper.is_backward for wrapper in facts.report.wrappers):
        return
    for kernel in facts.kernels:
        node = next((n for n in facts.nodes_of(kernel) if base(n.target) in _PRODUCTS), None)
        result = next((b for b, _ in facts.written(kernel) if b.kind == "output"), None)
        if node is not None and result is not None and _is_wide(facts, node):
            yield kernel, node, result


def _is_wide(facts: Facts, node: NodeFacts) -> bool:
    """Whether the result is much wider than what it is computed from."""
    source = facts.nodes.get(node.inputs[-2]) if len(node.inputs) > 1 else None
    if source is None or not source.shape or not node.shape or len(node.shape) != 2:
        return False
    inner, outer = source.shape[-1], node.shape[-1]
    return isinstance(inner, int) and isinstance(outer, int) and outer >= _WIDER * inner


def _positions(facts: Facts, node: NodeFacts) -> int | None:
    """How many positions each sequence has; None if the matmul is not one for each token.

    Tokens are integers of two dimensions that the call takes, and a result of the call has a value
    for each of them and each entry of the vocabulary.
    """
    graph = node.id.partition(":")[0]
    ends = select_nodes(facts.report, "op", {"output", "placeholder"})
    own = {id: n for id, n in ends.items() if id.partition(":")[0] == graph}
    results = {id for n in own.values() if n.op == "output" for id in n.inputs}
    shapes = [n.shape for n in select_nodes(facts.report, "id", results).values()]
    tokens = [n.shape for n in own.values() if n.op == "placeholder" and n.dtype in _TOKENS]
    rows, width = node.shape or (None, None)
    for shape in tokens:
        if shape is None or len(shape) != 2 or (*shape, width) not in shapes:
            continue
        sequences, positions = shape
        if isinstance(sequences, int) and isinstance(positions, int) and positions > 1:
            return positions if sequences * positions == rows else None
    return None


def _share_of_peak(facts: Facts, result: Buffer) -> tuple[int, int]:
    """By how much the peak is lower without it, and the peak, above what the caller holds."""
    try:
        usage = memory(facts.report)
    except UsageError:
        return 0, 0  # its memory is not known
    lowers = max(
        (
            usage.peak - row.peak_without
            for row in usage.allocations
            if row.graph == result.graph
            and result.name in row.names
            and row.peak_without is not None
        ),
        default=0,
    )
    return lowers, usage.peak - usage.base
