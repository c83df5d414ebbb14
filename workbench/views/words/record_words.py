"""What views call the things of a record: kernels, places, costs, CUDA graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from workbench.analysis.cost.costs import CostKind
from workbench.analysis.fusion.traffic import strip_operator_name
from workbench.number_text import format_bytes, format_us, plural
from workbench.report import Kernel, Report
from workbench.report.graph_stages import GRAPH_STAGES, is_input_name
from workbench.report.rows import split_line
from workbench.report.tables import UNKNOWN
from workbench.views.wire import report_messages as wire
from workbench.views.wire.table_messages import Unit

_FILES = 2  # named beside a kernel
COST_HEADS: Mapping[CostKind, tuple[str, Unit, bool]] = {  # name, unit, whether it is an estimate
    "time": ("Time", "us", False),
    "bound": ("Bound", "us", True),
    "bytes": ("Bytes", "B", True),
    "memory": ("Memory", "B", False),
}
_SHARES: Mapping[CostKind, str] = {
    "time": "the line's share of the kernels' measured time",
    "bound": "the line's share of the kernels' roofline time (estimate)",
    "bytes": "bytes that the kernels move for the line (estimate)",
    "memory": "bytes of the line that are live at the peak (counted)",
}
_REMEDIES = (  # a piece of torch's reason, what to do about it
    ("on a GPU", "CUDA graphs need a GPU; CPU code is never recorded."),
    ("cpu device", "CUDA graphs need a GPU; CPU code is never recorded."),
    ("cpu ops", "Keep the data on the GPU until the end of the call."),
    ("DeviceCopy ops", "Keep the data on the GPU until the end of the call."),
    ("unbacked binding ops", "A size depends on the data: `torch.where` keeps the sizes fixed."),
    ("Conditional ops", "Compute both sides and choose with `torch.where`."),
    (
        "CUDAGraph-unsafe custom ops",
        "Check whether the operator has to be tagged as unsafe for CUDA graphs.",
    ),
    ("mutated inputs", "Make the input a module buffer, or return the new value."),
    ("each combination of sizes", "Use a few fixed sizes and pad to them."),
)


def list_kernel_ops(kernel: Kernel) -> str:
    """The operators in a kernel: `add, relu, mul`."""
    work = [op for op in kernel.ops if not is_input_name(op)]
    short = [strip_operator_name(op) for op in work]
    return ", ".join(dict.fromkeys(short)) or kernel.name


def name_stage(stage: str, *, is_backward: bool) -> str:
    """A graph by its stage, in words; says which when it belongs to the backward pass."""
    known = GRAPH_STAGES.get(stage)
    name = stage.replace("_", " ") if known is None else known.title
    return f"{name}, backward" if is_backward and stage != "backward" else name


def short(text: str, limit: int) -> str:
    """A label or a line that fits; the tables hold the whole of it."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def few_words(words: list[str], letters: int) -> str:
    """As many words as fit, and how many there are besides."""
    for count in range(len(words), 0, -1):
        rest = len(words) - count
        text = ", ".join(words[:count]) + (f" +{rest}" if rest else "")
        if len(text) <= letters:
            return text
    more = f" +{len(words) - 1}" if len(words) > 1 else ""
    return short(words[0] if words else "", letters - len(more)) + more


def format_line_numbers(report: Report, kernel: Kernel) -> str:
    """The lines behind a kernel: `12, 14–16`, with file names when the report has several."""
    files = {source.id: source.file for source in report.sources}
    by_file: dict[str, list[int]] = {}
    for line in kernel.lines:
        source, number = split_line(line)
        by_file.setdefault(files.get(source, source), []).append(number)
    parts = [
        file
        if not any(numbers)
        else _ranges(sorted(set(numbers)))
        if len(set(files.values())) == 1
        else f"{file.rpartition('/')[2]}:{_ranges(sorted(set(numbers)))}"
        for file, numbers in by_file.items()
    ]
    rest = f" and {plural(len(parts) - _FILES, 'more file')}" if len(parts) > _FILES else ""
    return "; ".join(parts[:_FILES]) + rest


def _ranges(numbers: list[int]) -> str:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans)


def count_captured(report: Report) -> tuple[int, int]:
    """How many graphs Dynamo captured, and how many operations are in them."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    columns = report.nodes.columns
    pairs = zip(columns.get("graph", ()), columns.get("op", ()), strict=True)
    return len(graphs), sum(1 for graph, op in pairs if graph in graphs and op.startswith("call_"))


def describe_absent_parts(report: Report) -> list[tuple[str, str]]:
    """What could not be captured, and why; tables that nothing installed here reads."""
    absent = [part for part in report.capabilities if not part.available]
    unknown = report.extra.get(UNKNOWN, {})
    return [
        *((part.name, part.reason or "no reason recorded") for part in absent),
        *(
            (f"table {name}", "the package that reads this table is not installed")
            for name in unknown
        ),
    ]


def title_of(report: Report) -> str:
    """The name of what was compiled."""
    return report.request.name or "compilation"


def choose_cost_of_lines(marks: Iterable[wire.Line]) -> CostKind | None:
    """The best cost that any of these lines has."""
    there = {kind for mark in marks for kind in mark["cost"]}
    return next((kind for kind in COST_HEADS if kind in there), None)


def cost_text(cost: Mapping[str, float], kind: CostKind | None) -> str:
    """A cost as text; empty where it is not known."""
    value = None if kind is None else cost.get(kind)
    if value is None:
        return ""
    return format_bytes(value) if kind in ("bytes", "memory") else format_us(value)


def share_words(kind: CostKind | None) -> str:
    """What the number beside a line is."""
    return "" if kind is None else _SHARES[kind]


def find_cuda_graph_remedy(reason: str | None) -> str | None:
    """What would help, where one is known."""
    return next((text for words, text in _REMEDIES if words in (reason or "")), None)


def summarize_cuda_graphs(report: Report) -> str | None:
    """How much is recorded, in a few words; None where no CUDA graphs were asked for."""
    parts = len(report.cuda_graphs)
    if not parts:
        return None
    counts = Counter(part.verdict for part in report.cuda_graphs)
    recorded = counts["recorded"]
    if recorded == parts:
        words = {1: "the whole program is", 2: "both parts are"}
        return f"{words.get(parts, f'all {parts} parts are')} recorded"
    if recorded:
        return f"{recorded} of {parts} parts {'is' if recorded == 1 else 'are'} recorded"
    return "torch decides at every call" if counts["depends"] else "nothing is recorded"


def list_cuda_graph_reasons(report: Report) -> list[str]:
    """Why parts are not recorded for certain: `skipped, 2 parts: cpu ops`."""
    counts = Counter(
        (part.verdict, part.reason.removeprefix("skipping cudagraphs due to "))
        for part in report.cuda_graphs
        if part.verdict != "recorded" and part.reason
    )
    return [
        f"{verdict}, {plural(count, 'part')}: {reason}"
        for (verdict, reason), count in counts.items()
    ]
