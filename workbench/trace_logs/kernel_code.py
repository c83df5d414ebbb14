"""Kernels, library calls, buffers, read from the program that Inductor generated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workbench.trace_logs.graph_texts import Dims, dims, get_dtype_bytes, parts_of

_INPUT = re.compile(r"assert_size_stride\((\w+), \((.*?)\), \(.*?\), 'input'")
_INPUTS = re.compile(r"assert_size_stride_grouped\((.*), 'input'\)")  # since torch 2.14
_MADE = re.compile(
    r"(\w+) = empty_strided_(\w+?)(?:_pinned|_p2p)?\(\((.*?)\), \(.*?\), torch\.(\w+)"
)
_SHAPE = re.compile(r"assert_(?:size_stride|tensor_metadata)\((\w+), \((.*?)\), ")
_SAME = re.compile(
    r"(\w+) = (?:reinterpret_tensor\()?(\w+)(?:, .*\))?(?:;  ?del \w+.*)?(?:  #.*)?$"
)
_RETURN = re.compile(r"return \((.*)\)")
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)")
_DEFINITION = re.compile(
    r"^(\w+) = async_compile\.(\w+)\(([^\n]*?)r?'''(.*?)'''", re.DOTALL | re.MULTILINE
)
_LIBRARY = re.compile(
    r"(?:[\w, ()]+ = )?"
    r"((?:extern_kernels|torch\.ops|aten|inductor_ops|_quantized)\.[\w.]+)\((.*)\)$"
)
_CALL = re.compile(r"(\w+)(?:\.run)?\((.*)\)$")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (.*)")
_SOURCE_NODES = re.compile(
    r"# Topologically Sorted Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]"
)
_FRAGMENT = re.compile(r"#\s+%(\w+) .*?= (?:call_function|call_method)\[")
_ID = re.compile(r"^# AOT ID: \['\w*?_?(forward|backward|inference)'\]", re.MULTILINE)
_PARAMETERS = re.compile(r"void\s+\w+\(([^)]*)\)|^def \w+\(([^)]*)\):", re.MULTILINE)
_END = re.compile(
    r"^(?:runner = Runner|def (?:get_args|benchmark_compiled_module)\b)", re.MULTILINE
)
_NOT_WORK = ("aten.set_.source", "inductor_ops.accumulate_grad_")


@dataclass
class CodeBuffer:
    """One buffer; the program does not say the dtype of inputs and results of library calls."""

    name: str
    kind: str  # "input", "output" or "intermediate"
    shape: Dims | None
    dtype: str | None = None
    device: str | None = None

    def bytes(self) -> int | None:
        """The size, or None while a size is symbolic or the dtype is not known."""
        size = None if self.dtype is None else get_dtype_bytes(self.dtype)
        if self.shape is None:
            return None
        for dim in self.shape:
            size = size * dim if size is not None and isinstance(dim, int) else None
        return size


def _inputs(line: str) -> list[tuple[str, Dims]]:
    """The inputs that a line checks, each with its shape."""
    one = _INPUT.match(line)
    if one is not None:
        return [(one[1], dims(one[2]))]
    several = _INPUTS.match(line)
    if several is None:
        return []
    names, sizes, _ = (parts_of(part[1:-1]) for part in parts_of(several[1]))
    return [(name, dims(size[1:-1])) for name, size in zip(names, sizes, strict=True)]


class BufferReader:
    """Follows the allocations of a program; a name that takes a buffer over means it."""

    def __init__(self) -> None:
        self._found: dict[str, CodeBuffer] = {}
        self._alias: dict[str, str] = {}

    def line(self, line: str) -> None:
        """Take one line of the program."""
        if line.startswith("return ("):
            returned = _RETURN.match(line)
            for name in self.arguments(returned[1] if returned else ""):
                if name is not None and self._found[name].kind == "intermediate":
                    self._found[name].kind = "output"
            return
        made = _MADE.match(line)
        if made is not None:
            self._add(CodeBuffer(made[1], "intermediate", dims(made[3]), made[4], made[2]))
            return
        if given := _inputs(line):
            for name, shape in given:
                self._add(CodeBuffer(name, "input", shape))
            return
        shown = _SHAPE.match(line)
        if shown is not None:
            owner = self.resolved(shown[1])
            if owner is not None and self._found[owner].shape is None:
                self._found[owner].shape = dims(shown[2])
            return
        same = _SAME.match(line)
        if same is not None and self.resolved(same[2]) is not None:
            self._alias[same[1]] = same[2]

    def _add(self, buffer: CodeBuffer) -> None:
        self._found.setdefault(buffer.name, buffer)

    def result(self, name: str) -> None:
        """Take a name for what a call returned."""
        if self.resolved(name) is None:
            self._add(CodeBuffer(name, "intermediate", None))

    def resolved(self, name: str) -> str | None:
        """The buffer of a name; None when it is none."""
        seen = {name}
        while name not in self._found:
            name = self._alias.get(name, "")
            if not name or name in seen:
                return None
            seen.add(name)
        return name

    def arguments(self, text: str) -> list[str | None]:
        """The buffer in each argument of a call; None where there is none."""
        found: list[str | None] = []
        for part in parts_of(text):
            names = (self.resolved(name) for name in _NAME.findall(part))
            found.append(next((name for name in names if name is not None), None))
        return found

    def rows(self) -> tuple[CodeBuffer, ...]:
        """The buffers in the order in which they were met."""
        return tuple(self._found.values())


@dataclass
class CodeKernel:
    """One generated kernel, or one call of a library; `reads`, `writes` are names of buffers.

    `nodes` are of the graph after the post-grad passes, `captured` of the one that Dynamo made;
    `handles` are its names in torch's own map of kernels to nodes.
    """

    name: str
    language: str  # "triton", "cpp" or "extern"
    text: str | None = None
    calls: int = 0
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


def parse_program(text: str) -> LoggedProgram:
    """Read a generated Python program; of one in C++ nothing is found."""
    defined = dict(find_defined_kernels(text))
    start = text.find("async_compile.wait(globals())")
    end = _END.search(text, max(start, 0))
    body = text[max(start, 0) : end.start() if end else len(text)]
    direction = _ID.search(text)
    is_backward = direction is not None and direction[1] == "backward"
    return read_calls(defined, map(str.strip, body.split("\n")), is_backward)


def read_calls(
    defined: dict[str, CodeKernel], lines: Iterable[str], is_backward: bool
) -> LoggedProgram:
    """Follow the calls in the lines of a program whose kernels are known."""
    reader = _CallReader(defined)
    for line in lines:
        reader.line(line)
    uncalled = [kernel for kernel in defined.values() if not kernel.calls]
    return LoggedProgram((*reader.found, *uncalled), reader.buffers.rows(), is_backward)


def find_defined_kernels(text: str) -> Iterator[tuple[str, CodeKernel]]:
    """Every kernel that a program hands to a compiler in its own source, by name."""
    last = 0
    for found in _DEFINITION.finditer(text):
        comments = text[max(last, text.rfind("\n\n\n", last, found.start())) : found.start()]
        last = found.end()
        language = "triton" if found[2] in ("triton", "cutedsl", "pallas") else "cpp"
        kernel = CodeKernel(found[1], language, found[4].strip("\n"))
        kernel.nodes = tuple(dict.fromkeys(_FRAGMENT.findall(comments)))
        sources = _SOURCE_NODES.search(comments)
        kernel.captured = _names(sources[1]) if sources else ()
        yield kernel.name, kernel


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


class _CallReader:
    """Follows the calls of a program, with the comments before each."""

    def __init__(self, defined: dict[str, CodeKernel]):
        self.found: list[CodeKernel] = []
        self.buffers = BufferReader()
        self._defined = defined
        self._handles: tuple[str, ...] = ()
        self._captured: tuple[str, ...] = ()
        self._fragment: dict[str, None] = {}

    def line(self, line: str) -> None:
        """Take one line of the program."""
        if line.startswith("#"):
            self._comment(line)
            return
        self.buffers.line(line)
        call = _CALL.search(line)
        kernel = None if call is None else self._defined.get(call[1])
        if call is not None and kernel is not None:
            self._generated(kernel, call[2])
            return
        library = _LIBRARY.match(line)
        if library is not None and library[1] not in _NOT_WORK:
            self._library(library[1], library[2], line)

    def _comment(self, line: str) -> None:
        handles = _HANDLE.match(line)
        if handles is not None:
            self._handles = _names(handles[1])
            return
        sources = _SOURCE_NODES.match(line)
        if sources is not None:
            self._captured = _names(sources[1])
            self._fragment = {}
        self._fragment.update(dict.fromkeys(_FRAGMENT.findall(line)))

    def _generated(self, kernel: CodeKernel, arguments: str) -> None:
        if not kernel.calls:
            self.found.append(kernel)
        kernel.calls += 1
        self._explain(kernel)
        names = self.buffers.arguments(arguments)
        for name, parameter in zip(names, _parameters(kernel.text or ""), strict=False):
            if name is None:
                continue
            if not parameter.startswith("out"):
                kernel.reads[name] = None
            if parameter.startswith(("out", "in_out")):
                kernel.writes[name] = None

    def _library(self, name: str, arguments: str, line: str) -> None:
        kernel = CodeKernel(name, "extern", calls=1)
        self.found.append(kernel)
        self._explain(kernel)
        plain, _, out = arguments.partition("out=")
        kernel.reads.update((n, None) for n in self.buffers.arguments(plain) if n is not None)
        target = out
        if not out and line.startswith("buf"):
            target = line.partition(" = ")[0]
            self.buffers.result(target)
        kernel.writes.update((n, None) for n in self.buffers.arguments(target) if n is not None)

    def _explain(self, kernel: CodeKernel) -> None:
        kernel.handles.update(dict.fromkeys(self._handles))
        if not kernel.captured:
            kernel.captured = self._captured
        if not kernel.nodes:
            kernel.nodes = tuple(self._fragment)
        self._handles, self._captured, self._fragment = (), (), {}


def _parameters(source: str) -> list[str]:
    """The names of a kernel's parameters, in order; empty where they cannot be read."""
    found = _PARAMETERS.search(source)
    parts = (found[1] or found[2] or "").split(",") if found else []
    return [(re.findall(r"\w+", part.partition(":")[0]) or [""])[-1] for part in parts]
