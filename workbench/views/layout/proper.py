"""The proper layered graph: all edges join neighbouring layers, through dummies where long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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


def proper(inputs: Sequence[Sequence[int]], rank: Sequence[int], longest: int) -> Proper:
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
