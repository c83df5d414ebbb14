"""The layered layout: nothing overlaps, every edge runs down and beside the nodes."""

from __future__ import annotations

import itertools
import random

import pytest

from workbench.views.layout import NODE_HEIGHT, NODE_WIDTH, Layout, layered


def like_fx(count: int, seed: int = 1) -> list[list[int]]:
    """A chain with branches, skips and weights, such as FX graphs are."""
    chance = random.Random(seed)
    inputs: list[list[int]] = []
    last = -1
    for node in range(count):
        if last < 0 or chance.random() < 0.15:
            inputs.append([])
        else:
            parts = {last}
            for _ in range(chance.choice((0, 0, 1, 2))):
                reach = 8 if chance.random() < 0.85 else 60
                parts.add(max(0, node - 1 - chance.randrange(reach)))
            inputs.append(sorted(parts))
        last = node
    return inputs


def crosses_a_node(layout: Layout, route: list[float]) -> bool:
    """Whether a polyline enters the box of a node that is not one of its ends."""
    source, target, *flat = route
    points = list(zip(flat[::2], flat[1::2], strict=True))
    for node in range(len(layout.x)):
        if node in (source, target):
            continue
        left, right = layout.x[node] - NODE_WIDTH / 2, layout.x[node] + NODE_WIDTH / 2
        top, bottom = layout.y[node] - NODE_HEIGHT / 2, layout.y[node] + NODE_HEIGHT / 2
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            from_y, to_y = max(y1, top), min(y2, bottom)
            if from_y >= to_y:
                continue
            at = [x1 + (x2 - x1) * (y - y1) / (y2 - y1) for y in (from_y, to_y)]
            if max(at) > left and min(at) < right:
                return True
    return False


@pytest.mark.parametrize("seed", range(5))
def test_nodes_of_a_layer_do_not_overlap(seed: int) -> None:
    layout = layered(like_fx(300, seed))
    layers: dict[int, list[float]] = {}
    for x, level in zip(layout.x, layout.level, strict=True):
        layers.setdefault(level, []).append(x)
    for row in layers.values():
        row.sort()
        assert all(b - a >= NODE_WIDTH for a, b in itertools.pairwise(row))


def test_every_edge_goes_downwards() -> None:
    inputs = like_fx(500)
    layout = layered(inputs)
    for node, parts in enumerate(inputs):
        assert all(layout.level[part] < layout.level[node] for part in parts)
        assert all(layout.y[part] < layout.y[node] for part in parts)


@pytest.mark.parametrize("seed", range(3))
def test_edges_run_beside_the_nodes(seed: int) -> None:
    inputs = like_fx(150, seed)
    layout = layered(inputs)
    assert len(layout.routes) == sum(map(len, inputs))
    drawn = [route for route in layout.routes if len(route) > 2]
    assert len(drawn) > 100
    assert not any(crosses_a_node(layout, route) for route in drawn)


def test_everything_lies_inside_the_stated_size() -> None:
    layout = layered(like_fx(400))
    assert min(layout.x) >= NODE_WIDTH / 2 - 0.1
    assert max(layout.x) <= layout.width - NODE_WIDTH / 2 + 0.1
    assert max(layout.y) == layout.height - NODE_HEIGHT / 2
    for route in layout.routes:
        assert all(-0.1 <= x <= layout.width + 0.1 for x in route[2::2])


def test_a_route_joins_the_bottom_of_one_node_to_the_top_of_the_other() -> None:
    layout = layered([[], [0], [1], [0, 2]])
    skip = next(route for route in layout.routes if route[:2] == [0, 3])
    assert (skip[2], skip[3]) == (layout.x[0], layout.y[0] + NODE_HEIGHT / 2)
    assert (skip[-2], skip[-1]) == (layout.x[3], layout.y[3] - NODE_HEIGHT / 2)


def test_straight_edges_can_be_left_out() -> None:
    inputs = like_fx(300)
    whole, short = layered(inputs), layered(inputs, straight=False)
    assert short.x == whole.x
    assert short.routes == [route for route in whole.routes if len(route) > 6]


def test_a_weight_sinks_to_where_it_is_used() -> None:
    chain: list[list[int]] = [[], []]  # the input and a weight
    chain += [[0]] + [[node] for node in range(2, 12)]
    chain += [[1], [12, 13]]  # the weight's transpose, and the product
    layout = layered(chain)
    assert layout.level[13] == layout.level[14] - 1
    assert layout.level[1] == layout.level[14] - 2


def test_a_long_edge_is_a_rail() -> None:
    chain: list[list[int]] = [[], *([node] for node in range(20))]
    chain.append([0, 20])
    layout = layered(chain)
    assert [0, 21] in layout.routes
    assert layout.width < 2 * NODE_WIDTH


def test_the_same_graph_gives_the_same_layout() -> None:
    assert layered(like_fx(200)) == layered(like_fx(200))


def test_no_node_and_one_node() -> None:
    assert layered([]) == Layout([], [], [], 0.0, 0.0, [])
    one = layered([[]])
    assert (one.x, one.y, one.width, one.height) == ([52.0], [11.0], NODE_WIDTH, NODE_HEIGHT)


@pytest.mark.parametrize("inputs", [[[0]], [[1], []], [[], [2], [1]]])
def test_a_cycle_is_refused(inputs: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="does not come before"):
        layered(inputs)


def test_a_large_graph_keeps_only_short_edges() -> None:
    layout = layered(like_fx(20_001))
    assert len(layout.x) == 20_001
    steps = {layout.level[int(r[1])] - layout.level[int(r[0])] for r in layout.routes if len(r) > 2}
    assert steps == {1}
