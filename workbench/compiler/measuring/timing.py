"""Times the calls that a generated program makes, by proxies in its globals."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import mark_time, wait_for_gpu
from workbench.compiler.internals.patches import Overlay

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


class DeviceClock(Clock):
    """Measures on the GPU, where kernels run after the call that starts them has returned."""

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


HOST_CLOCK = Clock()


def choose_clock(programs: Sequence[GeneratedProgram]) -> Clock:
    """The clock of the device that programs run on."""
    return DeviceClock() if any(any(program.tuners()) for program in programs) else HOST_CLOCK


@dataclass
class Timings:
    """Calls in order with the moments of their beginning and end."""

    clock: Clock = HOST_CLOCK
    calls: list[tuple[Label, Any, Any]] = field(default_factory=list)

    def taken(self) -> Log:
        """What was noted since the last time, as nanoseconds."""
        self.clock.wait()
        log = [(label, self.clock.between(start, end)) for label, start, end in self.calls]
        self.calls.clear()
        return log


def timed(function: Callable[..., Any], label: Label, timings: Timings) -> Callable[..., Any]:
    """Call the function and note what it took."""
    now, note = timings.clock.now, timings.calls.append

    def run(*args: Any, **kwargs: Any) -> Any:
        start = now()
        try:
            return function(*args, **kwargs)
        finally:
            note((label, start, now()))

    return run


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
            value = timed(value, label, self._timings)
        self.__dict__[attribute] = value  # the next look-up is as quick as on the original
        return value

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return timed(self._target, self._label, self._timings)(*args, **kwargs)


@contextmanager
def proxies(programs: Sequence[GeneratedProgram], timings: Timings) -> Iterator[None]:
    """Time every kernel and library call of these programs; undone at the end."""
    undo: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for number, program in enumerate(programs):
            scope = program.scope
            swaps: dict[str, Any] = {}
            for name in program.kernels():
                swaps[name] = timed(scope[name], (number, name), timings)
            for name in program.tuners():
                run = timed(scope[name].run, (number, name), timings)
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
    nothing = timed(lambda: None, (0, "nothing"), timings)
    for _ in range(repeats):
        nothing()
    return statistics.median(nanoseconds for _, nanoseconds in timings.taken())
