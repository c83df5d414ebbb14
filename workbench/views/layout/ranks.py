"""The layer of every node: below all of its inputs, leaves just above their first consumer."""

from __future__ import annotations

from collections.abc import Sequence

SINK_DEPTH = 3  # a weight, its transpose and a cast of it sink as one to where they are used


def consumers(inputs: Sequence[Sequence[int]]) -> list[list[int]]:
    """The nodes that read each node; raises `ValueError` when an input does not come before."""
    found: list[list[int]] = [[] for _ in inputs]
    for node, parts in enumerate(inputs):
        for part in parts:
            if not 0 <= part < node:
                raise ValueError(f"node {node} reads node {part}, which does not come before it")
            found[part].append(node)
    return found


def ranks(inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> list[int]:
    """Layers from 0 by longest path.

    What depends on leaves only, within `SINK_DEPTH` steps, moves down to its first consumer: a
    weight would otherwise hang on an edge through a thousand layers.
    """
    rank = [0] * len(inputs)
    for node, parts in enumerate(inputs):
        if parts:
            rank[node] = max([rank[part] for part in parts]) + 1
    for node in range(len(inputs) - 1, -1, -1):
        if rank[node] < SINK_DEPTH and outputs[node]:
            rank[node] = min([rank[reader] for reader in outputs[node]]) - 1
    return rank
