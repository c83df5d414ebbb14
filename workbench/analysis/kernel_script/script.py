"""A kernel as a script of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.analysis.kernel_script.template import BUILD_CPP, BUILD_TRITON, HEAD, TAIL
from workbench.artifacts.programs import (
    Allocate,
    Call,
    Check,
    Dims,
    Event,
    Share,
    TextNode,
    find_kernels,
    flatten,
    normalize_expression,
    parse_graph,
    read_functions,
    split_parts,
)
from workbench.errors import UsageError
from workbench.report import Buffer, Kernel, Report
from workbench.report.record import list_linked_pairs, select_parts


def together(report: Report, kernel: Kernel) -> list[Kernel]:
    """The kernel with those that leave parts of values for it, in the order of the program.

    Where it leaves nothing but parts itself, those that read them belong to it, too. A record that
    does not say what its buffers hold has no parts.
    """
    rows = [row for row in report.buffers if row.graph == kernel.graph]
    if all(row.node is None for row in rows):
        return [kernel]
    parts = [row for row in rows if row.node is None and row.stored_in is None]
    kernels = [
        other
        for other in report.kernels
        if other.graph == kernel.graph and other.language == kernel.language
    ]
    ids = {kernel.id}
    while True:
        own = {node for other in kernels if other.id in ids for node in other.scheduler_nodes}
        neighbours = _writers(parts, own)
        if not any(row.node for row in rows if own & set(row.written_by)):
            neighbours |= _readers(parts, own)
        more = {other.id for other in kernels if neighbours & set(other.scheduler_nodes)} - ids
        if not more or not kernel.is_generated:
            return [other for other in report.kernels if other.id in ids]
        ids |= more


def _writers(parts: list[Buffer], own: set[str]) -> set[str]:
    """The scheduler nodes that write parts which these read."""
    return {node for row in parts if own & set(row.read_by) for node in row.written_by} - own


def _readers(parts: list[Buffer], own: set[str]) -> set[str]:
    """The scheduler nodes that read parts which these write."""
    return {node for row in parts if own & set(row.written_by) for node in row.read_by} - own


_ON_A_GPU = (
    "Run it on the GPU that it was compiled for. With TRITON_INTERPRET=1 in the environment,\n"
    "it runs on a CPU, in the interpreter of aot-workbench."
)

_COARSE = ("torch.bfloat16", "torch.float16")


def kernel_script(report: Report, id: str) -> str:
    """A Python script that runs one kernel alone; raises `UsageError` where there can be none."""
    kernel = next((row for row in report.kernels if row.id == id), None)
    if kernel is None:
        ids = ", ".join(row.id for row in report.kernels) or "none"
        raise UsageError(f"Kernel {id!r} does not exist; choose one of {ids}.")
    try:
        return _Script(report, kernel, together(report, kernel)).text()
    except UsageError as error:
        raise UsageError(
            f"{id} cannot be turned into a script: {str(error).rstrip('.')}."
        ) from None


def write_build(name: str, source: str, products: str) -> str:
    """The part of a script that has a Triton kernel and builds it.

    `products` is a line about how the interpreter multiplies.
    """
    entry = _entries({name: source})
    return f"SOURCES = {{\n{entry}}}\n\n" + BUILD_TRITON.substitute(products=products)


def find_call(report: Report, kernel: Kernel) -> WrapperCalls:
    """The first call of a kernel in its program; raises `UsageError` where it cannot be told."""
    return read_calls(_wrapper(report, kernel), [kernel.name])


@dataclass(frozen=True)
class _Start:
    """Where a tensor's content comes from: drawn, computed from others, or nothing."""

    tensor: KernelTensor
    computed: Slice | None


class _Script:
    def __init__(self, report: Report, kernel: Kernel, kernels: Sequence[Kernel]):
        self._kernel = kernel
        self._kernels = kernels
        self._sources = {member.name: _source(report, member) for member in kernels}
        self._calls: WrapperCalls = read_calls(_wrapper(report, kernel), list(self._sources))
        graph, text = _graph(report, kernel)
        self._graph = PrintedGraph(text)
        self._shapes: Mapping[str, tuple[int | str, ...] | None] = {
            name: shape
            for name, shape in select_parts(report.nodes, "graph", {graph}, ("name", "shape"))
        }
        self._tensors = KernelTensors(report, kernels, self._calls, self._graph).all()
        self._results = {tensor.name: tensor.after for tensor in self._tensors if tensor.after}
        if not self._results:
            raise UsageError(
                "the kernel computes only part of a value and other kernels compute the rest, so "
                "eager has no matching result"
            )

    def text(self) -> str:
        """The whole script."""
        values = {tensor.before for tensor in self._tensors if tensor.before}
        eager = self._graph.sliced(dict.fromkeys(self._results.values()), values)
        parts = [self._head(eager), *self._inputs(), self._given(eager), self._eager(eager)]
        return "\n".join((*parts, self._build(), self._calling(), TAIL.lstrip("\n")))

    def _head(self, eager: Slice) -> str:
        used = " ".join((*eager.statements, *(f"torch.{tensor.dtype}" for tensor in self._tensors)))
        rounded = next((name for name in _COARSE if name in used), None)
        is_cpp = self._kernel.language == "cpp"
        interpreted = '"cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"'
        return HEAD.substitute(
            id=self._kernel.id,
            name=self._kernel.name,
            ops=", ".join(self._kernel.ops),
            besides=self._besides(),
            how="Run it on a machine with a C++ compiler." if is_cpp else _ON_A_GPU,
            device='"cpu"' if is_cpp else interpreted,
            rounded=rounded,
            sources=_entries(self._sources),
        )

    def _besides(self) -> str:
        others = [kernel.id for kernel in self._kernels if kernel.id != self._kernel.id]
        if not others:
            return ""
        return (
            f"The script also runs {' and '.join(others)}: they compute parts of the same values.\n"
        )

    def _inputs(self) -> Iterator[str]:
        starts = list(self._starts())
        for start in starts:
            if start.computed is not None:
                name = f"value_of_{start.tensor.name}"
                yield _function(name, start.computed, f"return {start.computed.results[0]}")
        lines = ["def inputs(draw):", '    """The tensors of the call."""']
        for start in starts:
            if start.tensor.memory is not None:
                continue
            memory = f"strided({self._start(start)}, {start.tensor.held.stride})"
            lines.append(f"    {start.tensor.name} = {_laid(memory, start.tensor, 'layout')}")
        for tensor in self._tensors:
            if tensor.memory is not None:
                view = f"{tensor.memory}, {tensor.layout.shape}, {tensor.layout.stride}, 0"
                lines.append(f"    {tensor.name} = reinterpret_tensor({view})")
        named = ", ".join(f"{tensor.name}={tensor.name}" for tensor in self._tensors)
        yield "\n".join([*lines, f"    return dict({named})", ""])

    def _starts(self) -> Iterator[_Start]:
        """The tensors in an order in which each can be made from those before it."""
        order = {name: at for at, name in enumerate(self._shapes)}
        drawn: set[str] = set()
        for tensor in sorted(self._tensors, key=lambda t: order.get(t.before or "", -1)):
            computed = None
            if tensor.before is not None:
                try:
                    computed = self._graph.sliced([tensor.before], drawn)
                except UsageError:
                    drawn.add(tensor.before)  # it has to be drawn
            yield _Start(tensor, computed)

    def _start(self, start: _Start) -> str:
        tensor, computed = start.tensor, start.computed
        shape, dtype = tensor.held.shape, f"torch.{tensor.dtype}"
        if tensor.before is None:
            return f"unwritten({shape}, {dtype})"
        if computed is None:
            return f"drawn({shape}, {dtype}, draw)"
        arguments = ", ".join(self._value(name) for name in computed.inputs)
        return f"value_of_{tensor.name}({arguments}).reshape({shape})"

    def _value(self, node: str, tensors: str = "{}") -> str:
        """The value of a node, out of the tensor that holds it."""
        holder = next(tensor for tensor in self._tensors if tensor.before == node)
        shape = self._shapes.get(node)
        text = _laid(tensors.format(holder.name), holder, "held")
        if shape is None or tuple(shape) == holder.held.shape:
            return text
        if any(isinstance(size, str) for size in shape):
            raise UsageError(f"the size of {node} is symbolic")
        return f"{text}.reshape({tuple(shape)})"

    def _given(self, eager: Slice) -> str:
        pairs = [f"{name}={self._value(name, 'tensors[{!r}]')}" for name in eager.inputs]
        doc = '    """The graph values that the kernel reads."""'
        return "\n".join(
            ["", "def given(tensors):", doc, f"    return dict({', '.join(pairs)})", ""]
        )

    def _eager(self, eager: Slice) -> str:
        items = ", ".join(f"{tensor}={node}" for tensor, node in self._results.items())
        return _function("eager", eager, f"return dict({items})")

    def _build(self) -> str:
        if self._kernel.language != "cpp":
            return BUILD_TRITON.substitute(products="").lstrip("\n")
        pairs = self._calls.types.items()
        types = "".join(f"    {name!r}: {kind},\n" for name, kind in pairs)
        return BUILD_CPP.substitute(types=types).lstrip("\n")

    def _calling(self) -> str:
        names = ", ".join(tensor.name for tensor in self._tensors)
        calls = [f"    kernels[{n!r}]({', '.join(args)})" for n, args in self._calls.calls.items()]
        doc = '    """Call the kernels as the generated program does."""'
        return "\n".join([f"\ndef call(kernels, {names}):", doc, *calls, "", ""])


def _entries(sources: Mapping[str, str]) -> str:
    return "".join(f"    {name!r}: {_quoted(text)},\n" for name, text in sources.items())


def _laid(tensor: str, of: KernelTensor, layout: Literal["layout", "held"]) -> str:
    """A tensor with the memory of a value, in one of the two layouts that it has."""
    if of.layout == of.held:
        return tensor
    target: Layout = getattr(of, layout)
    return f"reinterpret_tensor({tensor}, {target.shape}, {target.stride}, 0)"


def _function(name: str, part: Slice, last: str) -> str:
    lines = [f"\ndef {name}({', '.join(part.inputs)}):"]
    lines += [f"    {statement}" for statement in (*part.statements, last)]
    return "\n".join([*lines, ""])


def _quoted(source: str) -> str:
    if "'''" in source or source.endswith(("'", "\\")):
        return repr(source)
    return f"r'''{source}'''"


def _source(report: Report, kernel: Kernel) -> str:
    if kernel.language == "extern":
        raise UsageError(f"{kernel.name} is a library call without generated source")
    text = report.texts.get(kernel.text or "")
    if text is None:
        raise UsageError("the report does not have its source")
    return text


def _wrapper(report: Report, kernel: Kernel) -> str:
    id = dict(list_linked_pairs(report, "kernel-wrapper")).get(kernel.id)
    row = next((wrapper for wrapper in report.wrappers if wrapper.id == id), None)
    text = None if row is None else report.texts.get(row.text or "")
    if text is None:
        raise UsageError("the report does not have the program that calls it")
    return text


def _graph(report: Report, kernel: Kernel) -> tuple[str, str]:
    """The id and the printed text of the FX graph that a kernel was made from."""
    lowered = {after: before for before, after in report.lowered.items()}
    id = lowered.get(kernel.graph)
    row = next((graph for graph in report.graphs if graph.id == id), None)
    text = None if row is None else report.texts.get(row.text or "")
    if row is None or text is None:
        raise UsageError("the report does not have the graph that it was generated from")
    return row.id, text


@dataclass(frozen=True)
class KernelTensor:
    """A tensor in a kernel's call.

    `before` is the node whose value it holds before, None where nothing in it is read, `held` how
    that value lies in its memory, which is otherwise where the memory is another's; `after` the
    node whose value it leaves for others, None where it leaves none, or a part of one. `memory` is
    the tensor before it whose memory it takes over.
    """

    name: str
    layout: Layout
    dtype: str
    before: str | None
    held: Layout
    after: str | None
    is_written: bool
    memory: str | None = None


class KernelTensors:
    """The tensors of some calls, by the buffers of their lowered graph."""

    def __init__(
        self, report: Report, kernels: Sequence[Kernel], call: WrapperCalls, graph: PrintedGraph
    ):
        rows = (row for row in report.buffers if row.graph == kernels[0].graph)
        self._buffers: Mapping[str, Buffer] = {row.name: row for row in rows}
        self._own = frozenset(node for kernel in kernels for node in kernel.scheduler_nodes)
        self._call = call
        self._graph = graph
        if all(row.node is None for row in self._buffers.values()):
            raise UsageError(
                "the report does not have the values of its buffers: compile again with this "
                "version"
            )
        self._first: dict[str, str] = {}
        for name in call.tensors:
            self._first.setdefault(call.root(name), name)

    def all(self) -> tuple[KernelTensor, ...]:
        """Every tensor once, in the order of the arguments."""
        return tuple(self._tensor(name) for name in self._call.tensors)

    def _tensor(self, name: str) -> KernelTensor:
        buffer = self._buffers.get(name)
        if buffer is None or buffer.dtype is None:
            raise UsageError(f"the report does not have the dtype of {name}")
        changed = self._changed(name)
        is_own = self._is_own(buffer)
        before, held = None, name
        if is_own:
            before, held = self._taken_over(name)
        else:
            before = self._read(buffer, needs_value=changed is not None)
        after = changed if changed is not None else buffer.node if is_own else None
        if not self._is_left(name):
            after = None
        return KernelTensor(
            name,
            self._call.tensors[name],
            buffer.dtype,
            _bare(before),
            self._call.layouts[held],
            _bare(after) or None,
            is_own or changed is not None,
            memory=None if (first := self._first[self._call.root(name)]) == name else first,
        )

    def _is_left(self, name: str) -> bool:
        """Whether others see it: what only the kernel itself reads need not be stored at all."""
        rows = [row for row in self._buffers.values() if name in (row.name, row.stored_in)]
        return any(
            row.kind != "intermediate" or self._own < {*row.read_by, *self._own} for row in rows
        )

    def _is_own(self, buffer: Buffer) -> bool:
        return not self._own.isdisjoint(buffer.written_by)

    def _changed(self, name: str) -> str | None:
        """The node of what the kernel stores into another buffer; "" for a part of a value."""
        rows = [row for row in self._buffers.values() if row.stored_in == name]
        if any(self._is_own(row) for row in rows) != bool(rows):
            raise UsageError(f"another kernel changes {name} in place")
        if not rows:
            return None
        if self._is_own(self._buffers[name]):
            return self._buffers[name].node or ""  # what it holds in the end
        if name in self._graph.placeholders:
            return rows[-1].node or self._graph.stored_in(name) or ""
        raise UsageError(f"the report does not have the value of {name} before its in-place change")

    def _read(self, buffer: Buffer, *, needs_value: bool) -> str | None:
        """The node of a tensor that was there before."""
        if self._own.isdisjoint(buffer.read_by) and not needs_value:
            return None
        if buffer.node is None:
            raise UsageError(
                f"the kernel reads {buffer.name}, a partial result of an operator that was split "
                "over several kernels"
            )
        return buffer.node

    def _taken_over(self, name: str) -> tuple[str | None, str]:
        """The node whose memory is taken over, where the kernel reads it first, and its buffer."""
        step = name
        while step in self._call.reused:
            step = self._call.reused[step]
            buffer = self._buffers.get(step)
            if buffer is None or self._is_own(buffer):
                continue
            return self._read(buffer, needs_value=False), step
        return None, name


def _bare(node: str | None) -> str | None:
    """The name of a node without its graph."""
    return None if node is None else node.rpartition(":")[2]


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True)
class Layout:
    """Shape and strides of a variable in memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass
class WrapperCalls:
    """The first calls of some kernels, in the order of the program.

    `types` are the texts of what the kernels are compiled for, by name; `calls` a kernel and the
    expressions that it is called with; `tensors` the variables in those with their layouts,
    `layouts` those of all variables. `reused` names the variable whose memory another one takes
    over.
    """

    types: dict[str, str]
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tensors: dict[str, Layout] = field(default_factory=dict)
    layouts: dict[str, Layout] = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The variable that the memory of another one was made for."""
        while name in self.reused:
            name = self.reused[name]
        return name

    def take(self, event: Event) -> None:
        """Follow an event of the program; raises `UsageError` for a call that cannot be told."""
        match event:
            case Check(name, shape, stride) | Allocate(name=name, shape=shape, stride=stride):
                self._lay_out(name, shape, stride)
            case Share(name, base) if base.startswith("pool"):
                self.layouts.pop(name, None)  # several lie in it, beside each other
            case Share(name, base, None, layout=(shape, stride)):
                self._lay_out(name, shape, stride)
                self.reused[name] = base
            case Share(name, base, None) if base in self.layouts:
                self.layouts[name], self.reused[name] = self.layouts[base], base
            case Call(kernel) if kernel in self.types and kernel not in self.calls:
                parts = [part for part in event.split_arguments() if _is_by_place(part)]
                for part in parts:
                    self.tensors.update(self._tensors(kernel, part))
                self.calls[kernel] = tuple(map(normalize_expression, parts))

    def _lay_out(self, name: str, shape: Dims, stride: Dims) -> None:
        sizes = tuple(n for n in shape if isinstance(n, int))
        steps = tuple(n for n in stride if isinstance(n, int))
        self.layouts.pop(name, None)
        if (len(sizes), len(steps)) == (len(shape), len(stride)):  # else symbolic
            self.layouts[name] = Layout(sizes, steps)

    def _tensors(self, kernel: str, argument: str) -> Iterator[tuple[str, Layout]]:
        for name in _NAME.findall(argument):
            if name == "reinterpret_tensor":
                continue
            if name not in self.layouts:
                raise UsageError(
                    f"{kernel} is called with {argument}, whose size is symbolic or not in the "
                    "wrapper: compile with fixed sizes."
                )
            yield name, self.layouts[name]


def read_calls(text: str, kernels: Sequence[str]) -> WrapperCalls:
    """The first calls of kernels in a program; raises `UsageError` where they cannot be told."""
    types = {
        kernel.name: normalize_expression(next(iter(split_parts(kernel.arguments)), "''"))
        for kernel in find_kernels(text)
        if kernel.name in kernels
    }
    for kernel in kernels:
        if kernel not in types:
            raise UsageError(
                f"The wrapper does not define {kernel}, so the kernel cannot be built on its own."
            )
    for function in read_functions(text):
        calls = WrapperCalls({kernel: types[kernel] for kernel in kernels})
        for event in flatten(function.events):
            calls.take(event)
        if len(calls.calls) == len(types):
            return calls
    raise UsageError(f"The wrapper does not call {' and '.join(kernels)} by name.")


def _is_by_place(argument: str) -> bool:
    return re.match(r"\w+ ?=(?!=)", argument) is None


_RANDOM = re.compile(r"rand|seed|bernoulli|dropout|multinomial|normal_functional")
_OF_THE_GRAPH = re.compile(r"\bself\.")


@dataclass(frozen=True)
class Slice:
    """Statements in the order of the graph that give `results`, and the values they start from."""

    statements: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]


class PrintedGraph:
    """The nodes of a graph by their names."""

    def __init__(self, text: str):
        nodes = parse_graph(text)
        if not nodes:
            raise UsageError("the report does not have the text of its graph")
        self.placeholders = tuple(node.name for node in nodes if node.op == "placeholder")
        self._nodes: dict[str, TextNode] = {}
        for node in nodes:
            if node.op not in ("placeholder", "output"):
                self._nodes.setdefault(node.name, node)

    def stored_in(self, placeholder: str) -> str | None:
        """The node that writes the last value of an input back to it."""
        writer = None
        for name, node in self._nodes.items():
            if node.target.endswith("copy_.default") and node.inputs[:1] == (placeholder,):
                writer = name
        return writer

    def sliced(self, results: Iterable[str], given: Collection[str]) -> Slice:
        """What computes the results from what is given.

        Raises `UsageError` where that takes another value, a constant of the graph, or chance.
        """
        names, used, inputs = list(results), set[str](), set[str]()
        open_ = [name for name in names if name not in given]
        inputs.update(name for name in names if name in given)
        while open_:
            name = open_.pop()
            if name in used:
                continue
            used.add(name)
            for other in self._needed(name):
                if other in given:
                    inputs.add(other)
                else:
                    open_.append(other)
        order = {name: at for at, name in enumerate((*self.placeholders, *self._nodes))}
        lines = [
            f"{n} = {normalize_expression(self._nodes[n].code)}"
            for n in sorted(used, key=order.__getitem__)
        ]
        return Slice(tuple(lines), tuple(sorted(inputs, key=order.__getitem__)), tuple(names))

    def _needed(self, name: str) -> tuple[str, ...]:
        node = self._nodes.get(name)
        if node is None:
            raise UsageError(
                f"the operators start from {name}, but the kernel reads partial results of other "
                "kernels instead"
            )
        if "torch.ops.higher_order" in node.code or "triton_kernel_wrapper" in node.code:
            raise UsageError(f"{name} is not an aten operator, so eager has no matching result")
        if _RANDOM.search(node.target):
            raise UsageError(f"{name} draws random numbers, which eager draws differently")
        if _OF_THE_GRAPH.search(node.code):
            raise UsageError(
                f"{name} reads a constant of the graph, which the report does not have"
            )
        return node.inputs
