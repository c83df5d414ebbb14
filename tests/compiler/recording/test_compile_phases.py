from __future__ import annotations

from workbench.compiler.recording.compile_phases import Mark, nest
from workbench.report import Report


def mark(name: str, kind: str, at: float, thread: int = 1) -> Mark:
    return Mark(name, kind == "B", at, thread, None)


def test_self_time_is_what_children_leave() -> None:
    marks = [mark("a", "B", 0), mark("b", "B", 1), mark("b", "E", 3), mark("a", "E", 4)]
    a, b = nest(marks, 0.0, 1)
    assert (a.name, a.duration_s, a.self_s, a.depth) == ("a", 4, 2, 0)
    assert (b.name, b.duration_s, b.self_s, b.depth, b.start_s) == ("b", 2, 2, 1, 1)


def test_threads_do_not_nest_in_each_other() -> None:
    marks = [mark("a", "B", 0), mark("w", "B", 1, 2), mark("a", "E", 2), mark("w", "E", 5, 2)]
    a, w = nest(marks, 0.0, 1)
    assert (a.thread, a.self_s, w.thread, w.depth) == ("main", 2, "worker 1", 0)


def test_what_never_ended_ends_with_its_parent() -> None:
    marks = [mark("a", "B", 0), mark("b", "B", 1), mark("a", "E", 3), mark("c", "B", 4)]
    assert [(p.name, p.duration_s) for p in nest(marks, 0.0, 1)] == [("a", 3), ("b", 2), ("c", 0)]


def test_an_end_without_a_begin_is_ignored() -> None:
    assert nest([mark("a", "E", 1)], 0.0, 1) == []


def test_recorded_phases_nest(trained: Report) -> None:
    open_until: list[float] = []
    for phase in [p for p in trained.phases if p.thread == "main"]:
        del open_until[phase.depth :]
        end = phase.start_s + phase.duration_s
        assert all(end <= parent + 1e-5 for parent in open_until)
        open_until.append(end)
    names = {phase.name for phase in trained.phases}
    assert {"compile", "inductor_compile", "GraphLowering.run"} <= names
