"""The part `graph:<id>`: a graph with its layout and everything that its nodes are tied to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.analysis.lineage import Pair, kernels_of_nodes, node_index, node_links
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.layout import layered
from workbench.views.parts.collection import no_collection
from workbench.views.parts.quiet import (
    Rows,
    all_quiet_ids,
    input_names,
    pretty_input,
    quiet_nodes,
)
from workbench.views.wire import GraphPart

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


def graph_part(report: Report, id: str) -> GraphPart:
    """Build the part of one graph; raises `UsageError` for an id that is not a graph."""
    known = [graph.id for graph in report.graphs]
    if id not in known:
        raise UsageError(f"There is no graph {id!r}; the report has {', '.join(known) or 'none'}.")
    with no_collection():
        return _part(report, id)


def _part(report: Report, id: str) -> GraphPart:
    index = node_index(report)
    picked = index[id]
    rows = _rows(report, picked)
    place = {node: number for number, node in enumerate(rows.ids)}
    inputs = _inputs(_column(report, "inputs", picked), place)
    links = node_links(report)
    kernel, kernels = _kernels(report, id, rows.ids, links)
    module, modules = _numbered(_column(report, "module_path", picked))
    names = input_names(rows, _captured(report, id, index))
    layout = layered(inputs, straight=False)
    return {
        "id": id,
        "names": list(rows.names),
        "ops": list(rows.ops),
        "targets": _targets(rows, names),
        "inputs": inputs,
        "shapes": [_size(shape) for shape in rows.shapes],
        "strides": [_size(stride) for stride in _column(report, "stride", picked)],
        "dtypes": [_SHORT.get(d or "", d or "") for d in _column(report, "dtype", picked)],
        "bytes": _column(report, "bytes", picked),
        "lines": _lines(report, rows.ids, picked),
        "called_from": [list(sites) for sites in _column(report, "called_from", picked)],
        "before": _before(links.get(id, ()), rows.ids),
        "module": module,
        "modules": modules,
        "kernel": kernel,
        "kernels": kernels,
        "is_quiet": quiet_nodes(rows, names, kernel),
        "x": layout.x,
        "y": layout.y,
        "level": layout.level,
        "width": layout.width,
        "height": layout.height,
        "routes": layout.routes,
    }


def _column(report: Report, name: str, picked: Sequence[int]) -> list[Any]:
    values = report.nodes.columns[name]
    return [values[row] for row in picked]


def _rows(report: Report, picked: Sequence[int]) -> Rows:
    return Rows(
        *(_column(report, name, picked) for name in ("id", "name", "op", "target", "shape"))
    )


def _inputs(inputs: Sequence[Sequence[str]], place: Mapping[str, int]) -> list[list[int]]:
    """Inputs by index; a node that is not in the record (a cap was reached) is left out."""
    return [
        [place[part] for part in parts if part in place and place[part] < node]
        for node, parts in enumerate(inputs)
    ]


def _kernels(
    report: Report, graph: str, ids: Sequence[str], links: Mapping[str, list[Pair]]
) -> tuple[list[int], list[str]]:
    owners = kernels_of_nodes(report, all_quiet_ids(report), links=links, back_to=graph)
    used = {owners[id] for id in ids if id in owners}
    kernels = [kernel for kernel in report.kernels.columns.get("id", ()) if kernel in used]
    numbers = {kernel: number for number, kernel in enumerate(kernels)}
    return [numbers.get(owners.get(id, ""), -1) for id in ids], kernels


def _numbered(values: Sequence[str | None]) -> tuple[list[int], list[str]]:
    numbers: dict[str, int] = {}
    found = [-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
    return found, list(numbers)


def _captured(report: Report, id: str, index: Mapping[str, list[int]]) -> Rows | None:
    """The graph that Dynamo captured in the same compilation."""
    graphs = list(report.graphs)
    compile_id = next(graph.compile_id for graph in graphs if graph.id == id)
    for graph in graphs:
        if graph.stage == "dynamo" and graph.compile_id == compile_id:
            return _rows(report, index[graph.id])
    return None


def _targets(rows: Rows, names: Mapping[int, str]) -> list[str]:
    return [
        pretty_input(names.get(node, target)) if rows.ops[node] == "placeholder" else target
        for node, target in enumerate(rows.targets)
    ]


def _size(values: Sequence[int | str] | None) -> str:
    return "" if values is None else f"[{', '.join(map(str, values))}]"


def _lines(report: Report, ids: Sequence[str], picked: Sequence[int]) -> list[str | None]:
    """The innermost user line of each node; an input's is where its value is first used."""
    places: dict[tuple[str, int], str] = {}
    for source in report.sources:
        text = None if source.text is None else report.texts.get(source.text)
        count = 0 if text is None else text.count("\n") + 1
        for line in range(source.first_line, source.first_line + count):
            places[source.file, line] = f"L:{source.id}:{line}"
    files, numbers = _column(report, "file", picked), _column(report, "line", picked)
    found = [places.get(place) for place in zip(files, numbers, strict=True)]
    if None in found:
        linked = _linked_lines(report)
        found = [line or linked.get(id) for line, id in zip(found, ids, strict=True)]
    return found


def _linked_lines(report: Report) -> dict[str, str]:
    links = report.links.columns
    found: dict[str, str] = {}
    for a, b, relation in zip(
        links.get("a", ()), links.get("b", ()), links.get("relation", ()), strict=True
    ):
        if relation == "line-node":
            found.setdefault(b, a)
    return found


def _before(links: Iterable[Pair], ids: Sequence[str]) -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for a, b in links:
        found.setdefault(b, []).append(a)
    return [found.get(id, []) for id in ids]
