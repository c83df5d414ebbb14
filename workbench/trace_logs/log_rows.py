"""Rows of graphs, nodes, kernels, buffers, programs, tied to each other and to lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from workbench.artifacts.programs import TextNode, parse_graph
from workbench.compiler.rows.graph_rows import GraphTable, SeenGraph, strip_printed
from workbench.compiler.rows.kernel_rows import (
    SeenKernel,
    add_known,
    list_kernels,
    tie_kernels,
)
from workbench.compiler.sources.sources import SourceTable
from workbench.report import Buffer, Kernel, Link, TextWriter, Wrapper
from workbench.report.cluster.cluster_rows import Collective
from workbench.report.graph_stages import BY_RECORD
from workbench.trace_logs.content import LogContent, Piece
from workbench.trace_logs.kernel_code import (
    CodeBuffer,
    CodeKernel,
    LoggedProgram,
    parse_aoti,
    parse_program,
)
from workbench.trace_logs.logged_collectives import list_collectives, tell_results
from workbench.trace_logs.source_places import LogPlaces

_EITHER = ("before_post_grad", "after_post_grad")  # stages that forward and backward share


@dataclass
class LogGraph(SeenGraph):
    """One graph of a log; `places` are the shown files and the lines of its nodes by name."""

    places: dict[str, tuple[str, int]]
    sizes: dict[str, tuple[str | None, int | None]]  # dtype and bytes of the nodes


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
            {node.name: (node.type.dtype, node.type.bytes) for node in nodes},
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

    def nodes(self, kernel: CodeKernel) -> list[tuple[LogGraph, str]]:
        """The nodes behind a kernel, in the best record that the log has of them."""
        graph = self.lowered
        named = [name for handle in kernel.handles for name in self.mapping.get(handle, ())]
        for names in (named, kernel.nodes):
            known_names = [name for name in names if graph is not None and name in graph.targets]
            if graph is not None and known_names:
                return [(graph, name) for name in dict.fromkeys(known_names)]
        graph = self.captured
        known = [name for name in kernel.captured if graph is not None and name in graph.targets]
        return [(graph, name) for name in known] if graph is not None else []


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
            wrapper = Wrapper(f"w{len(self._lowerings)}", id, is_backward, key)
            mapping = _mapping(mappings.get((number, piece.compile_id)))
            lowering = _Lowering(id, program, lowered, captured, mapping, places, wrapper)
            self._lowerings.append(lowering)
            self.compile_ids[id] = f"{prefix}{piece.compile_id}"
            self.foreign += "async_compile" not in text and not program.kernels
            if lowered is not None:
                self.links.append(Link(lowered.id, id, "graph-lowered"))
            sizes = {} if lowered is None else lowered.sizes
            _tell_results(program, lowering, sizes)
            dtypes = {name: dtype for name, (dtype, _) in sizes.items() if dtype}
            tell_results(program.kernels, {one.name: one for one in program.buffers}, dtypes)
            self.buffers += [_buffer(id, one, sizes) for one in program.buffers]

    @property
    def wrappers(self) -> list[Wrapper]:
        """The generated programs."""
        return [lowering.wrapper for lowering in self._lowerings]

    def rows(self, sources: SourceTable) -> list[Kernel]:
        """The kernels in the order of their first calls, and what they are tied to."""
        sizes = {buffer.id: buffer.bytes for buffer in self.buffers}
        kernels: list[Kernel] = []
        moved: dict[str, list[str]] = {}
        for lowering in self._lowerings:
            program = lowering.program.kernels
            seen = (self._see(kernel, lowering, sizes) for kernel in program)
            rows = list_kernels(seen, sources.line_id, first=len(kernels))
            own = list(zip(program, rows, strict=True))
            for kernel, row in own:
                names = (*kernel.reads, *kernel.writes)
                moved[row.id] = [f"{lowering.id}:{name}" for name in names]
            kernels += rows
            buffers = {each.name: each for each in self.buffers if each.graph == lowering.id}
            self.collectives += list_collectives(own, buffers, len(self.collectives))
        self.links += tie_kernels(kernels, self.wrappers, moved)
        return kernels

    def _see(
        self, kernel: CodeKernel, lowering: _Lowering, sizes: Mapping[str, int | None]
    ) -> SeenKernel:
        nodes, text = sorted(lowering.nodes(kernel), key=lambda each: each[1]), kernel.text
        self.unexplained += not nodes and kernel.language != "extern"
        places = (graph.places.get(name) for graph, name in nodes)

        def count(names: Iterable[str]) -> int | None:
            """Bytes of whole buffers; None when the size of none is known."""
            return add_known(sizes.get(f"{lowering.id}:{name}") for name in names)

        return SeenKernel(
            name=kernel.name,
            language=kernel.language,
            graph=lowering.id,
            is_backward=lowering.wrapper.is_backward,
            calls=kernel.calls,
            text=None if text is None else self._texts.add(lowering.places.shared(text)),
            nodes={f"{graph.id}:{name}": graph.targets[name] for graph, name in nodes},
            lines=[place for place in places if place is not None],
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


def _tell_results(
    program: LoggedProgram, lowering: _Lowering, sizes: dict[str, tuple[str | None, int | None]]
) -> None:
    """Give the result of a library call the dtype of the node that it computes."""
    unknown = {buffer.name: buffer for buffer in program.buffers if buffer.dtype is None}
    for kernel in program.kernels:
        results = [unknown[name] for name in kernel.writes if name in unknown]
        if kernel.language == "extern" and len(results) == 1 and results[0].kind != "input":
            target = kernel.name.removeprefix("torch.ops.")
            for graph, name in lowering.nodes(kernel):
                if graph.targets[name] == target and graph is lowering.lowered:
                    results[0].dtype = sizes.get(name, (None, None))[0]


def _buffer(
    lowered: str, buffer: CodeBuffer, sizes: dict[str, tuple[str | None, int | None]]
) -> Buffer:
    dtype, size = sizes.get(buffer.name, (buffer.dtype, None))
    known = buffer.bytes()
    return Buffer(
        id=f"{lowered}:{buffer.name}",
        graph=lowered,
        name=buffer.name,
        kind=buffer.kind,
        shape=buffer.shape,
        dtype=buffer.dtype or dtype,
        device=buffer.device,
        bytes=size if known is None else known,
    )
