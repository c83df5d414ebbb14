"""Times calls that are repeated, and the calls that their generated programs make."""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import mark_time, profile_activity, wait_for_gpu
from workbench.compiler.internals.patches import Overlay
from workbench.compiler.measuring.profiler_trace import (
    CALL_MARK,
    Event,
    ProfilerError,
    read_call_times,
    trace,
)
from workbench.report.profile_record import OperatorTime

Label = tuple[int, str]
Log = list[tuple[Label, int]]
"""Calls in order: the program's number and the name called, and the nanoseconds that it took."""

_MARKS = ("extern_kernels", "assert_size_stride")  # every generated program has these globals
_NAMESPACES = {
    "extern_kernels": "extern_kernels",
    "aten": "torch.ops.aten",
    "inductor_ops": "torch.ops.inductor",
}
WARM_CALLS = 3
LONGEST_S = 1.0  # spent on each measurement
_MOST_TRACED = 10_000  # calls of kernels in one trace: each is 1 to 2 kB of it


@dataclass
class GeneratedProgram:
    """One generated program that ran: its globals, and the names that its code reads."""

    scope: dict[str, Any]
    is_backward: bool
    names: set[str] = field(default_factory=set)

    def tuners(self) -> Iterator[str]:
        """The globals that are Triton kernels: each is started by its method `run`."""
        for name in sorted(self.names):
            value = self.scope.get(name)
            if hasattr(value, "compile_results") and callable(getattr(value, "run", None)):
                yield name

    def kernels(self) -> Iterator[str]:
        """The globals that are compiled kernels: functions of extension modules built for it."""
        for name in sorted(self.names):
            value = self.scope.get(name)
            if isinstance(value, BuiltinFunctionType):
                owner = getattr(value, "__self__", None)
                if isinstance(owner, ModuleType) and not owner.__name__.startswith(
                    ("torch.", "builtins", "math")
                ):
                    yield name


def run_for_programs(
    run: Callable[[], object], *, is_backward: bool = False
) -> list[GeneratedProgram]:
    """Run once and tell which generated programs ran, in order."""
    by_scope: dict[int, GeneratedProgram] = {}

    def watch(frame: FrameType, event: str, argument: object) -> None:
        scope = frame.f_globals
        if event == "call" and _is_generated(scope, frame.f_code):
            program = by_scope.setdefault(id(scope), GeneratedProgram(scope, is_backward))
            program.names.update(frame.f_code.co_names)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(by_scope.values())


def _is_generated(scope: dict[str, Any], code: CodeType) -> bool:
    return all(mark in scope for mark in _MARKS) and code.co_name != "<module>"


class Clock:
    """Measures on the host: what it gives for an interval is nanoseconds."""

    now = staticmethod(time.perf_counter_ns)

    def between(self, start: Any, end: Any) -> int:
        """The nanoseconds from one moment to another."""
        return int(end - start)

    def wait(self) -> None:
        """Wait until everything that was started is done: on the host it is."""

    def time(
        self, function: Callable[..., Any], label: Label, note: Callable[[Noted], object]
    ) -> Callable[..., Any]:
        """Call the function and note what it took."""
        now = self.now

        def run(*args: Any, **kwargs: Any) -> Any:
            start = now()
            try:
                return function(*args, **kwargs)
            finally:
                note((label, self, start, now()))

        return run


class DeviceClock(Clock):
    """Measures by events in the GPU's stream, between which lies the start of a kernel, too."""

    @staticmethod
    def now() -> Any:
        """A mark in the current stream."""
        return mark_time()

    def between(self, start: Any, end: Any) -> int:
        """The nanoseconds between two marks that were passed."""
        return int(start.elapsed_time(end) * 1e6)

    def wait(self) -> None:
        """Wait until the device has done everything that was started."""
        wait_for_gpu()


class TraceClock(DeviceClock):
    """Measures what the GPU did for each call, by the trace of torch's profiler.

    Where the GPU is idle, the time between two events is that of the launcher in Python: 15 µs for
    a kernel of 2 µs (H100, torch 2.11). Times are known after `read`. A call that started nothing
    on the GPU has the host's time.
    """

    def __init__(self) -> None:
        self.count = 0
        self.on_device: Mapping[int, int] = {}
        self.here: Mapping[int, int] = {}

    def time(
        self, function: Callable[..., Any], label: Label, note: Callable[[Noted], object]
    ) -> Callable[..., Any]:
        """Call the function under a name with a number."""

        def run(*args: Any, **kwargs: Any) -> Any:
            number, self.count = self.count, self.count + 1
            note((label, self, number, number))
            with torch.profiler.record_function(f"{CALL_MARK}{number}"):
                return function(*args, **kwargs)

        return run

    def read(self, events: Iterable[Event]) -> None:
        """Take the times from the events of a trace that has ended."""
        self.on_device, self.here = read_call_times(events)

    def between(self, start: Any, end: Any) -> int:
        """The nanoseconds of a numbered call."""
        return self.on_device.get(start, self.here[start])


HOST_CLOCK = Clock()


def choose_clock(programs: Sequence[GeneratedProgram]) -> Clock:
    """The clock of the device that programs run on."""
    return DeviceClock() if any(any(program.tuners()) for program in programs) else HOST_CLOCK


Noted = tuple[Label, Clock, Any, Any]
"""A call with the clock that measured it, and the moments of its beginning and end."""


@dataclass
class Timings:
    """Calls in order with the moments of their beginning and end."""

    clock: Clock = HOST_CLOCK
    calls: list[Noted] = field(default_factory=list)

    def noted(self) -> list[Noted]:
        """The calls since the last time, which the device has done."""
        self.clock.wait()
        calls = self.calls.copy()
        self.calls.clear()
        return calls


def read_times(calls: Iterable[Noted]) -> Log:
    """Calls as nanoseconds."""
    return [(label, clock.between(start, end)) for label, clock, start, end in calls]


class _Operators:
    """Stands for a namespace of operators: what is called through it is timed."""

    def __init__(self, target: Any, label: Label, timings: Timings):
        self._target, self._label, self._timings = target, label, timings

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._target, attribute)
        label = (self._label[0], f"{self._label[1]}.{attribute}")
        if isinstance(value, ModuleType | tp.OPERATOR_PACKET.get()):
            value = _Operators(value, label, self._timings)
        elif callable(value):
            value = self._timings.clock.time(value, label, self._timings.calls.append)
        self.__dict__[attribute] = value  # the next look-up is as quick as on the original
        return value

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        timings = self._timings
        timed = timings.clock.time(self._target, self._label, timings.calls.append)
        return timed(*args, **kwargs)


@contextmanager
def proxies(programs: Sequence[GeneratedProgram], timings: Timings) -> Iterator[None]:
    """Time every kernel and library call of these programs; undone at the end."""
    undo: list[tuple[dict[str, Any], str, Any]] = []
    note = timings.calls.append
    try:
        for number, program in enumerate(programs):
            scope = program.scope
            swaps: dict[str, Any] = {}
            for name in program.kernels():  # C++, beside Triton's, too
                swaps[name] = HOST_CLOCK.time(scope[name], (number, name), note)
            for name in program.tuners():
                run = timings.clock.time(scope[name].run, (number, name), note)
                swaps[name] = Overlay(scope[name], run=run)
            for name in _NAMESPACES.keys() & program.names:
                swaps[name] = _Operators(scope[name], (number, _NAMESPACES[name]), timings)
            if "torch" in program.names:
                ops = _Operators(torch.ops, (number, "torch.ops"), timings)
                swaps["torch"] = Overlay(torch, ops=ops)
            for name, proxy in swaps.items():
                undo.append((scope, name, scope[name]))
                scope[name] = proxy
        yield
    finally:
        for scope, name, value in reversed(undo):
            scope[name] = value


def measure_clock_overhead(repeats: int = 2000) -> float:
    """What timing a call adds to its own reading: the median for a call that does nothing."""
    timings = Timings()
    nothing = HOST_CLOCK.time(lambda: None, (0, "nothing"), timings.calls.append)
    for _ in range(repeats):
        nothing()
    return statistics.median(nanoseconds for _, nanoseconds in read_times(timings.noted()))


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
        early = run_for_programs(lambda: outputs.append(self.forward()))
        early_scopes = {id(program.scope) for program in early}
        # the engine gives the backward of a GPU to a thread of its own, which no profile function
        # of this thread sees (torch 2.11)
        with torch.autograd.set_multithreading_enabled(False):
            later = run_for_programs(lambda: self.backward(outputs), is_backward=True)
        return [*early, *(p for p in later if id(p.scope) not in early_scopes)]

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
    traced = [
        run
        for run in runs[1:]
        if all(start in clock.here for _, own, start, _ in run if own is clock)
    ]
    done = [sum(start in clock.on_device for _, _, start, _ in run) for run in traced]
    if not any(done):
        return [], "torch's profiler shows no GPU activity"
    whole = [run for run, n in zip(traced, done, strict=True) if n == max(done)]
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
        durations: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
        for n, (name, nanoseconds) in enumerate(log):
            durations[name, n >= forward].append(nanoseconds)
        for key, values in durations.items():
            totals[key].append((len(values), sum(values)))

    for _ in time_runs(once, repeats, original.longest_s):
        pass
    for (name, is_backward), values in totals.items():
        time_us = statistics.median(total for _, total in values) / 1e3
        yield OperatorTime(name, is_backward, values[0][0], time_us)
