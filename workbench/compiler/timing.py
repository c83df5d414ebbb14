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

from workbench.compiler import torch_private as tp

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
class Program:
    """One generated program that ran: its globals, and the names that its code reads."""

    scope: dict[str, Any]
    is_backward: bool
    names: set[str] = field(default_factory=set)

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


def programs_of(run: Callable[[], object], *, is_backward: bool = False) -> list[Program]:
    """Run once and tell which generated programs ran, in order."""
    found: dict[int, Program] = {}

    def watch(frame: FrameType, event: str, argument: object) -> None:
        scope = frame.f_globals
        if event == "call" and _is_generated(scope, frame.f_code):
            program = found.setdefault(id(scope), Program(scope, is_backward))
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


def timed(function: Callable[..., Any], label: Label, log: Log) -> Callable[..., Any]:
    """Call the function and note what it took."""
    clock = time.perf_counter_ns

    def run(*args: Any, **kwargs: Any) -> Any:
        start = clock()
        try:
            return function(*args, **kwargs)
        finally:
            log.append((label, clock() - start))

    return run


class _Operators:
    """Stands for a namespace of operators: what is called through it is timed."""

    def __init__(self, target: Any, label: Label, log: Log):
        self._target, self._label, self._log = target, label, log

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._target, attribute)
        label = (self._label[0], f"{self._label[1]}.{attribute}")
        if isinstance(value, ModuleType | tp.OPERATOR_PACKET.get()):
            value = _Operators(value, label, self._log)
        elif callable(value):
            value = timed(value, label, self._log)
        self.__dict__[attribute] = value  # the next look-up is as quick as on the original
        return value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return timed(self._target, self._label, self._log)(*args, **kwargs)


class _Torch:
    """Stands for the module `torch`: what is called through `torch.ops` is timed."""

    def __init__(self, program: int, log: Log):
        self.ops = _Operators(torch.ops, (program, "torch.ops"), log)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(torch, attribute)


@contextmanager
def proxies(programs: Sequence[Program], log: Log) -> Iterator[None]:
    """Time every kernel and library call of these programs into `log`; undone at the end."""
    undo: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for number, program in enumerate(programs):
            scope = program.scope
            swaps: dict[str, Any] = {}
            for name in program.kernels():
                swaps[name] = timed(scope[name], (number, name), log)
            for name in _NAMESPACES.keys() & program.names:
                swaps[name] = _Operators(scope[name], (number, _NAMESPACES[name]), log)
            if "torch" in program.names:
                swaps["torch"] = _Torch(number, log)
            for name, proxy in swaps.items():
                undo.append((scope, name, scope[name]))
                scope[name] = proxy
        yield
    finally:
        for scope, name, value in reversed(undo):
            scope[name] = value


def clock_overhead_ns(repeats: int = 2000) -> float:
    """What timing a call adds to its own reading: the median for a call that does nothing."""
    log: Log = []
    nothing = timed(_nothing, (0, "nothing"), log)
    for _ in range(repeats):
        nothing()
    return statistics.median(nanoseconds for _, nanoseconds in log)


def _nothing() -> None:
    return None
