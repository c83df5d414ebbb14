"""Graph breaks with the cures that are known, recompilations, guards and their sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.analysis.breaks.broken_statement import Cure
from workbench.analysis.breaks.cures import find_cures
from workbench.analysis.cost.line_shares import list_line_ids
from workbench.device_kinds import TARGETS
from workbench.number_text import plural
from workbench.report import Guard, Node, Report, Request
from workbench.report.measures import count_guards
from workbench.report.record import select_rows
from workbench.views.answers.alternatives_text import TONES, describe_cure
from workbench.views.kit.proposed_changes import list_change_lines
from workbench.views.panes.pane import Answer, Content, Pane, ViewContext, missing
from workbench.views.wire import report_messages as wire
from workbench.views.wire.advice_messages import ProposedChange
from workbench.views.wire.codec import convert_row
from workbench.views.words.guard_phrases import describe_checks

_DTYPES = (
    *("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8"),
    *("bool", "complex64"),
)
_ROOT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?")
_STEP = re.compile(r"\.\w+|\[(?:'[^']*'|\"[^\"]*\"|[^\]]*)\]|\(\)")
_INPUT = re.compile(r"(?P<name>\w+): (?P<dtype>\w+) \[(?P<shape>[\d, ]*)\](?: on (?P<device>\S+))?")
_STATE = re.compile(r"_(parameters|buffers|modules)\b")
_GLOBAL = "torch's global state"


def document(report: Report, context: ViewContext) -> Content:
    """Breaks, recompilations and guards; a break is a problem."""
    count, tensors = len(report.breaks), list(_tensors(report))
    empty = missing(report, "guards", "No guards.", "Nothing that the code depends on can change.")
    data = {
        "breaks": _breaks(report, context),
        "guards": _guards(report, tensors),
        "sandbox": context.sandbox or _sandbox(tensors, report.request),
        "recompiles": [convert_row(wire.Recompile, row) for row in report.recompiles],
    }
    has_any = count or len(report.guards)
    return Content(
        data,
        count,
        is_problem=count > 0,
        empty=None if has_any else empty,
        answer=_answer(report),
    )


def _answer(report: Report) -> Answer:
    """Breaks, else recompiles, else that nothing breaks and how many guards there are."""
    if len(report.breaks):
        return plural(len(report.breaks), "graph break"), "break"
    if len(report.recompiles):
        return plural(len(report.recompiles), "recompile"), "fallback"
    if not report.outcome.ok or not len(report.graphs):
        return None
    kept = count_guards(guard.kept for guard in report.guards).kept
    return f"no breaks, {plural(kept, 'guard')}" if len(report.guards) else "no breaks", "plain"


def _breaks(report: Report, context: ViewContext) -> list[wire.Break]:
    """Every graph break on its line, with its cures."""
    line_of = list_line_ids(report)
    return [
        convert_row(
            wire.Break,
            item,
            line_id=line_of.get((item.file, item.line)),
            cures=[
                _propose(cure, item.id, number, context)
                for number, cure in enumerate(find_cures(report, item))
            ],
        )
        for item in report.breaks
    ]


def _propose(cure: Cure, item: str, number: int, context: ViewContext) -> ProposedChange:
    tried = context.cures.get((item, number))
    return {
        "id": f"{item}:{number}",
        "title": cure.title,
        "why": cure.why,
        "lines": list_change_lines(cure.change),
        "code": cure.change.code,
        "ask": "cure",
        "question": {"id": item, "cure": number},
        "why_not": context.why_not["cure"],
        "outcome": None
        if tried is None
        else {"words": describe_cure(tried), "tone": TONES[tried.verdict], "patch": tried.patch},
    }


def _guards(report: Report, tensors: Sequence[wire.Input]) -> list[wire.Guard]:
    """Every guard, kept and dropped."""
    inputs = {item["path"]: item for item in tensors}
    line_of = list_line_ids(report)
    paths = {source: path(source) for source in set(report.guards.columns.get("source", ()))}
    return [
        convert_row(
            wire.Guard,
            guard,
            path=paths[guard.source],
            text=_guard_text(guard, inputs.get(guard.source)),
            line_id=line_of.get((guard.file or "", guard.line or 0)),
        )
        for guard in report.guards
    ]


def path(source: str) -> list[str]:
    """The steps from the input or global to what is guarded: `L['m'].w` is `L['m']`, `.w`."""
    if not source:
        return [_GLOBAL]
    root = _ROOT.match(source)
    if root is None:
        return [source]
    steps = [match[0] for match in _STEP.finditer(source, root.end())]
    is_whole = root[0] + "".join(steps) == source
    return [root[0], *steps] if is_whole else [source]


def _guard_text(guard: Guard, tensor: wire.Input | None) -> str:
    """What a guard compares in words, without torch's own marks."""
    text = describe_checks(guard.code)
    if text or tensor is None or guard.kind != "TENSOR_MATCH":
        return text
    return f"{tensor['dtype']} {tensor['shape']}, stride {tensor['stride']}, on {tensor['device']}"


def _sandbox(tensors: Sequence[wire.Input], request: Request) -> wire.Sandbox:
    """The tensors of the call, as the record describes them; they cannot be tried."""
    own = (item for item in tensors if item["path"].startswith("L["))
    inputs = [item for item in own if not _STATE.search(item["path"])]
    why = "The report has no input tensors to try guards on."
    if inputs:
        why = (
            "The guards exist only in the process that compiled. "
            "Run the cell again to try other inputs."
        )
        if request.target not in TARGETS:
            why = (
                f"Guards for {request.target} cannot be tried: this machine does not have that "
                "GPU. "
                'Compile with `target="host"` to try other inputs.'
            )
        if request.kind == "trace":
            why = "A log only has the guards' text. Compile with wb.aot_compile to try inputs."
    return {"inputs": inputs, "dtypes": list(_DTYPES), "why_not": why}


def _tensors(report: Report) -> Iterator[wire.Input]:
    """Tensors behind TENSOR_MATCH guards, from the placeholders that Dynamo made of them."""
    captured = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    nodes = {
        node.target: node
        for node in select_rows(report.nodes, "graph", captured)
        if node.op == "placeholder"
    }
    requested = {item["path"]: item for item in _requested(report)}
    sources = dict.fromkeys(g.source for g in report.guards if g.kind == "TENSOR_MATCH")
    for source in sources or requested:
        node = nodes.get(re.sub(r"[^a-zA-Z0-9]+", "_", source))
        item = None if node is None else _input(source, node)
        item = item or requested.get(source)
        if item is not None:
            yield item


def _input(source: str, node: Node) -> wire.Input | None:
    shape, stride = _numbers(node.shape), _numbers(node.stride)
    if shape is None or stride is None or node.dtype is None:
        return None
    device = node.device or "cpu"
    return {"path": source, "shape": shape, "stride": stride, "dtype": node.dtype, "device": device}


def _numbers(values: Sequence[int | str] | None) -> list[int] | None:
    if values is None or not all(isinstance(value, int) for value in values):
        return None
    return [int(value) for value in values]


def _requested(report: Report) -> Iterator[wire.Input]:
    """The tensors as the request names them, taken as contiguous."""
    for text in report.request.inputs:
        match = _INPUT.match(text)
        if match is None:
            continue
        shape = [int(size) for size in match["shape"].split(",") if size.strip()]
        step = 1
        stride: list[int] = []
        for size in reversed(shape):
            stride.insert(0, step)
            step *= max(size, 1)
        yield {
            "path": f"L['{match['name']}']",
            "shape": shape,
            "stride": stride,
            "dtype": match["dtype"],
            "device": match["device"] or "cpu",
        }


PANE = Pane("breaks", "Breaks & guards", document, question="breaks")
