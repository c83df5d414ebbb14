from __future__ import annotations

from workbench.report import Report


def test_recorded_phases_nest(trained: Report) -> None:
    open_until: list[float] = []
    for phase in [p for p in trained.phases if p.thread == "main"]:
        del open_until[phase.depth :]
        end = phase.start_s + phase.duration_s
        assert all(end <= parent + 1e-5 for parent in open_until)
        open_until.append(end)
    names = {phase.name for phase in trained.phases}
    assert {"compile", "inductor_compile", "GraphLowering.run"} <= names
