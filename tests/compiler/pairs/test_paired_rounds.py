"""Two calls timed in turn, by a clock of the test: what is disturbed, repeated, and never won."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import torch

from workbench.compiler.pairs.paired_rounds import Patience, Stopwatch, measure_in_turn
from workbench.report.paired import FEWEST

Run = Callable[[], object]


def first() -> None:
    """Stands for a program."""


def second() -> None:
    """Stands for another one."""


class NoisyMachine(Stopwatch):
    """A machine on which both take `us` and `other` µs a call, while other work comes and goes.

    Where it is seen the round is disturbed; some of it is not seen, as what only fills the cache.
    """

    def __init__(self, seed: int, us: float, other: float, busy: float, noise: float):
        self.luck = random.Random(seed)
        self.us, self.busy, self.noise = {first: us, second: other}, busy, noise
        self.ns, self.load = 0.0, 1.0

    def now(self) -> float:
        return self.ns / 1e9

    def time(self, run: Run, count: int) -> tuple[int, bool]:
        if self.luck.random() < 0.1:  # the load changes from time to time, for both
            self.load = 1 + self.luck.random() * self.noise * 3
        taken = self.us[run] * count * 1000 * self.load
        taken *= 1 + self.luck.lognormvariate(-2, 1.0) * self.noise
        is_alone = self.luck.random() >= self.busy
        if not is_alone:
            taken += self.luck.expovariate(1 / 4e6)
        self.ns += taken
        return int(taken), is_alone


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("busy", [0.0, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("us", [5.0, 7500.0])
def test_two_equal_programs_have_no_winner_however_busy_the_machine_is(
    us: float, busy: float, noise: float
) -> None:
    for seed in range(40):
        watch = NoisyMachine(seed, us, us, busy, noise)
        found = measure_in_turn(first, second, Patience(budget_s=0.3), watch)
        assert not found.is_sure, found.sentence


@pytest.mark.parametrize("busy", [0.0, 0.05])
def test_a_program_that_is_a_fifth_faster_is_found(busy: float) -> None:
    found = [
        measure_in_turn(first, second, Patience(), NoisyMachine(seed, 50.0, 40.0, busy, 0.02))
        for seed in range(40)
    ]
    assert sum(pairs.verdict == "faster" for pairs in found) >= 35
    assert all(len(pairs) >= FEWEST for pairs in found)


def test_rounds_that_other_work_disturbed_are_counted_and_left_out() -> None:
    found = measure_in_turn(first, second, Patience(), NoisyMachine(0, 50.0, 40.0, 0.1, 0.0))
    assert found.disturbed > 0
    assert not found.is_disturbed
    assert max(found.before_us) < 60  # none of the milliseconds that were taken away


def test_a_machine_that_is_never_calm_gives_times_and_no_verdict() -> None:
    watch = NoisyMachine(0, 50.0, 20.0, 1.0, 0.0)
    found = measure_in_turn(first, second, Patience(budget_s=0.1), watch)
    assert found.is_disturbed
    assert found.verdict == "too noisy to say"
    assert found.doubt == f"other work disturbed {len(found)} of {len(found)} pairs"
    assert found.before_us


def test_it_goes_on_beyond_its_time_until_there_are_enough_pairs() -> None:
    slow = measure_in_turn(first, second, Patience(budget_s=2.0), NoisyMachine(0, 1e5, 2e5, 0, 0))
    assert len(slow) == FEWEST
    assert slow.verdict == "slower"
    slower = measure_in_turn(first, second, Patience(budget_s=1), NoisyMachine(0, 1e6, 2e6, 0, 0))
    assert len(slower) < FEWEST
    assert slower.doubt == f"only {len(slower)} pairs, {FEWEST} are needed"


class OnceSlow(NoisyMachine):
    """The first measurement of one program falls into a bad time, the second does not."""

    def time(self, run: Run, count: int) -> tuple[int, bool]:
        taken, is_alone = super().time(run, count)
        is_bad = run is first and self.ns < 19e7
        return (taken * 90 if is_bad else taken), is_alone


def test_a_factor_above_ten_is_measured_a_second_time() -> None:
    watch = OnceSlow(0, 7500.0, 7400.0, 0.0, 0.0)
    found = measure_in_turn(first, second, Patience(budget_s=1.0), watch)
    assert len(found.factors) == 2
    assert found.factors[0] < 0.1 < found.factors[1]
    assert found.verdict == "too noisy to say"
    real = measure_in_turn(first, second, Patience(), NoisyMachine(0, 7500.0, 75.0, 0.0, 0.001))
    assert len(real.factors) == 2
    assert real.verdict == "faster"


def test_what_the_system_takes_for_moments_does_not_disturb_a_long_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    switches = iter([0, 3, 3, 4, 4, 14, 14, 34])
    ends = iter([0, 100_000_000, 0, 3_000_000, 0, 20_000_000, 0, 20_000_000])

    class Usage:
        def __init__(self) -> None:
            self.ru_nivcsw = next(switches)

    place = "workbench.compiler.pairs.paired_rounds"
    monkeypatch.setattr(f"{place}.resource.getrusage", lambda who: Usage())
    monkeypatch.setattr(f"{place}.time.perf_counter_ns", lambda: next(ends))
    assert Stopwatch().time(first, 1) == (100_000_000, True)  # 3 switches in 100 ms
    assert Stopwatch().time(first, 1) == (3_000_000, False)  # 1 in 3 ms


def test_a_call_is_over_when_the_gpu_has_done_what_it_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call that only launches leaves its kernels to whoever is timed next."""
    place, seen, queued = "workbench.compiler.pairs.paired_rounds", [], []

    def launch() -> None:
        queued.append(5_000_000)
        seen.append("launch")

    def work_off() -> None:
        seen.append("wait")
        moment[0] += sum(queued)
        queued.clear()

    moment = [0]
    monkeypatch.setattr(f"{place}.time.perf_counter_ns", lambda: moment[0])
    monkeypatch.setattr(f"{place}.wait_where_used", work_off)
    queued.append(90_000_000)  # of the program that was timed before
    taken, _ = Stopwatch().time(launch, 2)
    assert taken == 10_000_000
    assert seen == ["wait", "launch", "wait", "launch", "wait"]


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Twice as many processes that compute as there are cores."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for other in others:
        other.kill()
        other.wait()


def test_a_machine_that_is_kept_busy_shows_no_winner_among_equals(busy_machine: None) -> None:
    x = torch.rand(256, 256)
    pairs = [
        measure_in_turn(lambda: x @ x.sin(), lambda: x @ x.sin(), Patience(budget_s=0.1))
        for _ in range(6)
    ]
    assert not any(found.is_sure for found in pairs)
    assert all(found.verdict in ("too noisy to say", "no difference") for found in pairs)
