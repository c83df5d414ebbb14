"""A call that can be repeated on copies of its inputs, with its backward pass."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import profile_activity
from workbench.compiler.measuring.profiler_trace import ProfilerError, trace
from workbench.compiler.measuring.timing import (
    HOST_CLOCK,
    Clock,
    GeneratedProgram,
    Log,
    Timings,
    TraceClock,
    proxies,
    read_times,
    run_for_programs,
)
from workbench.report.profile_record import OperatorTime

WARM_CALLS = 3
LONGEST_S = 1.0  # spent on each measurement
_MOST_TRACED = 10_000  # calls of kernels in one trace: each is 1 to 2 kB of it


@dataclass(frozen=True)
class RepeatableCall:
    """A call that can be repeated, with its backward pass when it has one.

    `clock` is that of the device, which may still work when a call has returned.
    """

    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    parameters: tuple[torch.Tensor, ...]
    clock: Clock = HOST_CLOCK
    longest_s: float = LONGEST_S

    def forward(self) -> Any:
        """The outputs of one call."""
        return self.call(*self.args, **self.kwargs)

    def backward(self, outputs: Any) -> None:
        """Compute the gradients of everything that wants one; nothing is accumulated."""
        ends = [t for t in tp.TREE_LEAVES.get()(outputs) if _wants_gradient(t)]
        inputs = tp.TREE_LEAVES.get()((self.args, dict(self.kwargs)))
        leaves = [t for t in (*inputs, *self.parameters) if _wants_gradient(t)]
        if ends and leaves:
            starts = [torch.ones_like(end) for end in ends]
            torch.autograd.grad(ends, leaves, starts, allow_unused=True)

    def run(self) -> None:
        """Call it once, forward and backward, and wait until it is done."""
        self.backward(self.forward())
        self.clock.wait()

    def programs(self) -> list[GeneratedProgram]:
        """The generated programs that one run calls, in order."""
        outputs: list[Any] = []
        found = run_for_programs(lambda: outputs.append(self.forward()))
        known = {id(program.scope) for program in found}
        # the engine gives the backward of a GPU to a thread of its own, which no profile function
        # of this thread sees (torch 2.11)
        with torch.autograd.set_multithreading_enabled(False):
            later = run_for_programs(lambda: self.backward(outputs), is_backward=True)
        return [*found, *(p for p in later if id(p.scope) not in known)]

    def seconds(self, repeats: int) -> list[float]:
        """What each of several runs took."""
        return list(time_runs(self.run, repeats, self.longest_s))


def _wants_gradient(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def time_runs(
    run: Callable[[], object], repeats: int, longest_s: float = LONGEST_S
) -> Iterator[float]:
    """Seconds of each run, after a few that are not counted; at most `longest_s` of each kind."""
    end = time.perf_counter() + longest_s
    for _ in range(WARM_CALLS):
        run()
        if time.perf_counter() > end:
            break
    end = time.perf_counter() + longest_s
    for n in range(repeats):
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        yield stop - start
        if stop > end and n >= WARM_CALLS:
            return


def time_kernels(
    subject: RepeatableCall, programs: list[GeneratedProgram], repeats: int
) -> tuple[list[Log], str]:
    """The calls of each repeat; on a GPU by a trace, else the reason why events timed them."""
    why = ""
    if subject.clock is not HOST_CLOCK:
        runs, why = _trace_kernels(subject, programs, repeats)
        if runs:
            return runs, ""
    timings, runs = Timings(subject.clock), []
    with proxies(programs, timings):
        for _ in time_runs(subject.run, repeats, subject.longest_s):
            runs.append(read_times(timings.noted()))
    return runs, why


def _trace_kernels(
    subject: RepeatableCall, programs: list[GeneratedProgram], repeats: int
) -> tuple[list[Log], str]:
    """The calls of each repeat by what the GPU did for them; none with the reason."""
    clock = TraceClock()
    timings, runs = Timings(clock), []

    def run() -> None:
        for _ in time_runs(subject.run, repeats, subject.longest_s):
            runs.append(timings.noted())
            if clock.count > _MOST_TRACED and len(runs) > 1:
                return

    with proxies(programs, timings):
        try:
            clock.read(trace(run, profile_activity()))
        except ProfilerError as error:
            return [], str(error)
    seen = [
        run
        for run in runs[1:]
        if all(start in clock.here for _, own, start, _ in run if own is clock)
    ]
    done = [sum(start in clock.on_device for _, _, start, _ in run) for run in seen]
    if not any(done):
        return [], "torch's profiler shows nothing that the GPU did"
    whole = [run for run, n in zip(seen, done, strict=True) if n == max(done)]
    return [read_times(run) for run in whole], ""  # what is not whole was lost by the trace


def _operator_clock(log: list[tuple[str, int]], clock: Clock) -> Any:
    """A context that notes what each operator takes, below autograd."""

    class OperatorClock(tp.DISPATCH_MODE.get()):  # type: ignore[misc]  # found at run time
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            start = time.perf_counter_ns()
            try:
                return func(*args, **(kwargs or {}))
            finally:
                clock.wait()
                log.append((str(func), time.perf_counter_ns() - start))

    return OperatorClock()


def time_operators(original: RepeatableCall, repeats: int) -> Iterator[OperatorTime]:
    """The operators of the eager original, summed over their calls."""
    totals: defaultdict[tuple[str, bool], list[tuple[int, int]]] = defaultdict(list)

    def once() -> None:
        log: list[tuple[str, int]] = []
        with _operator_clock(log, original.clock):
            outputs = original.forward()
            forward = len(log)
            original.backward(outputs)
        taken: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
        for n, (name, nanoseconds) in enumerate(log):
            taken[name, n >= forward].append(nanoseconds)
        for key, values in taken.items():
            totals[key].append((len(values), sum(values)))

    for _ in time_runs(once, repeats, original.longest_s):
        pass
    for (name, is_backward), values in totals.items():
        time_us = statistics.median(total for _, total in values) / 1e3
        yield OperatorTime(name, is_backward, values[0][0], time_us)
