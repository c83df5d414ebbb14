"""Copies of arguments: views, arguments that share memory, garbage."""

from __future__ import annotations

import numpy as np
import torch

from workbench.compiler.interpreter.watched.arena import Arena


def test_every_argument_has_its_own_neighbourhood() -> None:
    x, y = torch.arange(5.0), torch.arange(3)
    arena = Arena({"x": x, "n": 5, "y": y})
    assert arena.arguments["n"] == 5
    assert torch.equal(arena.tensors["x"], x)
    assert torch.equal(arena.tensors["y"], y)
    first, second = arena.parts
    assert second.start - first.end > 1 << 20
    assert arena.find_owner(first.end + 40)[0] is first
    assert arena.find_owner(second.start - 40)[0] is second


def test_a_view_has_holes_and_keeps_its_strides() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    arena = Arena({"x": whole[:, 1:3]})
    assert arena.tensors["x"].stride() == (4, 1)
    assert torch.equal(arena.tensors["x"], whole[:, 1:3])
    (part,) = arena.parts
    assert part.inside is not None
    assert np.count_nonzero(part.inside) == 6 * 4


def test_arguments_that_share_elements_still_do_and_neighbours_do_not() -> None:
    x = torch.arange(10.0)
    arena = Arena({"x": x, "out": x, "tail": x[4:], "pair": (torch.ones(2), 1)})
    assert [part.held.names for part in arena.parts] == [("x", "out", "tail"), ("pair[0]",)]
    arena.tensors["out"][5] = -1
    assert arena.tensors["tail"][1] == -1
    assert x[5] == 5
    both = torch.arange(12.0).reshape(3, 4)
    assert len(Arena({"left": both[:, :2], "right": both[:, 2:]}).parts) == 2


def test_what_nobody_wrote_holds_garbage() -> None:
    arena = Arena({"x": torch.zeros(3), "n": torch.zeros(3, dtype=torch.int32)}, ("x", "n"))
    assert arena.tensors["x"].isnan().all()
    assert (arena.tensors["n"] > 1 << 20).all()
