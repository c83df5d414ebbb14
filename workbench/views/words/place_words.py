"""Where things are, in few words: kernels by their short id, sources by file and line."""

from __future__ import annotations

from workbench.report import Kernel, Report
from workbench.views.words.units import plural

_FILES = 2  # named beside a kernel


def list_kernel_ops(kernel: Kernel) -> str:
    """The operators in a kernel: `add, relu, mul`."""
    short = [op.removeprefix("aten.").removeprefix("prims.").partition(".")[0] for op in kernel.ops]
    return ", ".join(dict.fromkeys(short)) or kernel.name


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
        _, source, number = line.split(":")
        by_file.setdefault(files.get(source, source), []).append(int(number))
    parts = [
        _ranges(sorted(set(numbers)))
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


def text_of(report: Report, key: str | None) -> str | None:
    """The text behind a content hash; None when it was not kept."""
    return None if key is None else report.texts.get(key)


def count_captured(report: Report) -> tuple[int, int]:
    """How many graphs Dynamo captured, and how many operations are in them."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    columns = report.nodes.columns
    pairs = zip(columns.get("graph", ()), columns.get("op", ()), strict=True)
    return len(graphs), sum(1 for graph, op in pairs if graph in graphs and op.startswith("call_"))


def describe_absent_parts(report: Report) -> list[tuple[str, str]]:
    """What could not be captured, and why."""
    absent = [part for part in report.capabilities if not part.available]
    return [(part.name, part.reason or "no reason recorded") for part in absent]


def title_of(report: Report) -> str:
    """The name of what was compiled."""
    return report.request.name or "compilation"
