"""Kernels, library calls, buffers of the programs that Inductor generated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

from workbench.artifacts.programs import (
    EXAMPLES,
    ITEM_BYTES,
    LIBRARY,
    RESULTS,
    Allocate,
    Call,
    Check,
    Dims,
    Event,
    Note,
    Return,
    Share,
    evaluate_all,
    find_kernels,
    flatten,
    read_cpp_events,
    read_functions,
)

_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)")
_NODES = re.compile(r"Topologically Sorted Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]")
_FRAGMENT = re.compile(r"%(\w+) .*?= (?:call_function|call_method)\[")
_HANDLES = "[Provenance debug handles] "
_ID = re.compile(r"^# AOT ID: \['\w*?_?(forward|backward|inference)'\]", re.MULTILINE)
_PARAMETERS = re.compile(r"void\s+\w+\(([^)]*)\)|^def \w+\(([^)]*)\):", re.MULTILINE)
_CPP_LIBRARY = re.compile(r"aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+)")
_CPP_KERNEL = re.compile(r'^extern "C"\s+void\s+(\w+)\(', re.MULTILINE)
_CPP_NEXT = re.compile(r"^#include ", re.MULTILINE)
_CPP_RESULT = re.compile(r"&\w+_handle\b")
_REUSED = re.compile(r"buf\d+")  # a buffer, and no view of one
_NOT_WORK = ("aten.set_.source", "inductor_ops.accumulate_grad_")


@dataclass
class CodeBuffer:
    """One buffer; the program does not say the dtype of inputs and results of library calls."""

    name: str
    kind: str  # "input", "output" or "intermediate"
    shape: Dims | None
    dtype: str | None = None
    device: str | None = None

    def bytes(self, sizes: Mapping[str, int] = MappingProxyType({})) -> int | None:
        """The size, or None where a symbolic one is not among `sizes` or the dtype not known."""
        item = ITEM_BYTES.get(self.dtype or "")
        dims = None if self.shape is None else evaluate_all(self.shape, sizes)
        return None if item is None or dims is None else item * prod(dims)


class _Buffers:
    """Follows the allocations of a program; a view of a buffer means it."""

    def __init__(self) -> None:
        self.found: dict[str, CodeBuffer] = {}
        self.reused: dict[str, str] = {}  # by buffer the one before in the same memory
        self._unwritten: set[str] = set()
        self._alias: dict[str, str] = {}

    def take(self, event: Event) -> None:
        match event:
            case Return(names):
                for name in filter(None, map(self.resolve, filter(None, names))):
                    if self.found[name].kind == "intermediate":
                        self.found[name].kind = "output"
            case Allocate():
                fields = event.name, "intermediate", event.shape, event.dtype, event.device or None
                self.found.setdefault(event.name, CodeBuffer(*fields))
            case Check(name, shape, is_input=True):
                self.found.setdefault(name, CodeBuffer(name, "input", shape))
            case Check(name, shape):
                owner = self.resolve(name)
                if owner is not None and self.found[owner].shape is None:
                    self.found[owner].shape = shape
            case Share(name, base, None) if (owner := self.resolve(base)) is not None:
                if _REUSED.fullmatch(name):
                    before = self.found[owner]
                    dims = event.layout[0] if event.layout else before.shape
                    after = replace(before, name=name, kind="intermediate", shape=dims)
                    self.found.setdefault(name, after)
                    self.reused[name] = owner
                    self._unwritten.add(name)
                else:
                    self._alias[name] = base

    def add_result(self, name: str) -> None:
        """Take a name for what a call returned."""
        if self.resolve(name) is None:
            self.found.setdefault(name, CodeBuffer(name, "intermediate", None))

    def resolve(self, name: str) -> str | None:
        """The buffer of a name; None when it is none."""
        visited = {name}
        while name not in self.found:
            name = self._alias.get(name, "")
            if not name or name in visited:
                return None
            visited.add(name)
        return name

    def find_content(self, name: str) -> str:
        """The buffer whose values a kernel that changes one in place finds there."""
        if name not in self._unwritten:
            return name
        self._unwritten.discard(name)
        return self.reused[name]

    def list_in(self, arguments: Iterable[str]) -> list[str | None]:
        """The buffer in each argument of a call; None where there is none."""
        buffers: list[str | None] = []
        for part in arguments:
            names = (self.resolve(name) for name in _NAME.findall(part))
            buffers.append(next((name for name in names if name is not None), None))
        return buffers


@dataclass
class CodeKernel:
    """One generated kernel, or one call of a library; `reads`, `writes` are names of buffers.

    `arguments` are those of a call of a library, as they are written.
    `nodes` are of the graph after the post-grad passes, `captured` of the one that Dynamo made;
    `handles` are its names in torch's own map of kernels to nodes.
    """

    name: str
    language: str  # "triton", "cpp" or "extern"
    text: str | None = None
    calls: int = 0
    arguments: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    handles: dict[str, None] = field(default_factory=dict)
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class LoggedProgram:
    """What a generated program holds, in the order of its calls."""

    kernels: tuple[CodeKernel, ...]
    buffers: tuple[CodeBuffer, ...]
    is_backward: bool
    reused: Mapping[str, str] = field(default_factory=dict)  # by buffer whose memory it takes over


def parse_program(text: str) -> LoggedProgram:
    """Read a generated Python program; of one in C++ nothing is found."""
    functions = (function for function in read_functions(text) if function.name not in EXAMPLES)
    direction = _ID.search(text)
    is_backward = direction is not None and direction[1] == "backward"
    events = (event for function in functions for event in flatten(function.events))
    return _follow(_list_defined(text), events, is_backward)


def parse_aoti(wrapper: str, kernels: str) -> LoggedProgram:
    """Read the two files of one program of AOTInductor; `kernels` may be empty."""
    defined = _list_defined(wrapper)
    for match in _CPP_KERNEL.finditer(kernels):
        end = _CPP_NEXT.search(kernels, match.end())
        body = kernels[match.start() : end.start() if end else len(kernels)]
        defined[match[1]] = CodeKernel(match[1], "cpp", body.strip("\n"))
    events = flatten(read_cpp_events(wrapper))
    return _follow(defined, map(_as_in_python, events), is_backward=False)


def _as_in_python(event: Event) -> Event:
    """A call of the C interface under the name that it has in Python.

    Its result is its first argument, or a handle at the end.
    """
    named = _CPP_LIBRARY.fullmatch(event.kernel) if isinstance(event, Call) else None
    if named is None or not isinstance(event, Call):
        return event
    name, arguments = named[1], _CPP_RESULT.sub("", event.arguments)
    if name.endswith("_out"):
        out, _, rest = arguments.partition(", ")
        function = f"extern_kernels.{name.removesuffix('_out')}"
        return Call(function, arguments=f"{rest}, out={out}", line=event.line)
    result = None if event.result is None else event.result.removeprefix(RESULTS)
    return Call(f"torch.ops.aten.{name}", result, arguments=arguments, line=event.line)


def _list_defined(text: str) -> dict[str, CodeKernel]:
    """Every kernel that a program hands to a compiler in its own source, by name."""
    defined, last = {}, 0
    for block in find_kernels(text):
        comments = text[max(last, text.rfind("\n\n\n", last, block.start)) : block.start]
        last = block.end
        language = "triton" if block.language in ("triton", "cutedsl", "pallas") else "cpp"
        kernel = defined[block.name] = CodeKernel(block.name, language, block.source.strip("\n"))
        kernel.nodes = tuple(dict.fromkeys(_FRAGMENT.findall(comments)))
        sources = _NODES.search(comments)
        kernel.captured = _names(sources[1]) if sources else ()
    return defined


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _follow(
    defined: Mapping[str, CodeKernel], events: Iterable[Event], is_backward: bool
) -> LoggedProgram:
    reader = _CallReader(defined)
    for event in events:
        reader.take(event)
    uncalled = [kernel for kernel in defined.values() if not kernel.calls]
    buffers = tuple(reader.buffers.found.values())
    kernels = (*reader.found, *uncalled)
    return LoggedProgram(kernels, buffers, is_backward, reader.buffers.reused)


class _CallReader:
    """Follows the calls of a program, with the comments before each."""

    def __init__(self, defined: Mapping[str, CodeKernel]):
        self.found: list[CodeKernel] = []
        self.buffers = _Buffers()
        self._defined = defined
        self._handles: tuple[str, ...] = ()
        self._captured: tuple[str, ...] = ()
        self._fragment: dict[str, None] = {}

    def take(self, event: Event) -> None:
        """Take one event of the program."""
        if isinstance(event, Note):
            self._comment(event.text)
        elif isinstance(event, Share) and event.part is not None:
            self._take_part(event.name, event.base)
        elif not isinstance(event, Call):
            self.buffers.take(event)
        elif event.kernel in self._defined:
            self._launch(self._defined[event.kernel], event)
        elif event.kernel.startswith(LIBRARY) and event.kernel not in _NOT_WORK:
            self._call_library(event)

    def _comment(self, text: str) -> None:
        if text.startswith(_HANDLES):
            self._handles = _names(text.removeprefix(_HANDLES))
            return
        sources = _NODES.match(text)
        if sources is not None:
            self._captured = _names(sources[1])
            self._fragment = {}
        self._fragment.update(dict.fromkeys(_FRAGMENT.findall(text)))

    def _launch(self, kernel: CodeKernel, call: Call) -> None:
        if not kernel.calls:
            self.found.append(kernel)
        kernel.calls += 1
        self._explain(kernel)
        names = self.buffers.list_in(call.split_arguments())
        for name, parameter in zip(names, _parameters(kernel.text or ""), strict=False):
            if name is None:
                continue
            if parameter.startswith("in_out"):  # what it reads there is the one before
                kernel.reads[self.buffers.find_content(name)] = None
            elif not parameter.startswith("out"):
                kernel.reads[name] = None
            if parameter.startswith(("out", "in_out")):
                kernel.writes[name] = None

    def _call_library(self, call: Call) -> None:
        parts = call.split_arguments()
        kernel = CodeKernel(call.kernel, "extern", calls=1, arguments=tuple(parts))
        self.found.append(kernel)
        self._explain(kernel)
        outs = [part for part in parts if part.startswith("out=")]
        plain = [part for part in parts if part not in outs]
        names = (self.buffers.resolve(name) for part in plain for name in _NAME.findall(part))
        kernel.reads.update((name, None) for name in names if name is not None)
        if not outs and call.result is not None and call.result.startswith("buf"):
            outs = [call.result]
            self.buffers.add_result(call.result)
        kernel.writes.update((n, None) for n in self.buffers.list_in(outs) if n is not None)

    def _take_part(self, name: str, base: str) -> None:
        """Take a name for a part of the tuple that a call returned."""
        for kernel in reversed(self.found):
            if base in kernel.writes:
                self.buffers.add_result(name)
                kernel.writes[name] = None
                return

    def _explain(self, kernel: CodeKernel) -> None:
        kernel.handles.update(dict.fromkeys(self._handles))
        if not kernel.captured:
            kernel.captured = self._captured
        if not kernel.nodes:
            kernel.nodes = tuple(self._fragment)
        self._handles, self._captured, self._fragment = (), (), {}


def _parameters(source: str) -> list[str]:
    """The names of a kernel's parameters, in order; empty where they cannot be read."""
    match = _PARAMETERS.search(source)
    parts = (match[1] or match[2] or "").split(",") if match else []
    return [(re.findall(r"\w+", part.partition(":")[0]) or [""])[-1] for part in parts]
