"""Times the calls that a generated program makes, by proxies in its globals."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import mark_time, wait_for_gpu
from workbench.compiler.internals.patches import Overlay
from workbench.compiler.measuring.profiler_trace import CALL_MARK, Event, read_call_times

Label = tuple[int, str]
Log = list[tuple[Label, int]]
"""Calls in order: the program's number and the name called, and the nanoseconds that it took."""

_MARKS = ("extern_kernels", "assert_size_stride")  # every generated program has these globals
_NAMESPACES = {
    "extern_kernels": "extern_kernels",
    "aten": "torch.ops.aten",
    "inductor_ops": "torch.ops.inductor",
}


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
    found: dict[int, GeneratedProgram] = {}

    def watch(frame: FrameType, event: str, argument: object) -> None:
        scope = frame.f_globals
        if event == "call" and _is_generated(scope, frame.f_code):
            program = found.setdefault(id(scope), GeneratedProgram(scope, is_backward))
            program.names.update(frame.f_code.co_names)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(found.values())


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
