"""A layered layout: positions of the nodes, and edges that run between them, never behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.views.layout.place import order, place
from workbench.views.layout.proper import cut_long_edges, find_consumers, ranks

NODE_WIDTH = 104.0
NODE_HEIGHT = 22.0
GAP_X = 14.0
GAP_Y = 26.0
DUMMY_WIDTH = 6.0
LONGEST = 6  # layers that an edge is routed through; a longer one is drawn on demand
LARGE = 20_000  # from here on only edges between neighbouring layers are routed


@dataclass(frozen=True)
class Layout:
    """Where everything is, in pixels; x and y are centres, y grows with the layer.

    `routes` has an entry per edge: from, to, then the points of a polyline, or nothing after the
    two for a rail. Without straight ones it has only the edges that pass other layers.
    """

    x: list[float]
    y: list[float]
    level: list[int]
    width: float
    height: float
    routes: list[list[float]]


def layered(
    inputs: Sequence[Sequence[int]],
    *,
    width: float = NODE_WIDTH,
    sweeps: int = 4,
    rounds: int = 6,
    straight: bool = True,
) -> Layout:
    """Lay out nodes of one size; `inputs` are indexes of earlier nodes.

    Without `straight`, routes that need no point between their ends are left out.

    The same graph always gives the same layout. Raises `ValueError` for an input that does not
    come before its reader (a cycle cannot be written otherwise).
    """
    if not inputs:
        return Layout([], [], [], 0.0, 0.0, [])
    is_large = len(inputs) > LARGE
    graph = cut_long_edges(
        inputs, ranks(inputs, find_consumers(inputs)), 1 if is_large else LONGEST
    )
    order(graph, sweeps // 2 if is_large else sweeps)
    widths = [width] * graph.real + [DUMMY_WIDTH] * (len(graph.rank) - graph.real)
    x = place(graph, widths, GAP_X, rounds // 2 if is_large else rounds)
    left = min([x[layer[0]] - widths[layer[0]] / 2 for layer in graph.layers])
    right = max([x[layer[-1]] + widths[layer[-1]] / 2 for layer in graph.layers])
    x = [round(value - left, 1) for value in x]
    pitch = NODE_HEIGHT + GAP_Y
    level = graph.rank[: graph.real]
    y = [layer * pitch + NODE_HEIGHT / 2 for layer in level]
    height = len(graph.layers) * pitch - GAP_Y
    chains = graph.chains if straight else [chain for chain in graph.chains if len(chain) > 2]
    routes = _routes(graph.rank, chains, x, pitch)
    return Layout(x[: graph.real], y, level, right - left, height, routes)


def _routes(
    rank: list[int], chains: list[list[int]], x: list[float], pitch: float
) -> list[list[float]]:
    """Straight down beside the nodes of a layer, slanting only between layers."""
    routes: list[list[float]] = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        route: list[float] = [first, last]
        steps = rank[last] - rank[first]
        if len(chain) == steps + 1:
            top = rank[first] * pitch
            route += (x[first], top + NODE_HEIGHT)
            for vertex in chain[1:-1]:
                top += pitch
                at = x[vertex]
                route += (at, top, at, top + NODE_HEIGHT)
            route += (x[last], top + pitch)
        routes.append(route)
    return routes
