"""Where vertices are in their layers: the order with few crossings, then the x of each."""

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
