"""What a trial measures of a call: its time against the original's, in turn, and its peak memory.

A round in which the system took the processor away (`ru_nivcsw` of getrusage(2) grew) says how busy
the machine was, not how fast the code is: it is measured again.
"""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from workbench.analysis.trials.medians import Interval, compute_median_interval
from workbench.compiler.internals.local_device import measure_gpu_peak
from workbench.number_text import number_text
from workbench.process_memory import read_status_bytes

Run = Callable[[], object]
_ROUND_NS = 2_000_000
"""A round takes at least 2 ms, so that the clock and one interrupt do not count."""
_FEW, _MANY = 10, 200
_SHORTEST = 8  # of the length of a round, where rounds are disturbed
_TRIES = 20  # to find how many calls make a round, where rounds are disturbed
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): "reset the peak resident set size (high water mark)"


@dataclass(frozen=True)
class Patience:
    """How long to measure: until the spread of the ratio's median is small, or time is over.

    `spread` is half of the 95 % interval as a share of the median; `budget_s` seconds.
    """

    spread: float = 0.01
    budget_s: float = 3.0


@dataclass(frozen=True)
class Plan:
    """How every trial is done: what is measured, how long, and what it may use.

    `timeout_s` seconds for a whole trial, `memory_bytes` of address space beyond what torch takes;
    with `compile_only` nothing is run. `rtol` and `atol` in place of those of the dtype.
    """

    patience: Patience = field(default_factory=Patience)
    timeout_s: float = 600.0
    memory_bytes: int | None = None
    compile_only: bool = False
    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Times:
    """Rounds of both in the order in which they were measured, in µs for one call.

    `disturbed` rounds were left out, because other work had the processor meanwhile; they are kept
    where `is_disturbed`: there were too few others.
    """

    ours_us: tuple[float, ...]
    baseline_us: tuple[float, ...]
    disturbed: int = 0
    is_disturbed: bool = False

    @property
    def call(self) -> Interval:
        """One call of the compiled function, in µs."""
        return compute_median_interval(self.ours_us)

    @property
    def speedup(self) -> Interval:
        """The baseline's time over ours, round by round."""
        pairs = zip(self.baseline_us, self.ours_us, strict=True)
        return compute_median_interval([theirs / ours for theirs, ours in pairs])

    @property
    def warning(self) -> str | None:
        """Why the figures are to be doubted, or None."""
        speedup = self.speedup
        if self.is_disturbed:
            count = len(self.ours_us)
            return f"other work disturbed {self.disturbed} of {count} rounds: measure again later"
        if speedup.low <= 1 <= speedup.high and speedup.spread > 0.02:
            return (
                f"the noise (±{number_text(speedup.spread, 'percent')}) is larger than the "
                "difference from the original"
            )
        if speedup.spread > 0.1:
            return f"the measurement is noisy: ±{number_text(speedup.spread, 'percent')}"
        return None


def measure(ours: Run, baseline: Run, patience: Patience) -> Times:
    """Measure both in turn; who goes first changes from round to round."""
    counts = [_calls(run) for run in (ours, baseline)]
    fewest = [max(1, count // _SHORTEST) for count in counts]
    calm: tuple[list[float], list[float]] = ([], [])
    every: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + patience.budget_s
    while len(calm[0]) < _MANY:
        is_calm = True
        for side in (0, 1) if len(every[0]) % 2 else (1, 0):
            taken, is_alone = _time((ours, baseline)[side], counts[side])
            every[side].append(taken / counts[side] / 1000)
            is_calm &= is_alone
        if is_calm:
            for side in (0, 1):
                calm[side].append(every[side][-1])
        else:  # a shorter round is over before the processor is taken away
            counts = [max(f, c * 3 // 4) for f, c in zip(fewest, counts, strict=True)]
        is_over = time.perf_counter() > end and len(every[0]) >= 3
        if is_over or (len(calm[0]) >= _FEW and _times(calm).speedup.spread <= patience.spread):
            break
    disturbed = len(every[0]) - len(calm[0])
    if disturbed and len(calm[0]) < _FEW:
        return _times(every, disturbed, is_disturbed=True)
    return _times(calm, disturbed)


def _times(
    rounds: tuple[list[float], list[float]], disturbed: int = 0, *, is_disturbed: bool = False
) -> Times:
    return Times(tuple(rounds[0]), tuple(rounds[1]), disturbed, is_disturbed)


def _calls(run: Run) -> int:
    """How many calls make a round; they warm up what is called."""
    run()
    count, tries = 1, 0
    while True:
        taken, is_alone = _time(run, count)
        tries += 1
        if not is_alone and tries < _TRIES:
            continue
        if taken >= _ROUND_NS:
            return count
        count = max(count + 1, min(count * 10, int(count * 1.2 * _ROUND_NS / max(taken, 1))))


def _time(run: Run, count: int) -> tuple[int, bool]:
    """Nanoseconds of so many calls, and whether no other process had the processor meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    start = time.perf_counter_ns()
    for _ in range(count):
        run()
    taken = time.perf_counter_ns() - start
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw == before


def measure_peak(run: Callable[[], object]) -> int | None:
    """Bytes that one call has taken at most; None where the system does not say.

    On a GPU it is the allocator's own peak. On the CPU it is the process's resident memory, in
    whole pages: small tensors come from memory that is there already and count as nothing.
    """
    if (peak := measure_gpu_peak(run)) is not None:
        return peak
    run()  # what only a first call takes is not counted
    try:
        # freed memory goes back to the system, so that taking it again is seen
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
        _CLEAR.write_text(_RESET_PEAK)
        before = read_status_bytes("VmRSS")
        run()
        return max(0, read_status_bytes("VmHWM") - before)
    except (OSError, LookupError):
        return None
