"""Generated kernels and library calls: source, the FX nodes and the user's lines behind them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.artifacts.programs import find_kernels
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.tensor_like import PLAIN
from workbench.compiler.internals.trace import Record
from workbench.compiler.recording.code_lines import Body, map_nodes_by_line
from workbench.compiler.recording.collective_nodes import is_collective, unwrap_ordered
from workbench.compiler.recording.lowered_nodes import (
    Lowered,
    LoweringRecorder,
    find_origins,
    list_fx_nodes,
)
from workbench.compiler.recording.stage_graphs import GraphRecorder
from workbench.compiler.rows.program_rows import (
    SeenKernel,
    add_known,
    list_kernels,
    tie_kernels,
)
from workbench.compiler.sources.sources import Places
from workbench.report import (
    Kernel,
    KernelLine,
    Link,
    Node,
    Table,
    TextWriter,
    Wrapper,
)

PANE = "kernels"
_BODY = re.compile(r"r?'''(.*)'''", re.DOTALL)
_CONSTANT = re.compile(r"^(\w+)( = None  # .*) [0-9a-f]+$", re.MULTILINE)
_MOST_HASHED = 1 << 26  # bytes of one constant, a tenth of a second
_CPP_PROGRAM = "inductor_aot_wrapper_code"


LineId = Callable[[str, int], str | None]


@dataclass
class _Kernel:
    name: str
    lowered: Lowered
    is_extern: bool
    nodes: dict[str, str] = field(default_factory=dict)  # FX name: operator
    lines: dict[tuple[str, int], None] = field(default_factory=dict)
    snodes: list[str] = field(default_factory=list)
    first: tuple[str, ...] = ()  # the scheduler nodes of the first call
    calls: int = 0


class KernelRecorder:
    """Notes which scheduler nodes each kernel was generated from, and its source."""

    def __init__(
        self,
        patches: Patches,
        graphs: GraphRecorder,
        lowering: LoweringRecorder,
        places: Places,
        texts: TextWriter,
    ):
        self._patches = patches
        self._graphs = graphs
        self._lowering = lowering
        self._places = places
        self._texts = texts
        self._kernels: dict[tuple[str, str], _Kernel] = {}
        self._bodies: dict[tuple[str, str], str] = {}
        self._lines = LineRecorder(patches)
        self.wrappers: list[Wrapper] = []
        self._programs: dict[str, str] = {}  # the file of each graph's program in Python
        self.on_kernel: Callable[[str], object] | None = None
        self._cached: Lowered | None = None  # while torch takes a graph from its cache
        self._cached_constants: Mapping[str, Any] = {}

    def list_hooks(self) -> Iterator[Hook]:
        """Watch code generation."""
        yield from self._lines.list_hooks()
        yield Hook(tp.FX_CACHE_HIT, PANE, around=self._around_cached)
        for name in tp.KERNEL_PROVENANCE:
            yield Hook(name, PANE, before=self._on_kernel)
        yield Hook(tp.DEFINE_KERNEL, PANE, before=self._on_definition)
        yield Hook("inductor_output_code", PANE, after=self._on_wrapper)
        yield Hook("graph_dump", PANE, after=self._on_dump)

    def _on_kernel(self, schedule: Any, name: str, is_extern: bool = False, **_: Any) -> None:
        lowered = self._lowering.current
        if lowered is None or not name:
            return
        call = f" {len(self._kernels)}" if is_extern else ""  # each library call is a row
        key = (lowered.id, name + call)
        kernel = self._kernels.setdefault(key, _Kernel(name, lowered, is_extern))
        kernel.calls += lowered.times
        if is_extern:
            snodes = [schedule.get_operation_name()]
            origins = sorted(find_origins(schedule), key=lambda n: str(n.name))
        else:
            parts = [part for part in schedule if hasattr(part, "get_name")]
            snodes = [part.get_name() for part in parts]
            # a collective that changes a value in place counts as an origin of what computes that
            origins = [node for node in list_fx_nodes(parts) if not is_collective(node)]
            self._lines.on_kernel(lowered.id, name, is_defined=False)
        origins = lowered.of_it(origins)
        kernel.first = kernel.first or tuple(snodes)
        kernel.snodes += [s for s in snodes if s not in kernel.snodes]
        for node in origins:
            kernel.nodes.setdefault(node.name, self._graphs.target(unwrap_ordered(node)[0]))
        kernel.lines.update(dict.fromkeys(self._graphs.lines(origins)))

    def _on_definition(self, wrapper: Any, name: str, body: str, *args: Any, **kwargs: Any) -> None:
        lowered = self._lowering.current
        if lowered is not None:
            self._bodies[lowered.id, name] = body
            self._lines.on_kernel(lowered.id, name, is_defined=True)
        if self.on_kernel is not None:
            self.on_kernel(name)

    def close(self) -> None:
        """Let go of torch's objects."""
        self._lines.close()

    def _around_cached(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """A graph that torch takes from its cache is not lowered: only its program is known."""

        def cached(graph: Any, *args: Any, **kwargs: Any) -> Any:
            is_backward = bool((getattr(graph, "fx_kwargs", None) or {}).get("is_backward"))
            self._cached = Lowered(f"c{len(self.wrappers)}", None, is_backward)
            self._cached_constants = getattr(graph, "constants", None) or {}
            try:
                return inner(graph, *args, **kwargs)
            finally:
                self._cached = None

        return cached

    def _on_wrapper(self, record: Record) -> None:
        cached = self._cached
        wholes = (low for low in reversed(self._lowering.lowered) if not low.is_part)
        lowered = cached or next(wholes, None)
        lowered = lowered or Lowered(f"c{len(self.wrappers)}", None, is_backward=False)
        program = _name_constants(record.payload or "", self._constants())
        text = self._texts.add(self._places.shared(program.rstrip("\n")))
        number, sizes = f"w{len(self.wrappers)}", lowered.sizes
        wrapper = Wrapper(number, lowered.id, lowered.is_backward, text, sizes)
        self.wrappers.append(wrapper)
        if "filename" in (record.meta or {}):
            self._programs[lowered.id] = str(record.meta["filename"])
        if cached is not None:
            for kernel in find_kernels(record.payload or ""):
                key = cached.id, kernel.name
                self._kernels[key] = _Kernel(kernel.name, cached, is_extern=False, calls=1)
                self._bodies[key] = f"async_compile.{kernel.language}('''{kernel.source}''')"

    def _constants(self) -> Mapping[str, Any]:
        """The constants of the program that torch has just written, by their names."""
        if self._cached is not None:
            return self._cached_constants
        return getattr(tp.VIRTUALIZED.get().graph, "constants", None) or {}

    def _on_dump(self, record: Record) -> None:
        """The program in C++ of a package; its kernels are known one by one."""
        if record.meta.get("name") == _CPP_PROGRAM:
            self._on_wrapper(record)

    def rows(self, line_id: LineId, nodes: Table[Node]) -> list[Kernel]:
        """The kernels in the order in which they were generated."""
        columns = nodes.columns
        sites = dict(zip(columns["id"], columns["called_from"], strict=True))
        return list_kernels(
            [self._see(kernel, line_id) for kernel in self._kernels.values()], sites
        )

    def _see(self, kernel: _Kernel, line_id: LineId) -> SeenKernel:
        lowered = kernel.lowered
        body = self._bodies.get((lowered.id, kernel.name))
        is_triton = body is not None and "async_compile.triton" in body
        groups = [g for g in lowered.after if {*kernel.first}.issuperset(g.members)]
        return SeenKernel(
            name=kernel.name,
            language="extern" if kernel.is_extern else "triton" if is_triton else "cpp",
            graph=lowered.id,
            is_backward=lowered.is_backward,
            calls=kernel.calls,
            text=None if body is None else self._texts.add(self._places.shared(_source(body))),
            nodes={
                id: target for name, target in kernel.nodes.items() for id in lowered.fx_ids([name])
            },
            lines=[line_id(*place) for place in kernel.lines],
            scheduler_nodes=tuple(f"{lowered.id}:{name}" for name in kernel.snodes),
            bytes_read=add_known(group.bytes_read for group in groups),
            bytes_written=add_known(group.bytes_written for group in groups),
            flops=_all(n.flops for n in lowered.before if n.name in kernel.first),
        )

    def line_reader(self) -> Callable[[], Table[KernelLine]]:
        """What makes the table of FX nodes by kernel line on its first use."""
        parts = []
        for n, kernel in enumerate(self._kernels.values()):
            key = kernel.lowered.id, kernel.name
            if key in self._bodies and not kernel.is_extern:
                source = _source(self._bodies[key])
                parts.append((f"k{n}", source, kernel.lowered, self._lines.bodies(*key)))
        return lambda: Table.of(KernelLine, _line_rows(parts))

    def find_libraries(self, kernels: list[Kernel]) -> dict[str, str]:
        """The library of each C++ kernel by its id; one inside of a C++ program has none."""
        modules = {module.__file__: vars(module) for module in tp.PY_CODE_CACHE.get().modules}
        by_kernel = {}
        for kernel in kernels:
            space = modules.get(self._programs.get(kernel.graph), {})
            file = getattr(getattr(space.get(kernel.name), "__self__", None), "__file__", None)
            if kernel.language == "cpp" and file is not None:
                by_kernel[kernel.id] = str(file)
        return by_kernel

    def links(self, kernels: list[Kernel]) -> Iterator[Link]:
        """Kernels with nodes, scheduler nodes, lines, buffers and the program that calls them."""
        users: dict[str, list[str]] = {}
        for lowered in self._lowering.lowered:
            for buffer in lowered.buffers:
                for snode in (*buffer.written_by, *buffer.read_by):
                    users.setdefault(snode, []).append(buffer.id)
        buffers = {
            kernel.id: [buffer for node in kernel.scheduler_nodes for buffer in users.get(node, ())]
            for kernel in kernels
        }
        return tie_kernels(kernels, self.wrappers, buffers)


def _line_rows(parts: list[tuple[str, str, Lowered, list[list[Body]]]]) -> Iterator[KernelLine]:
    for kernel, source, lowered, calls in parts:
        by_line: dict[int, dict[str, None]] = {}
        for bodies in calls:
            for line, names in map_nodes_by_line(source, bodies).items():
                by_line.setdefault(line, {}).update(dict.fromkeys(names))
        for line in sorted(by_line):
            nodes = lowered.fx_ids(by_line[line])
            if nodes:
                yield KernelLine(kernel, line, nodes)


def _all(values: Iterator[int | None]) -> int | None:
    """The sum, or None where a part is not known: less than all operations would mislead."""
    parts = list(values)
    numbers = [value for value in parts if value is not None]
    return sum(numbers) if parts and len(numbers) == len(parts) else None


def _source(body: str) -> str:
    match = _BODY.search(body)
    return (match[1] if match else body).strip("\n")


def _name_constants(program: str, values: Mapping[str, Any]) -> str:
    """Constants by what they hold: torch writes where they lie, which each compilation has anew."""

    def named(match: re.Match[str]) -> str:
        digest = _digest(values.get(match[1]))
        return match[0] if digest is None else f"{match[1]}{match[2]} sha256 {digest}"

    return _CONSTANT.sub(named, program)


def _digest(value: Any) -> str | None:
    """What a plain tensor holds, in a word; None of a large one, or without numbers here."""
    if type(value) not in PLAIN or value.is_meta or value.layout != torch.strided:
        return None
    if value.numel() * value.itemsize > _MOST_HASHED:
        return None
    with tp.UNSET_FAKE.get()():
        content = value.detach().cpu().contiguous().view(-1).view(torch.uint8)
        return hashlib.sha256(content.numpy().data).hexdigest()[:12]


LINES_PANE = "kernel_lines"
_BLOCKS = ("preloads", "loads", "compute", "stores", "poststores")
_INDEXING = ("get_index", "set_")
Function = Callable[..., Any]
_Value = tuple[Any, str, Any]  # the kernel object, the variable, the operation of the loop body

_NOT_READABLE = "FakeIndentedBuffer"  # the body of a template outside of its hooks: it raises


class LineRecorder:
    """Follows an FX node through lowering, the loop body and code generation.

    A loop body is traced by calling the functions that lowering made, which call one another: the
    innermost one that runs names the node of the operation that is traced. While code is
    generated, torch knows which operation of the loop body it writes. References are only kept
    until `close`.
    """

    def __init__(self, patches: Patches):
        self._patches = patches
        self._running: list[Any] = []
        self._origins: dict[Any, Any] = {}
        self._values: list[_Value] = []
        self._stores: list[_Value] = []
        self._defined: dict[tuple[str, str], list[tuple[list[_Value], list[_Value]]]] = {}
        self._bodies: dict[tuple[str, str], list[list[Body]]] = {}
        self._torch: Any = None

    def list_hooks(self) -> Iterator[Hook]:
        """Watch lowering and code generation."""
        self._torch = tp.VIRTUALIZED.find()
        yield Hook(tp.POINTWISE_LOADER, LINES_PANE, around=self._around_loader)
        yield Hook(tp.STORE_FUNCTION, LINES_PANE, around=self._around_store_function)
        yield Hook(tp.LOOP_BODY_NODE, LINES_PANE, after=self._on_operation)
        yield Hook(tp.CSE_GENERATE, LINES_PANE, around=self._around_value)
        for name in tp.KERNEL_STORES:
            yield Hook(name, LINES_PANE, before=self._on_store)

    def _around_loader(self, inner: Function) -> Function:
        return lambda data: self._following(inner(data), data)

    def _around_store_function(self, inner: Function) -> Function:
        return lambda buffer: self._following(inner(buffer), buffer.data)

    def _following(self, function: Function, data: Any) -> Function:
        """The same function; while it runs, the node that `data` was made for is on top."""
        node = next(iter(getattr(data, "origins", ())), None)
        if node is None:
            return function
        running = self._running

        def followed(*args: Any) -> Any:
            running.append(node)
            try:
                return function(*args)
            finally:
                running.pop()

        return followed

    def _on_operation(self, operation: Any, *args: Any, **kwargs: Any) -> None:
        if self._running:
            self._origins[operation] = self._running[-1]
            return
        copied = getattr(self._torch.interpreter, "current_node", None)
        if copied in self._origins:  # a loop body that is traced again in another order
            self._origins[operation] = self._origins[copied]

    def _around_value(self, inner: Function) -> Function:
        """Note each variable: the most frequent of all hooks, so without a guard around it."""
        torch = self._torch

        def generate(*args: Any, **kwargs: Any) -> Any:
            variable = inner(*args, **kwargs)
            node = getattr(torch.interpreter, "current_node", None)
            self._values.append((torch.kernel, getattr(variable, "name", ""), node))
            return variable

        return generate

    def _on_store(self, proxy: Any, name: str, index: Any, value: Any, *_: Any, **__: Any) -> None:
        node = getattr(self._torch.interpreter, "current_node", None)
        self._stores.append((self._torch.kernel, str(value), node))

    def on_kernel(self, graph: str, name: str, *, is_defined: bool) -> None:
        """A kernel was named: what was generated since the last one is its code.

        A name that comes again without its source is another call of the same kernel, generated
        from other nodes.
        """
        if is_defined:
            self._defined[graph, name] = []
        calls = self._defined.get((graph, name))
        if calls is None:
            return
        if self._values:
            calls.append((self._values, self._stores))
        self._values, self._stores = [], []

    def close(self) -> None:
        """Keep names and texts, let go of torch's objects."""
        for key, calls in self._defined.items():
            for values, stores in calls:
                self._patches.guarded(LINES_PANE, self._read, key, values, stores)
        self._defined.clear()
        self._origins.clear()
        self._values, self._stores = [], []

    def _read(self, key: tuple[str, str], values: list[_Value], stores: list[_Value]) -> None:
        bodies: dict[int, Body] = {}
        for kernel, variable, operation in values:
            body = bodies.get(id(kernel))
            if body is None:
                body = bodies[id(kernel)] = Body(_blocks(kernel))
            node, nodes = self._origin(operation), body.values.setdefault(variable, {})
            if node is not None:
                nodes[node] = None
        for kernel, variable, operation in stores:
            body = bodies.get(id(kernel))
            if body is not None:
                body.stores.setdefault(variable, []).append(self._origin(operation))
        self._bodies.setdefault(key, []).append(list(bodies.values()))

    def _origin(self, operation: Any) -> str | None:
        if operation is None:
            return None
        if operation.op == "call_module" and str(operation.target).startswith(_INDEXING):
            return None
        node = self._origins.get(operation)
        return None if node is None else str(node.name)

    def bodies(self, graph: str, name: str) -> list[list[Body]]:
        """What was generated for each call of one kernel."""
        return self._bodies.get((graph, name), [])


def _blocks(kernel: Any) -> list[list[tuple[str, bool]]]:
    """The lines that one kernel object wrote, and whether torch may leave a line out."""
    blocks = []
    for name in _BLOCKS:
        buffer = getattr(kernel, name, None)
        if type(buffer).__name__ == _NOT_READABLE:
            continue
        lines = getattr(buffer, "_lines", ())
        block = [
            (str(getattr(line, "line", line)).strip(), not isinstance(line, str))
            for line in lines
            if isinstance(line, str) or hasattr(line, "line")
        ]
        blocks.append([part for part in block if part[0]])
    return [block for block in blocks if block]
