"""A generated program as it runs: one sequence of events, with its parts in their places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.artifacts.programs.cpp_text import START, CppReader
from workbench.artifacts.programs.events import (
    Allocate,
    Branch,
    Call,
    Check,
    Clear,
    Drop,
    Event,
    Inputs,
    Note,
    Number,
    Program,
    Retain,
    Return,
    RunPart,
    Share,
    make_allocation,
)
from workbench.artifacts.programs.python_text import Function, read_functions
from workbench.artifacts.programs.size_text import evaluate

EXAMPLES = ("get_args", "benchmark_compiled_module")
"""The functions that call a program with inputs of their own; before torch 2.13 the latter."""
_CALL = "def call("
_KERNEL = re.compile(
    r"^(\w+) = async_compile\.(\w+)\(([^\n]*?)r?(?:'''(.*?)'''|\"\"\"(.*?)\"\"\")",
    re.DOTALL | re.MULTILINE,
)
_FOLLOWED = re.compile(r"call|partition_\d+")
_Passed = tuple[int | None, ...]
"""For each result the argument that it is, `_NOTHING`, or None for one that the function makes."""
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class DefinedKernel:
    """A kernel that a program hands to a compiler in its own source, and where it says so.

    `arguments` is what stands before the source, `lines` are numbered from 1.
    """

    name: str
    language: str
    arguments: str
    source: str
    start: int
    end: int
    lines: range

    def evaluate_source(self) -> str:
        """The source as the program has it once it runs, without escapes."""
        return str(ast.literal_eval(f"'''{self.source}'''"))


def find_kernels(text: str) -> Iterator[DefinedKernel]:
    """The kernels of a program in the order of its text."""
    line, last = 1, 0
    for match in _KERNEL.finditer(text):
        start, end = match.span()
        line += text.count("\n", last, start)
        lines = range(line, line + text.count("\n", start, end) + 1)
        line, last = lines[-1], end
        yield DefinedKernel(
            match[1], match[2], match[3], match[4] or match[5] or "", start, end, lines
        )


def is_python_program(text: str) -> bool:
    """Whether a text has the function `call` in Python, without reading it."""
    at = text.find(_CALL)
    while at >= 0 and text[text.rfind("\n", 0, at) + 1 : at].strip():
        at = text.find(_CALL, at + 1)
    return at >= 0


def is_cpp_program(text: str) -> bool:
    """Whether a text has the program of a model in C++."""
    return START.search(text) is not None


def read_program(text: str, hints: Mapping[str, int]) -> Program | None:
    """The program of a text; None where it has none in Python or C++.

    `hints` are sizes that were left open, by name, as in the call that was compiled; a program in
    Python has them in its own example of a call.
    """
    return _read_python(text) if is_python_program(text) else _read_cpp(text, hints)


def read_cpp_events(text: str) -> tuple[Event, ...]:
    """The events of a program in C++, comments, checks and branches among them."""
    return CppReader({}).read(text) or ()


def _read_cpp(text: str, hints: Mapping[str, int]) -> Program | None:
    reader = CppReader(dict(hints))
    events = reader.read(text)
    if events is None:
        return None
    branches = sum(isinstance(event, Branch) and not event.is_check for event in events)
    events = tuple(event for event in events if not isinstance(event, Branch | Check | Note))
    used = bool(reader.sizes.keys() & set(hints))
    return Program(events, {}, reader.sizes, used, branches, reader.unread)


def _read_python(text: str) -> Program | None:
    functions = {function.name: function for function in read_functions(text)}
    if "call" not in functions:  # a log may be damaged there
        return None
    examples = [functions.pop(name) for name in EXAMPLES if name in functions]
    example_events = [event for example in examples for event in example.events]
    hints = {
        event.name: value
        for event in example_events
        if isinstance(event, Number) and (value := evaluate(event.text, {})) is not None
    }
    bytes = {
        event.name: event.bytes
        for event in example_events
        if isinstance(event, Allocate) and event.bytes is not None
    }
    own = {
        name: _passed(function)
        for name, function in functions.items()
        if function.parameters == "args"
        and not function.is_method
        and not _FOLLOWED.fullmatch(name)
    }
    reader = _Reader(functions, dict(hints), own)
    events = tuple(reader.run(functions["call"].events))
    is_sized_by_hint = not reader.sizes.keys() <= hints.keys()
    return Program(
        events, bytes, reader.sizes, is_sized_by_hint, reader.branches, calls=reader.calls
    )


def _passed(function: Function) -> _Passed:
    """What each result of a function is."""
    inputs: tuple[str, ...] = ()
    returned: tuple[str | None, ...] = ()
    for event in function.events:
        if isinstance(event, Inputs):
            inputs = event.names
        elif isinstance(event, Return):
            returned = event.names
    places = {None: _NOTHING} | {name: place for place, name in enumerate(inputs)}
    return tuple(map(places.get, returned))


@dataclass
class _Reader:
    functions: Mapping[str, Function]
    sizes: dict[str, int]
    own: Mapping[str, _Passed]  # they are called and not followed
    branches: int = 0
    calls: int = 0
    given: tuple[str | None, ...] | None = None  # the arguments of the next call of one of those
    dropped: list[Drop] = field(default_factory=list)
    passed: dict[str, Mapping[int, str]] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            match event:
                case Branch():
                    self.branches += not event.is_check
                case Drop() if self.given is not None:
                    self.dropped.append(event)  # the list of arguments still refers to them
                case Number() | Share():
                    yield from self._named(event)
                case Retain():
                    yield from self._held(event)
                case RunPart():
                    yield from self._part(event)
                case Call(function, str(name)) if function in self.own:
                    yield from self._own_call(event, function, name)
                case Allocate(bytes=None):
                    layout = event.shape, event.stride, event.dtype, event.device
                    yield make_allocation(event.name, *layout, self.sizes, event.line)
                case _ if not isinstance(event, Check | Note):
                    yield event

    def _named(self, event: Number | Share) -> Iterator[Event]:
        """A name for a number, or for memory."""
        name, text = event.name, event.text if isinstance(event, Number) else event.base
        if isinstance(event, Number) or (event.part is None and text in self.sizes):
            if (value := evaluate(text, self.sizes)) is not None:
                self.sizes[name] = value
            return
        base, part = text, event.part
        if part in self.passed.get(base, ()):
            yield Share(name, f"{base}[{part}]", line=event.line)
            yield Drop(f"{base}[{part}]", line=event.line)
        else:
            yield event

    def _held(self, event: Retain) -> Iterator[Event]:
        if event.list.removesuffix("_args") in self.own:
            self.given = event.names
            return
        held = self.lists[event.list] = tuple(name for name in event.names if name is not None)
        if held:
            yield Retain(held, event.list, line=event.line)

    def _own_call(self, call: Call, function: str, name: str) -> Iterator[Event]:
        """A part that is not followed: its arguments live until it is called, and what it gives."""
        arguments = dict(enumerate(self.given or ()))
        not_made = {n: arg for n, arg in enumerate(self.own[function]) if arg is not None}
        passed = {n: base for n, arg in not_made.items() if (base := arguments.get(arg))}
        self.passed[name] = passed
        absent = tuple(n for n, arg in not_made.items() if n in passed or arg < 0)
        yield Call(function, name, absent, call.arguments, line=call.line)
        yield from (Share(f"{name}[{n}]", base, line=call.line) for n, base in passed.items())
        yield from self.dropped
        self.calls += 1
        self.given, self.dropped = None, []

    def _part(self, run: RunPart) -> Iterator[Event]:
        """A part has the names of the whole: what it takes is there, what it gives stays."""
        part = self.functions.get(run.function)
        for event in () if part is None else part.events:
            if isinstance(event, Inputs):
                held = self.lists.get(run.list, ())
                yield Clear(held, line=event.line)  # args.clear() follows
            elif not isinstance(event, Return):
                yield from self.run((event,))
