"""A layered layout: positions of the nodes, and edges that run between them, never behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def order(graph: Proper, sweeps: int) -> None:
    """Sort the layers in place, down and up `sweeps` times; equal keys keep their order."""
    position = [0.0] * len(graph.rank)
    for layer in graph.layers:
        for index, vertex in enumerate(layer):
            position[vertex] = index
    for _ in range(sweeps):
        _sweep(graph.layers, graph.up, position)
        _sweep(reversed(graph.layers), graph.down, position)


def _sweep(layers: Iterable[list[int]], neighbours: list[list[int]], position: list[float]) -> None:
    at = position.__getitem__
    for layer in layers:
        if len(layer) < 2:
            continue
        for vertex in layer:
            near = neighbours[vertex]
            if len(near) == 1:
                position[vertex] = position[near[0]]
            elif near:
                position[vertex] = sum(map(at, near)) / len(near)
        layer.sort(key=at)
        for index, vertex in enumerate(layer):
            position[vertex] = index


GRAVITY = 0.97  # draws towards the middle line, or a chain of thousands of layers wanders off


def place(graph: Proper, widths: list[float], gap: float, rounds: int) -> list[float]:
    """Centres in pixels; vertices of a layer never come nearer than `gap`."""
    x = _packed(graph.layers, widths, gap)
    for round in range(rounds):
        if round % 2 == 0:
            _relax(graph.layers, graph.up, x, widths, gap)
        else:
            _relax(reversed(graph.layers), graph.down, x, widths, gap)
    return x


def _packed(layers: list[list[int]], widths: list[float], gap: float) -> list[float]:
    x = [0.0] * len(widths)
    for layer in layers:
        total = sum([widths[v] for v in layer]) + gap * (len(layer) - 1)
        edge = -total / 2
        for vertex in layer:
            x[vertex] = edge + widths[vertex] / 2
            edge += widths[vertex] + gap
    return x


def _relax(
    layers: Iterable[list[int]],
    neighbours: list[list[int]],
    x: list[float],
    widths: list[float],
    gap: float,
) -> None:
    """Move each layer to the means of its neighbours: isotonic regression under the separation.

    Taking the least distances off first turns *keep apart* into *do not decrease*, which pooling
    adjacent violators solves exactly in linear time.
    """
    at = x.__getitem__
    for layer in layers:
        if len(layer) == 1:
            near = neighbours[layer[0]]
            if near:
                x[layer[0]] = GRAVITY * sum(map(at, near)) / len(near)
            continue
        offsets: list[float] = []
        sums: list[float] = []
        counts: list[int] = []
        offset = half = 0.0
        for vertex in layer:
            width = widths[vertex] / 2
            offset += half + width + gap
            half = width
            offsets.append(offset)
            near = neighbours[vertex]
            wish = GRAVITY * (sum(map(at, near)) / len(near) if near else x[vertex]) - offset
            count = 1
            while sums and sums[-1] * count >= wish * counts[-1]:
                wish += sums.pop()
                count += counts.pop()
            sums.append(wish)
            counts.append(count)
        index = 0
        for total, count in zip(sums, counts, strict=True):
            mean = total / count
            for _ in range(count):
                x[layer[index]] = mean + offsets[index]
                index += 1


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
