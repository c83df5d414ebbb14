"""The parts that a view asks for by name, each built from a report when it is asked for."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.apart.apart import explain_apart, list_neighbours
from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.diff.lineage import (
    NodePair,
    changes,
    find_kernels_of_nodes,
    find_named_owners,
)
from workbench.analysis.kernel_script.script import kernel_script
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.artifacts.programs import find_kernels
from workbench.errors import UsageError
from workbench.report import TABLES, KernelLine, Report, Wrapper
from workbench.report.graph_stages import is_weight_name, name_input, place_of
from workbench.report.machine_rows import Assembly
from workbench.report.record import list_linked_pairs
from workbench.report.rows import PassStep, WhyApart
from workbench.report.side_by_side import compare
from workbench.report.texts import find_text
from workbench.specs.opcodes import explanations
from workbench.views.layout import layered
from workbench.views.parts.fusion_part import build_fusion_part, build_pairs_part
from workbench.views.parts.memory_part import build_budgets_part, build_memory_part
from workbench.views.tables.columns import FIRST_COLUMNS
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, no_collection
from workbench.views.wire.gpu_messages import ComparePart, Opcode, StagePart
from workbench.views.wire.report_messages import (
    BytecodePart,
    ChangesPart,
    CodePart,
    GraphPart,
    Part,
    TablePart,
    WrapperPart,
)
from workbench.views.wire.table_messages import Cell

_FORMS = (
    "graph:ID, bytecode:ID, code:ID, script:ID, wrapper:ID, table:NAME, changes:ID:ID, "
    "asm:CONFIG:STAGE, compare:CONFIG:CONFIG:STAGE, memory:, budgets:, fusion:, pairs:, apart:ID|ID"
)


class Parts:
    """The parts of one report."""

    def __init__(self, report: Report):
        self._report = report

    @cached_property
    def _codes(self) -> Codes:
        return Codes(self._report)

    @cached_property
    def _graphs(self) -> GraphParts:
        return GraphParts(self._report)

    @cached_property
    def _stages(self) -> Stages:
        return Stages(self._report)

    def __call__(self, name: str) -> Part:
        """Build one part; raises `UsageError` when there is none of that name."""
        kind, _, rest = name.partition(":")
        build = self._builders.get(kind)
        if build is None:
            raise UsageError(f"Unknown part {name!r}. The parts are {_FORMS}.")
        return build(rest)

    @cached_property
    def _builders(self) -> Mapping[str, Callable[[str], Part]]:
        """By kind what builds a part from the rest of its name."""
        report = self._report
        return {
            "graph": lambda rest: self._graphs.part(rest),
            "bytecode": lambda rest: build_bytecode_part(report, rest),
            "code": lambda rest: self._codes.part(rest),
            "script": lambda id: {"kind": "script", "id": id, "text": kernel_script(report, id)},
            "wrapper": lambda rest: build_wrapper_part(report, rest),
            "table": lambda rest: build_table_part(report, rest),
            "changes": lambda rest: build_changes_part(report, *rest.partition(":")[::2]),
            "asm": lambda rest: self._stages.part(rest),
            "compare": lambda rest: compare_part(self._stages, rest),
            "memory": lambda _: build_memory_part(report),
            "budgets": lambda _: build_budgets_part(report),
            "fusion": lambda _: build_fusion_part(report),
            "pairs": lambda _: build_pairs_part(report),
            "apart": lambda pair: build_apart_part(report, pair),
        }


def report_part(report: Report, name: str) -> Part:
    """Build one part; raises `UsageError` when there is none of that name."""
    return Parts(report)(name)


_TEXTS = ("sources", "graphs", "kernels", "wrappers")  # `text` names one that other parts hold


def build_table_part(report: Report, name: str) -> TablePart:
    """Build the part; raises `UsageError` for a name that is no table."""
    if name not in TABLES:
        raise UsageError(f"Unknown table {name!r}. Choose one of: {', '.join(sorted(TABLES))}.")
    table = getattr(report, name)
    first = [column for column in FIRST_COLUMNS.get(name, ()) if column in table.columns]
    hidden = ["text"] if name in _TEXTS else []
    order = [*first, *(c for c in table.columns if c not in (first + hidden))]
    columns = {column: [_cell(value) for value in table.columns[column]] for column in order}
    return {"kind": "table", "name": name, "columns": columns, "rows": len(table)}


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return ", ".join(_words(item) for item in value)
    return str(value)


def _words(item: Any) -> str:
    if isinstance(item, tuple | list) and len(item) == 2:
        return f"{item[0]}={item[1]}"
    return str(item)


_PIECES = 5  # two configurations of two words each, and the stage


class Stages:
    """The texts of all stages of a report; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._rows = {f"{row.config}:{row.stage}": row for row in report.assembly}

    def part(self, name: str) -> StagePart:
        """Build the part of `k0:c0:sass`; raises `UsageError` when there is no such text."""
        row, text = self.text(name)
        by_opcode = explanations(row.stage, text).items()
        opcodes = {name: convert_row(Opcode, opcode) for name, opcode in by_opcode}
        return convert_row(StagePart, row, kind="stage", text=text, opcodes=opcodes)

    def text(self, name: str) -> tuple[Assembly, str]:
        """A row and its text; raises `UsageError` when there is none."""
        row = self._rows.get(name)
        if row is None:
            raise UsageError(f"Unknown code {name!r}; report.frame('assembly') lists all code.")
        text = find_text(self._report.texts, row.text)
        if text is None:
            why = row.note or "it was not kept in the report"
            raise UsageError(f"{row.config} has no {row.stage.upper()}: {why}.")
        return row, text


def compare_part(stages: Stages, name: str) -> ComparePart:
    """Build the part of `k0:c0:k0:c1:sass`; raises `UsageError` when a text is not there."""
    *words, last = name.split(":")
    is_loose = last == "loose"
    words = words if is_loose else [*words, last]
    if len(words) != _PIECES:
        raise UsageError(
            f"Unknown comparison {name!r}: name two configurations and a stage, such as "
            "compare:k0:c0:k0:c1:sass."
        )
    stage = words[4]
    before, a = stages.text(":".join((*words[:2], stage)))
    after, b = stages.text(":".join((*words[2:4], stage)))
    return {
        "kind": "compare",
        "before": before.config,
        "after": after.config,
        "stage": stage,
        "blocks": [
            (kind, left.start + 1, left.stop, right.start + 1, right.stop)
            for kind, left, right in compare(a, b, loose=is_loose)
        ],
    }


_CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
_FOLDER = re.compile(r"(?m)^(# kernel path: )\S*[/\\]")  # of a cache on the machine that compiled


class Codes:
    """The sources of the kernels of a report; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._kernels = {kernel.id: kernel for kernel in report.kernels}
        self._lines: dict[str, list[KernelLine]] = defaultdict(list)
        for row in report.kernel_lines:
            self._lines[row.kernel].append(row)

    def part(self, id: str) -> CodePart:
        """Build the part; raises `UsageError` when there is no such kernel or it has no source."""
        kernel = self._kernels.get(id)
        if kernel is None:
            known = f"k0 to k{len(self._kernels) - 1}" if self._kernels else "none"
            raise UsageError(f"Unknown kernel {id!r}; the report has {known}.")
        text = find_text(self._report.texts, kernel.text)
        if text is None:
            why = "it was not kept in the report"
            if kernel.language == "extern":
                why = f"{kernel.name} is a library call"
            raise UsageError(f"{id} has no source: {why}.")
        nodes: list[list[str]] = [[] for _ in text.split("\n")]
        for row in self._lines.get(id, ()):
            if 0 < row.line <= len(nodes):
                nodes[row.line - 1] = list(row.nodes)
        return convert_row(CodePart, kernel, kind="code", text=text, nodes=nodes)


def build_bytecode_part(report: Report, id: str) -> BytecodePart:
    """Build the part; raises `UsageError` when there is no such bytecode or it has no text."""
    row = next((row for row in report.bytecode if row.id == id), None)
    if row is None:
        known = ", ".join(report.bytecode.columns.get("id", ())) or "none"
        raise UsageError(f"Unknown bytecode {id!r}; the report has {known}.")
    text = find_text(report.texts, row.text)
    if text is None:
        raise UsageError(f"The report has no text for the bytecode {id}.")
    source = find_text(report.texts, row.source_text)
    note = row.why_no_source if source is None else None
    return {"kind": "bytecode", "id": id, "text": text, "source": source, "note": note}


def build_wrapper_part(report: Report, id: str) -> WrapperPart:
    """Build the part; raises `UsageError` when there is no such wrapper or it has no text."""
    wrapper = next((wrapper for wrapper in report.wrappers if wrapper.id == id), None)
    if wrapper is None:
        known = ", ".join(report.wrappers.columns.get("id", ())) or "none"
        raise UsageError(f"Unknown wrapper {id!r}; the report has {known}.")
    text = find_text(report.texts, wrapper.text)
    if text is None:
        raise UsageError(f"The text of {id} was not saved in the report.")
    text = _FOLDER.sub(r"\1", text)
    kernels = _kernels_of_lines(report, wrapper, text)
    return {"kind": "wrapper", "id": id, "text": text, "kernels": kernels}


def _kernels_of_lines(report: Report, wrapper: Wrapper, text: str) -> list[str | None]:
    """The kernel that each line defines or calls; library calls of one name in their order."""
    named: dict[str, deque[str]] = defaultdict(deque)
    for kernel in report.kernels:
        if kernel.graph == wrapper.graph:
            named[kernel.name].append(kernel.id)
    owners = {  # the kernel whose source a line belongs to
        line: named[kernel.name][0]
        for kernel in find_kernels(text)
        if kernel.name in named
        for line in kernel.lines
    }
    lines = enumerate(text.split("\n"), 1)
    return [owners[n] if n in owners else _called(line, named) for n, line in lines]


def _called(line: str, named: dict[str, deque[str]]) -> str | None:
    if line.lstrip().startswith("#"):
        return None
    for match in _CALLED.finditer(line):
        ids = named.get(match[1]) or named.get(match[1].removesuffix(".run"))
        if ids:
            return ids.popleft() if len(ids) > 1 else ids[0]
    return None


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
            raise UsageError(f"Unknown graph {id!r}; the report has {known}.")
        with no_collection():
            return self._part(id)

    def _part(self, id: str) -> GraphPart:
        report = self._report
        base = id.partition(".")[0]
        columns = _columns(report, base) if base == id else read_step_columns(report, id)
        rows = _rows(columns)
        ids = [f"{base}:{name}" for name in rows.names]
        place = {node: number for number, node in enumerate(rows.ids)}
        inputs = _inputs(columns["inputs"], place)
        links = report.node_pairs
        kernel, kernels = self._kernels(base, ids, links)
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
            lines=self._lines(ids, columns),
            called_from=[list(sites) for sites in columns["called_from"]],
            before=_before(links.get(id, ()), rows.ids) if base == id else self._origins(ids),
            module=module,
            modules=modules,
            kernel=kernel,
            kernels=kernels,
            is_quiet=find_quiet_nodes(rows, names, kernel),
        )

    def _origins(self, ids: Sequence[str]) -> list[list[str]]:
        """Of each node the one of that name in the graph that the passes began with."""
        return [[id] if id in self._report.node_row else [] for id in ids]

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


# fmt: off
_VIEWS = frozenset((
    "view", "reshape", "_unsafe_view", "permute", "transpose", "t", "numpy_T", "mT", "T",
    "swapaxes", "movedim", "expand", "expand_as", "broadcast_to", "unsqueeze", "squeeze", "slice",
    "select", "unbind", "split", "split_with_sizes", "chunk", "narrow", "as_strided", "alias",
    "detach", "flatten", "unflatten", "contiguous", "getitem", "unfold", "diagonal", "view_as",
))
_CASTS = frozenset((
    "convert_element_type", "_to_copy", "to", "type", "type_as", "float", "half", "bfloat16",
    "double", "int", "long", "bool",
))
_CONSTANTS = frozenset((
    "scalar_tensor", "sym_size", "sym_numel", "sym_stride", "device_put", "lift_fresh",
))
# fmt: on
_QUIET = _VIEWS | _CASTS | _CONSTANTS
_NAMESPACES = ("aten", "prims", "inductor", "_c10d_functional")


@dataclass(frozen=True)
class Rows:
    """The columns of one graph's nodes, in its order."""

    ids: Sequence[str]
    names: Sequence[str]
    ops: Sequence[str]
    targets: Sequence[str]
    shapes: Sequence[Sequence[int | str] | None]


def strip_op_name(target: str) -> str:
    """An operation without its namespace and overload: `aten.add.Tensor` is `add`."""
    parts = target.split(".")
    if len(parts) > 1 and parts[0] in _NAMESPACES:
        return parts[1]
    return parts[-1]


def name_inputs(rows: Rows, captured: Rows | None) -> dict[int, str]:
    """What the inputs of a graph are called in the captured one, by index.

    Later stages number them; the number is the place in the captured graph. One whose shape does
    not agree is left out.
    """
    places = [] if captured is None else _placeholders(captured)
    by_node: dict[int, str] = {}
    for node in _placeholders(rows):
        place = place_of(rows.names[node])
        if captured is not None and place is not None and 0 <= place < len(places):
            origin = places[place]
            if captured.shapes[origin] == rows.shapes[node]:
                by_node[node] = captured.targets[origin]
    return by_node


def _placeholders(rows: Rows) -> list[int]:
    return [node for node, op in enumerate(rows.ops) if op == "placeholder"]


def find_quiet_nodes(rows: Rows, inputs: Mapping[int, str], kernel: Sequence[int]) -> list[bool]:
    """Which nodes to hide at first; `kernel` is -1 for a node in none.

    A kernel that consists of such nodes keeps its last one, so that it can be seen.
    """
    base = {target: strip_op_name(target) for target in set(rows.targets)}
    quiet: list[bool] = []
    for node, op in enumerate(rows.ops):
        target = rows.targets[node]
        if op == "placeholder":
            quiet.append(is_weight_name(inputs.get(node, target)))
        elif op == "output":
            quiet.append(False)
        else:
            is_scalar = rows.shapes[node] == () and base[target] in ("full", "full_like")
            quiet.append(op == "get_attr" or base[target] in _QUIET or is_scalar)
    loud = {owner for owner, is_quiet in zip(kernel, quiet, strict=True) if not is_quiet}
    for node in range(len(quiet) - 1, -1, -1):
        owner = kernel[node]
        if owner >= 0 and owner not in loud:
            loud.add(owner)
            quiet[node] = False
    return quiet


def find_all_quiet_ids(report: Report) -> list[str]:
    """Ids of the nodes, of any stage, that only look at other data."""
    columns = report.nodes.columns
    targets: Sequence[str] = columns.get("target", ())
    quiet = {target for target in set(targets) if strip_op_name(target) in _QUIET}
    ids: Sequence[str] = columns.get("id", ())
    return [id for id, target in zip(ids, targets, strict=True) if target in quiet]


_MOST = 200  # pairs that a saved page answers for
_JOINING = frozenset(
    ("product-epilogue", "topk-of-one", "complex-numbers", "attention-by-hand", "copied-matrix")
)
"""Rules whose change puts operations into one kernel, or takes away what stands between."""


def build_apart_part(report: Report, pair: str) -> wire.ApartPart:
    """Build the part of a pair `k0|k1`, of all neighbours without one.

    Raises `UsageError` for an id that the record does not have.
    """
    a, mark, b = pair.partition("|")
    if pair and not (a and mark and b):
        raise UsageError(f"'apart' needs two ids, as in 'apart:k0|k1'; got {pair!r}.")
    answers = [explain_apart(report, a, b)] if pair else list_neighbours(report, _MOST)
    changes = [change for change in opportunities(report) if change.rule in _JOINING]
    return {"kind": "apart", "answers": [_answer(answer, changes) for answer in answers]}


def _answer(answer: WhyApart, changes: list[Opportunity]) -> wire.WhyApart:
    concerned = set(answer.concerned)
    joining = (change.id for change in changes if concerned & set(change.kernels))
    return convert_row(
        wire.WhyApart,
        answer,
        rejected=None if answer.pair is None else f"f0:{answer.pair}",
        opportunity=next(joining, None) if answer.is_apart else None,
    )


Columns = Mapping[str, Sequence[Any]]


def read_step_columns(report: Report, id: str) -> Columns:
    """The nodes of the graph after a pass; raises `UsageError` where there is none of that name."""
    base, steps = _find_steps(report, id)
    nodes, changed = report.nodes.columns, report.pass_nodes.columns
    places = {id: row for row, id in enumerate(changed["id"])}
    by_name = {nodes["name"][row]: (nodes, row) for row in report.node_rows[base]}
    for step in steps:
        for name in step.removed:
            by_name.pop(name, None)
        for name in (*step.added, *step.rewritten):
            by_name[name] = changed, places[f"{step.graph_after}:{name}"]
    inputs = {
        name: [source.partition(":")[2] for source in table["inputs"][row]]
        for name, (table, row) in by_name.items()
    }
    names = _sort_names({name: [n for n in own if n in by_name] for name, own in inputs.items()})
    columns: dict[str, list[Any]] = {
        column: [by_name[name][0][column][by_name[name][1]] for name in names] for column in nodes
    }
    own: dict[str, list[Any]] = {
        "id": [f"{id}:{name}" for name in names],
        "graph": [id] * len(names),
        "inputs": [[f"{id}:{source}" for source in inputs[name]] for name in names],
    }
    return columns | own


def build_step_changes(report: Report, before: str, after: str) -> ChangesPart:
    """What the passes between two states of one graph did."""
    fewer, more = sorted((_find_steps(report, id)[1] for id in (before, after)), key=len)
    was, now = (read_names(report, id) for id in (before, after))
    between = (name for step in more[len(fewer) :] for name in step.rewritten)
    stayed = [name for name in dict.fromkeys(between) if name in was and name in now]
    return {
        "kind": "changes",
        "before": before,
        "after": after,
        "added": [f"{after}:{name}" for name in now if name not in was],
        "removed": [f"{before}:{name}" for name in was if name not in now],
        "replaced": [([f"{before}:{name}"], [f"{after}:{name}"]) for name in stayed],
        "kept": len(was & now) - len(stayed),
    }


def read_names(report: Report, id: str) -> KeysView[str]:
    """The names of the nodes of a recorded graph, or of one that a pass left, in no order."""
    base, steps = _find_steps(report, id)
    all_names = report.nodes.columns["name"]
    names: dict[str, None] = dict.fromkeys(all_names[row] for row in report.node_rows[base])
    for step in steps:
        for name in step.removed:
            names.pop(name, None)
        names |= dict.fromkeys(step.added)
    return names.keys()


def _find_steps(report: Report, id: str) -> tuple[str, tuple[PassStep, ...]]:
    """The recorded graph, and the passes that led from it to a graph."""
    base, dot, number = id.partition(".")
    steps = report.graph_steps.get(base, ())
    count = int(number) if number.isdecimal() else 0
    if base not in report.node_rows or (dot and not 0 < count <= len(steps)):
        raise UsageError(f"The report has no graph {id!r} after a compiler pass.")
    return base, steps[:count]


def _sort_names(reads: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes, each behind those that it reads, else in their order."""
    order: dict[str, None] = {}
    for first in reads:
        waiting = [(first, iter(reads[first]))]
        while waiting:
            name, inputs = waiting[-1]
            missing = next((other for other in inputs if other not in order), None)
            if missing is None:
                order.setdefault(name)
                waiting.pop()
            else:
                waiting.append((missing, iter(reads[missing])))
    return list(order)
