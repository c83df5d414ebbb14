"""The parts `graph:<id>`, with its layout, and `changes:<id>:<id>`, what passes did between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.diff.lineage import (
    NodePair,
    changes,
    find_kernels_of_nodes,
    find_named_owners,
)
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.column_filter import list_linked_pairs
from workbench.report.graph_stages import name_input
from workbench.views.layout import layered
from workbench.views.parts.quiet import Rows, find_all_quiet_ids, find_quiet_nodes, name_inputs
from workbench.views.parts.step_graphs import Columns, build_step_changes, read_step_columns
from workbench.views.wire.codec import convert_row, no_collection
from workbench.views.wire.report_messages import ChangesPart, GraphPart

_SHORT = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "complex64": "c64",
    "complex128": "c128",
}


class GraphParts:
    """Builds the parts of graphs; what these share is looked up once."""

    def __init__(self, report: Report):
        self._report = report
        graphs = report.graphs.columns
        ids, compilations = graphs.get("id", ()), graphs.get("compile_id", ())
        self._compilations: dict[str, str | None] = dict(zip(ids, compilations, strict=True))

    @cached_property
    def _owners(self) -> tuple[frozenset[str], dict[str, str]]:
        """The ids of the quiet nodes, and the kernels of nodes by name."""
        return frozenset(find_all_quiet_ids(self._report)), find_named_owners(self._report)

    @cached_property
    def _linked(self) -> dict[str, str]:
        pairs = list_linked_pairs(self._report, "line-node")
        return {node: line for line, node in reversed(list(pairs))}

    def part(self, id: str) -> GraphPart:
        """Build the part of one graph; raises `UsageError` for an id that is not a graph."""
        if id.partition(".")[0] not in self._compilations:
            known = ", ".join(self._compilations) or "none"
            raise UsageError(f"There is no graph {id!r}; the report has {known}.")
        with no_collection():
            return self._part(id)

    def _part(self, id: str) -> GraphPart:
        report = self._report
        base = id.partition(".")[0]
        columns = _columns(report, base) if base == id else read_step_columns(report, id)
        rows = _rows(columns)
        known = [f"{base}:{name}" for name in rows.names]
        place = {node: number for number, node in enumerate(rows.ids)}
        inputs = _inputs(columns["inputs"], place)
        links = report.node_pairs
        kernel, kernels = self._kernels(base, known, links)
        module, modules = _numbered(columns["module_path"])
        names = name_inputs(rows, _captured(report, base))
        layout = layered(inputs, straight=False)
        return convert_row(
            GraphPart,
            layout,
            kind="graph",
            id=id,
            names=list(rows.names),
            ops=list(rows.ops),
            targets=_targets(rows, names),
            inputs=inputs,
            shapes=[_size(shape) for shape in rows.shapes],
            strides=[_size(stride) for stride in columns["stride"]],
            dtypes=[_SHORT.get(d or "", d or "") for d in columns["dtype"]],
            bytes=list(columns["bytes"]),
            lines=self._lines(known, columns),
            called_from=[list(sites) for sites in columns["called_from"]],
            before=_before(links.get(id, ()), rows.ids) if base == id else self._origins(known),
            module=module,
            modules=modules,
            kernel=kernel,
            kernels=kernels,
            is_quiet=find_quiet_nodes(rows, names, kernel),
        )

    def _origins(self, known: Sequence[str]) -> list[list[str]]:
        """Of each node the one of that name in the graph that the passes began with."""
        return [[id] if id in self._report.node_row else [] for id in known]

    def _lines(self, ids: Sequence[str], columns: Columns) -> list[str | None]:
        """The innermost user line of each node; an input's is where its value is first used."""
        places = list_line_ids(self._report)
        lines = [places.get(at) for at in zip(columns["file"], columns["line"], strict=True)]
        if None in lines:
            lines = [line or self._linked.get(id) for line, id in zip(lines, ids, strict=True)]
        return lines

    def _kernels(
        self, graph: str, ids: Sequence[str], links: Mapping[str, list[NodePair]]
    ) -> tuple[list[int], list[str]]:
        mine = self._compilations[graph]
        own = {id: pairs for id, pairs in links.items() if self._compilations.get(id) == mine}
        quiet, named = self._owners
        owners = find_kernels_of_nodes(self._report, quiet, links=own, owners=named, back_to=graph)
        used = {owners[id] for id in ids if id in owners}
        kernels = [id for id in self._report.kernels.columns.get("id", ()) if id in used]
        numbers = {kernel: number for number, kernel in enumerate(kernels)}
        return [numbers.get(owners.get(id, ""), -1) for id in ids], kernels


def build_graph_part(report: Report, id: str) -> GraphPart:
    """Build the part of one graph; raises `UsageError` for an id that is not a graph."""
    return GraphParts(report).part(id)


def _columns(report: Report, id: str) -> Columns:
    picked = report.node_rows[id]
    return {name: [values[row] for row in picked] for name, values in report.nodes.columns.items()}


def _rows(columns: Columns) -> Rows:
    return Rows(*(columns[name] for name in ("id", "name", "op", "target", "shape")))


def _inputs(inputs: Sequence[Sequence[str]], place: Mapping[str, int]) -> list[list[int]]:
    """Inputs by index; a node that is not in the record (a cap was reached) is left out."""
    return [
        [place[part] for part in parts if part in place and place[part] < node]
        for node, parts in enumerate(inputs)
    ]


def _numbered(values: Sequence[str | None]) -> tuple[list[int], list[str]]:
    numbers: dict[str, int] = {}
    indices = [-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
    return indices, list(numbers)


def _captured(report: Report, id: str) -> Rows | None:
    """The graph that Dynamo captured in the same compilation."""
    columns = report.graphs.columns
    compile_id = columns["compile_id"][list(columns["id"]).index(id)]
    names = ("id", "stage", "compile_id")
    for graph, stage, one in zip(*(columns[name] for name in names), strict=True):
        if stage == "dynamo" and one == compile_id:
            return _rows(_columns(report, graph))
    return None


def _targets(rows: Rows, names: Mapping[int, str]) -> list[str]:
    return [
        name_input(names.get(node, target)) if rows.ops[node] == "placeholder" else target
        for node, target in enumerate(rows.targets)
    ]


def _size(values: Sequence[int | str] | None) -> str:
    return "" if values is None else f"[{', '.join(map(str, values))}]"


def _before(links: Iterable[NodePair], ids: Sequence[str]) -> list[list[str]]:
    by_node: dict[str, list[str]] = {}
    for a, b in links:
        by_node.setdefault(b, []).append(a)
    return [by_node.get(id, []) for id in ids]


def build_changes_part(report: Report, before: str, after: str) -> ChangesPart:
    """Build the part; raises `UsageError` for an id that is not a graph.

    Two states of one graph are compared by what the passes between them did.
    """
    base = before.partition(".")[0]
    if before != after and after.partition(".")[0] == base:
        return build_step_changes(report, before, after)
    diff = changes(report, before, after)
    replaced = [(list(old), list(new)) for old, new in diff.replaced]
    return convert_row(ChangesPart, diff, kind="changes", replaced=replaced, kept=len(diff.kept))
