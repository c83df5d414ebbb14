"""Measuring alone on the machine, and the peak of memory."""

from __future__ import annotations

import fcntl
import multiprocessing
import time
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest
import torch

from workbench import process_memory
from workbench.worlds.sweeps.trials import trial_run
from workbench.worlds.sweeps.trials.trial_run import compiling, hold_machine, time_choices_alone

MIB = 1 << 20


def compile_long(folder: Path, compiles: Any) -> None:
    with compiling(folder):
        compiles.set()
        time.sleep(600)


def compile_then_measure(folder: Path, compiles: Any, asks: Any, measures: Any) -> None:
    with compiling(folder):
        compiles.set()
    asks.set()
    with hold_machine(folder):
        measures.set()


def test_measuring_is_alone_and_compiling_is_not(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    first_compiles, compiles, asks, measures = (spawn.Event() for _ in range(4))
    first = spawn.Process(target=compile_long, args=(tmp_path, first_compiles))
    arguments = (tmp_path, compiles, asks, measures)
    second = spawn.Process(target=compile_then_measure, args=arguments)
    first.start()
    assert first_compiles.wait(60)
    second.start()
    assert compiles.wait(60)  # beside the first
    assert asks.wait(60)
    assert not measures.wait(1)
    first.kill()  # the system lets go of the lock of a process that is gone
    assert measures.wait(60)
    first.join()
    second.join()


def is_held_alone(folder: Path) -> bool:
    """Whether somebody else could not even compile now."""
    with (folder / "measuring.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_what_the_autotuner_times_it_times_alone(tmp_path: Path) -> None:
    from torch._inductor.runtime.benchmarking import Benchmarker

    before = vars(Benchmarker)["benchmark_cpu"]
    with compiling(tmp_path) as machine, time_choices_alone(machine):
        assert not is_held_alone(tmp_path)
        seen: list[bool] = []
        Benchmarker().benchmark_cpu(lambda: seen.append(is_held_alone(tmp_path)), warmup=1, rep=1)
        assert not is_held_alone(tmp_path)
    assert seen
    assert all(seen)
    assert vars(Benchmarker)["benchmark_cpu"] is before


def test_the_time_that_a_compilation_waits_for_others_is_known(tmp_path: Path) -> None:
    with compiling(tmp_path) as machine:
        with machine.alone():
            assert machine.waited_s < 0.2
        other = Thread(target=hold_share, args=(tmp_path, held := Event()))
        other.start()
        held.wait()
        with machine.alone():
            assert machine.waited_s >= 0.2
        other.join()


def hold_share(folder: Path, held: Event) -> None:
    with compiling(folder):
        held.set()
        time.sleep(0.4)


def test_it_is_what_the_call_takes_at_once_and_not_in_sum() -> None:
    def run() -> None:
        for _ in range(3):
            torch.ones(64 * MIB, dtype=torch.uint8)  # every page is written

    peak = trial_run.measure_peak(run)
    assert peak is not None
    assert 60 * MIB < peak < 100 * MIB


def test_what_was_there_before_is_not_counted() -> None:
    kept = torch.ones(64 * MIB, dtype=torch.uint8)
    peak = trial_run.measure_peak(lambda: kept[0].item())
    assert peak is not None
    assert peak < 8 * MIB


def test_what_only_the_first_call_takes_is_not_counted() -> None:
    kept: list[torch.Tensor] = []

    def run() -> None:
        if not kept:
            kept.append(torch.ones(64 * MIB, dtype=torch.uint8))

    peak = trial_run.measure_peak(run)
    assert peak is not None
    assert peak < 8 * MIB


@pytest.mark.parametrize(("room", "name"), [(trial_run, "_CLEAR"), (process_memory, "_STATUS")])
def test_a_system_that_does_not_say_gives_none(
    room: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, name, tmp_path / "not" / "there")
    assert trial_run.measure_peak(lambda: None) is None


def test_a_status_without_the_figure_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "status").write_text("Name:\tpython\n")
    monkeypatch.setattr(process_memory, "_STATUS", tmp_path / "status")
    assert trial_run.measure_peak(lambda: None) is None
