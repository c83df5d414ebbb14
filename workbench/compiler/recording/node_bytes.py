"""Bytes that one scheduler node moves: Inductor's traffic model, completed by constants.

Inductor leaves out what a node reads of the graph's constants, which the weights of a package are.
They are counted as Inductor counts inputs: each at most as often as the node has elements.
"""

from __future__ import annotations

from collections import Counter
from math import inf, prod
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.flops import evaluate_count


def count_bytes_read(node: Any) -> int:
    """What a node reads. Of a fused one Inductor counts a table that is looked up in as a whole."""
    parts = node.get_nodes()
    reads = _read(node)
    return reads if len(parts) < 2 else min(reads, sum(map(_read, parts)))


def count_bytes_written(node: Any) -> int:
    """What a node writes."""
    return _sizes(node, include_reads=False, include_writes=True)


def _read(node: Any) -> int:
    return _sizes(node, include_reads=True, include_writes=False) + _constants_read(node)


def _sizes(node: Any, **wanted: bool) -> int:
    """Inductor's traffic model; torch's other methods of it keep what they return."""
    return int(node.get_read_write_buffers_sizes_impl(**wanted))


def _constants_read(node: Any) -> int:
    constants = tp.VIRTUALIZED.get().graph.constants
    reads = Counter(dep.name for dep in node.read_writes.reads if dep.name in constants)
    if not reads:
        return 0
    elements = _elements(node)
    return sum(
        int(min(count * elements, constants[name].numel())) * constants[name].element_size()
        for name, count in reads.items()
    )


def _elements(node: Any) -> float:
    """How many elements a generated loop has; a library call may read all there are."""
    if len(node.get_nodes()) > 1 or node.is_extern():
        return inf
    count = evaluate_count(prod(size for sizes in node.get_ranges()[:2] for size in sizes))
    return inf if count is None else count
