"""The proper layered graph: a layer for every node, edges only between neighbouring layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SINK_DEPTH = 3  # a weight, its transpose and a cast of it sink as one to where they are used


def find_consumers(inputs: Sequence[Sequence[int]]) -> list[list[int]]:
    """The nodes that read each node; raises `ValueError` when an input does not come before."""
    consumers: list[list[int]] = [[] for _ in inputs]
    for node, parts in enumerate(inputs):
        for part in parts:
            if not 0 <= part < node:
                raise ValueError(f"node {node} reads node {part}, which does not come before it")
            consumers[part].append(node)
    return consumers


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


@dataclass(frozen=True)
class Proper:
    """A graph whose vertices from `real` on are dummies.

    `up`, `down` are the neighbours in the layer above and below; `chains` holds for each edge its
    vertices from end to end, only the two ends for an edge that became a rail.
    """

    real: int
    rank: list[int]
    up: list[list[int]]
    down: list[list[int]]
    chains: list[list[int]]
    layers: list[list[int]]


def cut_long_edges(inputs: Sequence[Sequence[int]], rank: Sequence[int], longest: int) -> Proper:
    """Cut edges of up to `longest` layers into steps; longer ones stay out of the layout."""
    ranks = list(rank)
    up: list[list[int]] = [[] for _ in inputs]
    down: list[list[int]] = [[] for _ in inputs]
    chains: list[list[int]] = []
    for node, parts in enumerate(inputs):
        below = rank[node]
        for part in parts:
            chain = [part]
            above = rank[part]
            if below - above <= longest:
                last = part
                for layer in range(above + 1, below):
                    dummy = len(ranks)
                    ranks.append(layer)
                    up.append([last])
                    down.append([])
                    down[last].append(dummy)
                    chain.append(dummy)
                    last = dummy
                down[last].append(node)
                up[node].append(last)
            chain.append(node)
            chains.append(chain)
    return Proper(len(inputs), ranks, up, down, chains, _layers(ranks, down))


def _layers(rank: list[int], down: list[list[int]]) -> list[list[int]]:
    """Vertices by layer in depth-first order, which keeps branches together from the start."""
    layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    seen = bytearray(len(rank))
    for root in range(len(rank)):
        stack = [root]
        while stack:
            vertex = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = 1
            layers[rank[vertex]].append(vertex)
            stack.extend([v for v in down[vertex] if not seen[v]])
    return layers
