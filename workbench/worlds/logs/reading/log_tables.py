"""From logs to the tables of a report; the big ones are made on their first use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import orjson

from workbench.artifacts.programs import TensorType, TextNode, parse_graph
from workbench.compiler.rows.dynamo_rows import SeenGuard, list_guards, list_recompiles
from workbench.compiler.rows.phase_rows import Mark, nest, part_lanes
from workbench.compiler.rows.program_rows import (
    GraphTable,
    SeenGraph,
    SeenKernel,
    add_known,
    list_kernels,
    strip_printed,
    tie_kernels,
)
from workbench.compiler.sources.sources import SourceTable
from workbench.report import (
    TABLES,
    Buffer,
    Kernel,
    Link,
    Node,
    Phase,
    Recompile,
    Table,
    TextWriter,
    Wrapper,
)
from workbench.report.collectives.collective_rows import Collective
from workbench.report.graph_stages import BY_RECORD, is_input_name
from workbench.report.wbr_file import Lazy
from workbench.worlds.logs.reading.content import LogContent, Piece
from workbench.worlds.logs.reading.dynamo_texts import BreakReader, Resolve, name_begun, read_guards
from workbench.worlds.logs.reading.kernel_code import (
    CodeBuffer,
    CodeKernel,
    LoggedProgram,
    parse_aoti,
    parse_program,
)
from workbench.worlds.logs.reading.log_summary import list_capabilities
from workbench.worlds.logs.reading.logged_collectives import list_collectives, tell_results
from workbench.worlds.logs.reading.source_places import LogPlaces


def list_phases(contents: Iterable[LogContent]) -> list[Phase]:
    """The phases of every log on one time axis, in the order of their start."""
    marks: list[Mark] = []
    names: dict[Hashable, str] = {}
    for content in contents:
        for mark in part_lanes(content.marks):
            thread = content.label, mark.thread
            name = f"parallel {mark.thread}" if mark.thread else "main"
            names[thread] = f"{content.label}, {name}" if content.label else name
            marks.append(replace(mark, thread=thread))
    return nest(marks, min((mark.at for mark in marks), default=0.0), names)


class Building:
    """The tables of one report, from the logs of one process or of several."""

    def __init__(self, contents: Sequence[LogContent]):
        self.contents = contents
        self.places = [LogPlaces(_files(content)) for content in contents]

    def tables(self) -> Lazy[Table[Any]]:
        """Every table by name."""
        makers: dict[str, Callable[[], Table[Any]]] = {
            name: partial(self._together, name)
            for name in (
                *("sources", "graphs", "nodes", "breaks", "kernels", "wrappers", "buffers"),
                *("collectives", "links", "capabilities"),
            )
        }
        makers["guards"] = lambda: _table("guards", list_guards(self._guards()))
        makers["recompiles"] = lambda: _table("recompiles", self.recompiles())
        makers["phases"] = lambda: _table("phases", list_phases(self.contents))
        makers["cache"] = lambda: _table("cache", [e for c in self.contents for _, e in c.cache])
        return Lazy(makers)

    def texts(self) -> dict[str, Any]:
        """The texts as `Texts.to_json` gives them."""
        return self._made[1]

    def compiles_of_programs(self) -> dict[str, str]:
        """The id of the compile of each program, by the program's, such as `i0`."""
        return self._made[2]

    def _together(self, name: str) -> Table[Any]:
        return self._made[0][name]

    def prefix(self, content: LogContent) -> str:
        """The prefix of the compile ids of a log."""
        return f"{content.label}: " if content.label else ""

    @cached_property
    def _made(self) -> tuple[dict[str, Table[Any]], dict[str, Any], dict[str, str]]:
        """The tables that are read together, since they refer to each other, and the texts.

        The last are the compiles of the programs, by the ids of both.
        """
        texts = TextWriter()
        graphs, kernels, breaks = GraphRows(texts), KernelRows(texts), BreakReader()
        for content, places in zip(self.contents, self.places, strict=True):
            of_log = graphs.read(content, places, self.prefix(content))
            kernels.read(content, places, of_log, self.prefix(content))
            breaks.read(content, places)
        sources = SourceTable(self.places, texts)
        rows: dict[str, list[Any]] = {
            "sources": sources.rows,
            "graphs": graphs.rows(),
            "breaks": breaks.rows(),
            "kernels": kernels.rows(sources),
            "wrappers": kernels.wrappers,
            "buffers": kernels.buffers,
            "collectives": kernels.collectives,
        }
        nodes = Table(Node, graphs.columns)
        rows["links"] = [*sources.tie_nodes(nodes), *graphs.tie_nodes(), *kernels.links]
        tables = {name: _table(name, part) for name, part in rows.items()}
        tables["nodes"] = nodes
        lost = kernels.unexplained > 0, kernels.foreign > 0, sources.is_quoted
        tables["capabilities"] = _table(
            "capabilities", list(list_capabilities(self.contents, *lost))
        )
        return tables, texts.finish().to_json(), kernels.compile_ids

    def _guards(self) -> Iterator[SeenGuard]:
        for content, places in zip(self.contents, self.places, strict=True):
            resolve = _resolver(content, places)
            for piece in content.guards:
                yield from read_guards(places.shared(piece.text()), resolve)

    def recompiles(self) -> list[Recompile]:
        """A row for each reason of each compilation that was not the first of its function."""
        rows: list[Recompile] = []
        _ = self._made  # reads what the log quotes of the files, by which they are known again
        for content, places in zip(self.contents, self.places, strict=True):
            for piece in content.recompiles:
                id = piece.compile_id or ""
                function = name_begun(content, places, id)
                rows += list_recompiles(
                    piece.text(), self.prefix(content) + id, function, places.shared
                )
        return rows


def _table(name: str, rows: list[Any]) -> Table[Any]:
    return Table.of(TABLES[name], rows)


def _files(content: LogContent) -> list[str]:
    """The files that a log names outright."""
    files = [str(row["co_filename"]) for _, row in content.metrics if row.get("co_filename")]
    return [*content.strings.values(), *files]


def _resolver(content: LogContent, places: LogPlaces) -> Resolve:
    """Finds the one file whose name ends as a shortened one does: torch cuts them at 15 letters."""
    resolved: dict[str, str | None] = {}
    files = [file for file in dict.fromkeys(_files(content)) if places.is_user(file)]

    def resolve(shortened: str) -> str | None:
        if shortened not in resolved:
            fits = {places.shown(file) for file in files if file.endswith(shortened)}
            resolved[shortened] = fits.pop() if len(fits) == 1 else None
        return resolved[shortened]

    return resolve


_EITHER = ("before_post_grad", "after_post_grad")  # stages that forward and backward share


@dataclass
class LogGraph(SeenGraph):
    """One graph of a log; `places` are the shown files and the lines of its nodes by name."""

    places: dict[str, tuple[str, int]]
    types: dict[str, TensorType]  # of the nodes by name

    def list_open_sizes(self, values: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """The sizes of its inputs that were left open, with their values."""
        types = (self.types[name] for name in self.targets if is_input_name(name))
        dims = dict.fromkeys(str(dim) for type_ in types for dim in type_.shape or ())
        return tuple((dim, values[dim]) for dim in dims if dim in values)


class GraphRows(GraphTable[LogGraph]):
    """Collects the graphs of several logs."""

    def __init__(self, texts: TextWriter):
        super().__init__()
        self._texts = texts
        self._last: tuple[str, list[TextNode]] = "", []

    def read(self, content: LogContent, places: LogPlaces, prefix: str) -> list[LogGraph]:
        """Take the graphs of one log, in their order."""
        return [self._read_graph(piece, places, prefix) for piece in content.graphs]

    def _read_graph(self, piece: Piece, places: LogPlaces, prefix: str) -> LogGraph:
        text = strip_printed(piece.text())
        if text != self._last[0]:  # neighbouring stages are often equal
            self._last = text, parse_graph(text)
        nodes, stage = self._last[1], BY_RECORD[piece.name]
        names = {node.name for node in nodes if node.op == "placeholder"}
        is_late = stage == "backward" or stage in _EITHER
        graph = LogGraph(
            self.next_id,
            stage,
            None if piece.compile_id is None else prefix + piece.compile_id,
            is_late and any(name.startswith("tangents_") for name in names),
            self._texts.add(places.shared(text)),
            {node.name: node.target for node in nodes},
            {},
            {node.name: node.type for node in nodes},
        )
        self.add(graph, [_list_values(node, graph, places) for node in nodes])
        return graph


def _list_values(node: TextNode, graph: LogGraph, places: LogPlaces) -> tuple[Any, ...]:
    """The values of a node's row; its place goes to the graph too."""
    file = line = None
    if node.place is not None:
        file, line = places.shown(node.place[0]), node.place[1]
        graph.places[node.name] = file, line
        places.note(node.place[0], line, node.place[2], node.place[3])
    prefix, type_ = f"{graph.id}:", node.type
    inputs = tuple(prefix + name for name in node.inputs)
    return (
        *(prefix + node.name, graph.id, node.name, node.op, node.target, inputs),
        *(type_.shape, type_.stride, type_.dtype, type_.device, type_.bytes),
        *(file, line, None, (), None),
    )


@dataclass(frozen=True)
class _Lowering:
    """One generated program with the graphs that it was made from."""

    id: str
    program: LoggedProgram
    lowered: LogGraph | None
    captured: LogGraph | None
    mapping: dict[str, list[str]]
    places: LogPlaces
    wrapper: Wrapper
    values: Mapping[str, int]  # of the symbols of its compilation

    def nodes(self, kernel: CodeKernel) -> list[tuple[LogGraph, str]]:
        """The nodes behind a kernel, in the best record that the log has of them."""
        graph = self.lowered
        named = [name for handle in kernel.handles for name in self.mapping.get(handle, ())]
        for names in (named, kernel.nodes):
            known_names = [name for name in names if graph is not None and name in graph.targets]
            if graph is not None and known_names:
                if kernel.language == "extern":
                    known_names = _choose_called(kernel.name, known_names, graph)
                return [(graph, name) for name in dict.fromkeys(known_names)]
        graph = self.captured
        captured_names = [
            name for name in kernel.captured if graph is not None and name in graph.targets
        ]
        return [(graph, name) for name in captured_names] if graph is not None else []


class KernelRows:
    """Collects the kernels of several logs."""

    def __init__(self, texts: TextWriter):
        self.buffers: list[Buffer] = []
        self.links: list[Link] = []
        self.collectives: list[Collective] = []
        self.compile_ids: dict[str, str] = {}  # of the programs, by their ids
        self.unexplained = 0  # generated kernels whose nodes are in no record
        self.foreign = 0  # programs that are not in Python
        self._texts = texts
        self._lowerings: list[_Lowering] = []

    def read(
        self, content: LogContent, places: LogPlaces, graphs: list[LogGraph], prefix: str
    ) -> None:
        """Take the generated programs of one log."""
        mappings = {(piece.after, piece.compile_id): piece for piece in content.mappings}
        kernel_codes = {(piece.after, piece.compile_id): piece for piece in content.kernel_codes}
        values = _read_symbols(content)
        for number, piece in enumerate(content.codes, 1):
            text = piece.text()
            others = kernel_codes.get((number, piece.compile_id))
            if piece.name == "graph_dump":  # of AOTInductor
                program = parse_aoti(text, "" if others is None else others.text())
            else:
                program = parse_program(text)
            before = graphs[: piece.after]
            lowered = _last(before, "after_post_grad", piece, content.graphs)
            captured = _last(before, "dynamo", piece, content.graphs)
            if captured is None:  # an exported program, which Dynamo did not capture
                captured = _last(before, "before_pre_grad", piece, content.graphs)
            id = f"i{len(self._lowerings)}"
            is_backward = program.is_backward or (lowered is not None and lowered.is_backward)
            key = self._texts.add(places.shared(text.rstrip("\n")))
            symbol_values = values.get(piece.compile_id, {})
            sizes = () if lowered is None else lowered.list_open_sizes(symbol_values)
            wrapper = Wrapper(f"w{len(self._lowerings)}", id, is_backward, key, sizes)
            mapping = _mapping(mappings.get((number, piece.compile_id)))
            lowering = _Lowering(
                id, program, lowered, captured, mapping, places, wrapper, symbol_values
            )
            self._lowerings.append(lowering)
            self.compile_ids[id] = f"{prefix}{piece.compile_id}"
            self.foreign += "async_compile" not in text and not program.kernels
            if lowered is not None:
                self.links.append(Link(lowered.id, id, "graph-lowered"))
            _tell_types(program, lowering)
            self.buffers += [_buffer(lowering, one) for one in program.buffers]

    @property
    def wrappers(self) -> list[Wrapper]:
        """The generated programs."""
        return [lowering.wrapper for lowering in self._lowerings]

    def rows(self, sources: SourceTable) -> list[Kernel]:
        """The kernels in the order of their first calls, and what they are tied to."""
        kernels: list[Kernel] = []
        moved: dict[str, list[str]] = {}
        for lowering in self._lowerings:
            program = lowering.program.kernels
            sizes = {one.name: one.bytes(lowering.values) for one in lowering.program.buffers}
            seen = (self._see(kernel, lowering, sizes, sources) for kernel in program)
            rows = list_kernels(seen, first=len(kernels))
            own = list(zip(program, rows, strict=True))
            for kernel, row in own:
                names = (*kernel.reads, *kernel.writes)
                moved[row.id] = [f"{lowering.id}:{name}" for name in names]
            kernels += rows
            buffers = {
                buffer.name: buffer for buffer in self.buffers if buffer.graph == lowering.id
            }
            self.collectives += list_collectives(own, buffers, len(self.collectives))
        self.links += tie_kernels(kernels, self.wrappers, moved)
        return kernels

    def _see(
        self,
        kernel: CodeKernel,
        lowering: _Lowering,
        sizes: Mapping[str, int | None],
        sources: SourceTable,
    ) -> SeenKernel:
        nodes, text = sorted(lowering.nodes(kernel), key=lambda pair: pair[1]), kernel.text
        self.unexplained += not nodes and kernel.language != "extern"
        places = (graph.places.get(name) for graph, name in nodes)

        def count(names: Iterable[str]) -> int | None:
            """Bytes of whole buffers; None when the size of none is known."""
            return add_known(map(sizes.get, names))

        return SeenKernel(
            name=kernel.name,
            language=kernel.language,
            graph=lowering.id,
            is_backward=lowering.wrapper.is_backward,
            calls=kernel.calls,
            text=None if text is None else self._texts.add(lowering.places.shared(text)),
            nodes={f"{graph.id}:{name}": graph.targets[name] for graph, name in nodes},
            lines=[sources.line_id(*place) for place in places if place is not None],
            bytes_read=count(kernel.reads),
            bytes_written=count(kernel.writes),
        )


def _last(graphs: list[LogGraph], stage: str, piece: Piece, pieces: list[Piece]) -> LogGraph | None:
    for graph, own in zip(reversed(graphs), reversed(pieces[: len(graphs)]), strict=True):
        if graph.stage == stage and own.compile_id == piece.compile_id:
            return graph
    return None


def _mapping(piece: Piece | None) -> dict[str, list[str]]:
    """The nodes of each kernel by its handle, from torch's own map."""
    try:
        data = orjson.loads(piece.raw) if piece is not None else None
    except ValueError:
        return {}
    by_handle = data.get("cppCodeToPost") if isinstance(data, dict) else None
    rows = by_handle.items() if isinstance(by_handle, dict) else ()
    return {
        handle: [name for name in names if isinstance(name, str)]
        for handle, names in rows
        if isinstance(names, list)
    }


def _read_symbols(content: LogContent) -> dict[str | None, dict[str, int]]:
    """By compilation the sizes that were left open, as in the example call."""
    values: dict[str | None, dict[str, int]] = {}
    for kind, compile_id, meta in content.symbols:
        if kind == "create_symbol" and meta["val"].isdecimal():
            values.setdefault(compile_id, {})[meta["symbol"]] = int(meta["val"])
    return values


def _choose_called(name: str, nodes: list[str], graph: LogGraph) -> list[str]:
    """Of the nodes that torch ascribes to a library call the one that it computes, if one does."""
    called = name.removeprefix("torch.ops.").replace("extern_kernels.", "aten.", 1).split(".")[:2]
    fitting = [node for node in nodes if graph.targets[node].split(".")[:2] == called]
    return fitting if len(fitting) == 1 else nodes


def _tell_types(program: LoggedProgram, lowering: _Lowering) -> None:
    """Give inputs and the results of library calls what the graph says of their nodes."""
    types = {} if lowering.lowered is None else lowering.lowered.types
    for buffer in program.buffers:
        if buffer.kind == "input" and (graph_type := types.get(buffer.name)) is not None:
            buffer.dtype, buffer.device = buffer.dtype or graph_type.dtype, graph_type.device
    buffers = {buffer.name: buffer for buffer in program.buffers}
    unknown = {name: buffer for name, buffer in buffers.items() if buffer.dtype is None}
    for kernel in program.kernels:
        results = [unknown[name] for name in kernel.writes if name in unknown]
        if kernel.language == "extern" and len(results) == 1:
            target = kernel.name.removeprefix("torch.ops.")
            for graph, name in lowering.nodes(kernel):
                if graph.targets[name] == target and graph is lowering.lowered:
                    result, graph_type = results[0], types[name]
                    result.dtype, result.device = graph_type.dtype, graph_type.device
                    result.shape = graph_type.shape if result.shape is None else result.shape
    dtypes = {name: type_.dtype for name, type_ in types.items() if type_.dtype}
    tell_results(program.kernels, buffers, dtypes)
    for name, before in program.reused.items():
        buffer, held = buffers[name], buffers[before]
        buffer.dtype = buffer.dtype or held.dtype
        buffer.device = buffer.device or held.device
        buffer.shape = held.shape if buffer.shape is None else buffer.shape
    devices = {type_.device for type_ in types.values() if type_.device}
    for buffer in program.buffers:  # the program says "cuda", under a guard that names which
        own = [device for device in devices if device.startswith(f"{buffer.device}:")]
        buffer.device = own[0] if len(own) == 1 else buffer.device


def _buffer(lowering: _Lowering, buffer: CodeBuffer) -> Buffer:
    graph = lowering.lowered
    type_ = None if graph is None else graph.types.get(buffer.name)
    is_node = type_ is not None and buffer.kind == "input"
    size = buffer.bytes()
    return Buffer(
        id=f"{lowering.id}:{buffer.name}",
        graph=lowering.id,
        name=buffer.name,
        kind=buffer.kind,
        shape=buffer.shape,
        dtype=buffer.dtype or (type_.dtype if type_ else None),
        device=buffer.device,
        bytes=type_.bytes if size is None and type_ else size,
        node=f"{graph.id}:{buffer.name}" if graph is not None and is_node else None,
    )
