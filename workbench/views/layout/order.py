"""The order inside each layer: barycentre sweeps, which remove most crossings."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.views.layout.proper import Proper


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
