"""A kernel that ends the compiler's process costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.virtual_gpu.client import CrossCompiler, build_all
from workbench.compiler.virtual_gpu.kernel_choice import Build, BuildJob, Built
from workbench.processes.worker import WorkerEnded


class Fragile(CrossCompiler):
    """A worker that ends at the build `deadly`, and does two at a time otherwise."""

    def __init__(self, deadly: str):
        super().__init__()
        self.deadly = deadly
        self.jobs: list[BuildJob] = []

    def start(self) -> None:
        pass

    def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
        self.jobs.append(job)
        for build in job.builds:
            if build.id == self.deadly:
                raise WorkerEnded("The worker ended with signal 6.")
            hear(Built(build.id, None))


def test_the_others_are_built_and_the_deadly_one_has_a_note() -> None:
    builds = [Build(f"k{n}:h100", f"k{n}", H100, "") for n in range(4)]
    worker = Fragile("k1:h100")
    told: list[str] = []
    found = build_all(builds, worker, lambda name, _: told.append(name))
    assert list(found) == [build.id for build in builds]
    assert [id for id, built in found.items() if built.note] == ["k1:h100"]
    assert "crashed while it compiled this for h100" in str(found["k1:h100"].note)
    assert [job.at_once for job in worker.jobs] == [2, 1, 1]
    assert told[-1] == "k3:h100 (4 of 4)"


class Slow(Fragile):
    """A worker that says of the build `deadly` that it is late, and ends when it is killed."""

    kills = 0

    def kill(self) -> None:
        self.kills += 1

    def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
        self.jobs.append(job)
        for build in job.builds:
            is_late = build.id == self.deadly
            hear(Built(build.id, None, note="late" if is_late else None, is_late=is_late))
            if is_late:
                raise WorkerEnded("The worker ended with signal 9.")


def test_one_that_takes_too_long_costs_its_process_and_nothing_else() -> None:
    builds = [Build(f"k{n}:h100", f"k{n}", H100, "") for n in range(4)]
    worker = Slow("k1:h100")
    found = build_all(builds, worker, limit_s=5.0)
    assert [id for id, built in found.items() if built.note] == ["k1:h100"]
    assert worker.kills == 1
    assert [(len(job.builds), job.at_once, job.limit_s) for job in worker.jobs] == [
        (4, 2, 5.0),
        (2, 2, 5.0),
    ]


def test_nothing_is_asked_for_nothing() -> None:
    worker = Fragile("")
    assert build_all([], worker) == {}
    assert worker.jobs == []


def test_who_listens_to_counts_is_told_how_many_are_done() -> None:
    class Counting:
        counts: ClassVar[list[tuple[int, int, str]]] = []

        def __call__(self, name: str, elapsed: float) -> None:
            assert name == "compiling with Triton"

        def count(self, done: int, of: int, thing: str) -> None:
            self.counts.append((done, of, thing))

    builds = [Build(f"k{n}:h100", f"k{n}", H100, "") for n in range(2)]
    build_all(builds, Fragile(""), Counting(), "configuration")
    assert Counting.counts == [(done, 2, "configuration") for done in range(3)]
