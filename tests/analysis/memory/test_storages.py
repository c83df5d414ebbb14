"""Who refers to a storage, and when it goes."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.memory.storages import Storage, Walk
from workbench.artifacts.programs import Allocate, Call, Drop, Event, Inputs, Return, Share


def alone(name: str) -> Sequence[tuple[str, int | None]]:
    return [(name, None)]


def ran(*events: Event, inputs: dict[str, int] | None = None) -> tuple[Walk, list[Storage | None]]:
    walk = Walk()
    outputs = walk.run(events, {}, inputs or {}, alone)
    return walk, outputs


def test_the_peak_is_where_most_lives_and_reuse_is_one_storage() -> None:
    walk, outputs = ran(
        Allocate("buf0", 100),
        Call("k0"),
        Share("buf1", "buf0"),
        Drop("buf0"),
        Call("k1"),
        Allocate("buf2", 50),
        Call("k2"),
        Drop("buf1"),
        Allocate("buf3", 20),
        Call("k3"),
        Return(("buf3",)),
    )
    assert max(walk.moments) == (150, 2)
    assert [(s.names, s.first_step, s.last_step) for s in walk.storages] == [
        (["buf0", "buf1"], 0, 2),
        (["buf2"], 2, 3),
        (["buf3"], 3, None),
    ]
    assert outputs == [walk.storages[2]]
    assert walk.live == 20
    assert [(step.allocated, step.freed) for step in walk.steps][2:] == [(50, 100), (20, 50)]


def test_the_caller_keeps_its_inputs() -> None:
    walk, _ = ran(Inputs(("a",)), Drop("a"), Call("k0"), Return(()), inputs={"a": 7})
    assert walk.live == 7
    assert walk.storages[0].last_step is None


def test_parts_of_a_library_result_live_from_the_call_and_go_one_by_one() -> None:
    walk = Walk()
    events = (
        Call("sort", "buf0"),
        Share("buf1", "buf0", 0),
        Share("buf2", "buf0", 1),
        Drop("buf0"),
        Call("k1"),
        Drop("buf1"),
        Call("k2"),
        Drop("buf2"),
    )
    walk.run(events, {}, {}, lambda name: [(f"{name}[0]", 4), (f"{name}[1]", 8)])
    values, order = walk.storages
    assert (values.first_step, values.last_step, order.last_step) == (0, 1, 2)
    assert walk.live == 0


def test_a_size_that_is_not_known_is_named() -> None:
    walk, _ = ran(Call("topk", "buf0"))
    assert walk.unknown == ["buf0"]


def test_what_a_program_left_is_taken_by_the_next_and_goes_with_it() -> None:
    walk = Walk()
    first = walk.run((Allocate("buf0", 10), Call("k0"), Return(("buf0",))), {}, {}, alone)
    assert first[0] is not None
    second = (Inputs(("saved",)), Call("k1"), Drop("saved"), Call("k2"), Return(()))
    walk.run(second, {"saved": first[0]}, {}, alone)
    assert walk.live == 0
    assert (first[0].names, first[0].last_step) == (["buf0", "saved"], 1)
