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
    assert "ended its process while it compiled this for h100" in str(found["k1:h100"].note)
    assert [job.at_once for job in worker.jobs] == [2, 1, 1]
    assert told[-1] == "k3:h100 (4 of 4)"


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
