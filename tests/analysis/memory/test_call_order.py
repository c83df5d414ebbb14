"""Calls of a program in the order of their blocks, and what is freed behind them."""

from __future__ import annotations

import random

from workbench.analysis.blocks.block_calls import KernelCall
from workbench.analysis.memory.call_order import Order, find_last_calls, order_calls
from workbench.artifacts.programs import Allocate, Call, Drop, Event, Inputs, Return, Share
from workbench.report import Kernel


def call(name: str, *names: str) -> Call:
    return Call(name, arguments=", ".join(names))


def order(events: list[Event], kernels: str, wanted: str) -> Order:
    """Kernels are single letters; so are their ids."""
    calls = [
        KernelCall(Kernel(id=name, graph="i1", name=name, language="triton")) for name in wanted
    ]
    return order_calls(events, list(kernels), calls)


def list_kernels(found: Order) -> str:
    return "".join(event.kernel for event in found.events if isinstance(event, Call))


PROGRAM: list[Event] = [
    Inputs(("x",)),
    Allocate("z", 8),
    call("z", "z"),
    Allocate("a", 8),
    call("a", "x", "a"),
    Allocate("b", 8),
    call("b", "a", "b"),
    Allocate("g", 8),
    call("g", "a", "g"),
    Drop("a"),
    Return(("b", "g", "z")),
]
"""`z` was moved to the front, the gradient `g` of the block of `a` behind the next block, `b`."""


def test_a_program_in_the_order_of_its_blocks_stays_as_it_is() -> None:
    found = order(PROGRAM, "zabg", "zabg")
    assert found.events == tuple(PROGRAM)
    assert found.places == (0, 1, 2, 3)
    assert found.late == 0


def test_what_was_moved_comes_back_and_is_freed_behind_its_last_call() -> None:
    found = order(PROGRAM, "zabg", "agbz")
    assert list_kernels(found) == "agbz"
    assert found.kernels == ("a", "g", "b", "z")
    assert found.places == (0, 1, 2, 3)
    # `b` needs `a`, too, and comes last now
    assert found.events.index(Drop("a")) == found.events.index(call("b", "a", "b")) + 1
    assert found.events.index(Allocate("z", 8)) == found.events.index(call("z", "z")) - 1
    assert isinstance(found.events[-1], Return)


def test_memory_that_is_used_again_keeps_calls_behind_those_that_need_it() -> None:
    events: list[Event] = [
        Inputs(("x",)),
        Allocate("a", 8),
        call("a", "x", "a"),
        Allocate("b", 8),
        call("b", "a", "b"),
        Share("g", "a"),
        Drop("a"),
        call("g", "x", "g"),
        Return(("b", "g")),
    ]
    found = order(events, "abg", "gab")
    assert list_kernels(found) == "abg"
    assert found.places == (1, 2, None)
    assert found.late == 1
    assert found.events == tuple(events)


def test_calls_of_one_kernel_are_told_apart_by_their_order() -> None:
    events: list[Event] = [
        Allocate("a", 8),
        call("k", "a"),
        Allocate("z", 8),
        call("z", "z"),
        Allocate("b", 8),
        call("k", "a", "b"),
    ]
    found = order(events, "kzk", "kkz")
    assert list_kernels(found) == "kkz"
    assert found.events[2:4] == (Allocate("b", 8), call("k", "a", "b"))


def test_every_name_is_freed_once_and_behind_all_that_need_it() -> None:
    draw = random.Random(0)
    for _ in range(200):
        names = [f"v{n}" for n in range(8)]
        letters = "abcdefgh"
        events: list[Event] = []
        for place, name in enumerate(names):
            needs = draw.sample(names[:place], min(place, 2))
            events += [Allocate(name, 8), call(letters[place], *needs, name)]
        last = find_last_calls(events, set(names))
        calls = [n for n, event in enumerate(events) if isinstance(event, Call)]
        for name in sorted(names, key=lambda name: -last[name]):
            events.insert(calls[last[name]] + 1, Drop(name))
            calls = [n for n, event in enumerate(events) if isinstance(event, Call)]
        wanted = "".join(draw.sample(letters, 8))
        found = order(events, letters, wanted)
        assert sorted(list_kernels(found)) == list(letters)
        seen: set[str] = set()
        for event in found.events:
            if isinstance(event, Allocate):
                seen.add(event.name)
            elif isinstance(event, Drop):
                seen.remove(event.name)
            elif isinstance(event, Call):
                assert set(event.arguments.split(", ")) <= seen
        assert not seen
