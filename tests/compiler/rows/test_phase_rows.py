from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from workbench.compiler.rows.phase_rows import Mark, nest, part_lanes

NAMES: dict[Hashable, str] = {n: str(n) for n in range(3)}


def mark(name: str, kind: str, at: float, thread: int = 1) -> Mark:
    return Mark(name, kind == "B", at, thread, None)


def test_self_time_is_what_children_leave() -> None:
    marks = [mark("a", "B", 0), mark("b", "B", 1), mark("b", "E", 3), mark("a", "E", 4)]
    a, b = nest(marks, 0.0, NAMES)
    assert (a.name, a.duration_s, a.self_s, a.depth) == ("a", 4, 2, 0)
    assert (b.name, b.duration_s, b.self_s, b.depth, b.start_s) == ("b", 2, 2, 1, 1)


def test_threads_do_not_nest_in_each_other() -> None:
    marks = [mark("a", "B", 0), mark("w", "B", 1, 2), mark("a", "E", 2), mark("w", "E", 5, 2)]
    a, w = nest(marks, 0.0, NAMES)
    assert (a.thread, a.self_s, w.thread, w.depth) == ("1", 2, "2", 0)


def test_what_never_ended_ends_with_its_parent() -> None:
    marks = [mark("a", "B", 0), mark("b", "B", 1), mark("a", "E", 3), mark("c", "B", 4)]
    assert [(p.name, p.duration_s) for p in nest(marks, 0.0, NAMES)] == [
        ("a", 3),
        ("b", 2),
        ("c", 0),
    ]


def test_an_end_without_a_begin_is_ignored() -> None:
    assert nest([mark("a", "E", 1)], 0.0, NAMES) == []


def test_phases_of_threads_that_nobody_names_lie_on_lanes_of_their_own() -> None:
    marks = [mark("a", "B", 0), mark("w", "B", 1), mark("a", "E", 2), mark("w", "E", 5)]
    marks += [mark("b", "B", 6), mark("b", "E", 7)]
    parted = list(part_lanes(marks))
    assert [each.thread for each in parted] == [0, 1, 0, 1, 0, 0]
    assert [replace(each, thread=1) for each in parted] == marks
    found = [(p.name, p.duration_s) for p in nest(parted, 0.0, NAMES)]
    assert found == [
        ("a", 2),
        ("w", 4),
        ("b", 1),
    ]


def test_what_never_ends_lies_on_the_lane_of_what_is_around_it() -> None:
    marks = [mark("a", "B", 0), mark("b", "B", 1), mark("c", "B", 2), mark("a", "E", 3)]
    parted = [*part_lanes([*marks, mark("x", "E", 4)])]
    assert {each.thread for each in parted} == {0}
    found = [(p.name, p.duration_s) for p in nest(parted, 0.0, NAMES)]
    assert found == [
        ("a", 3),
        ("b", 2),
        ("c", 1),
    ]
