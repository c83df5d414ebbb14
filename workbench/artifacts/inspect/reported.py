"""What the report in a file adds: guards that were kept, outputs, the kernels' sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.artifacts.inspect.facts import Text, shape_text
from workbench.artifacts.inspect.rows import GuardFacts, ValueFacts
from workbench.errors import ArtifactError

if TYPE_CHECKING:
    from workbench.report import Report


@dataclass(frozen=True)
class ReportFacts:
    """Rows from one report."""

    outputs: Sequence[ValueFacts] = ()
    guards: Sequence[GuardFacts] = ()
    texts: Sequence[Text] = ()
    notes: Sequence[str] = ()


def report_facts(model: str, content: bytes | None) -> ReportFacts:
    """The rows from the content of a `.wbr` file; a damaged one is a note."""
    if content is None:
        return ReportFacts(notes=["the file holds no report"])
    from workbench.report.record import Report  # records take 0.06 s to define

    try:
        report = Report.from_bytes(content)
        return ReportFacts(_outputs(model, report), _guards(model, report), report_texts(report))
    except (ArtifactError, LookupError, TypeError, ValueError, AttributeError) as error:
        return ReportFacts(notes=[f"the report of {model} cannot be read: {error}"])


def report_texts(report: Report) -> list[Text]:
    """The sources of the kernels and the generated programs that call them."""
    found: dict[str, Text] = {}
    for kernel in report.kernels:
        if kernel.text:
            _add(found, str(kernel.name), str(kernel.language), str(report.texts[kernel.text]))
    for wrapper in report.wrappers:
        if wrapper.text:
            text = str(report.texts[wrapper.text])
            language = "cpp" if "#include" in text[:2000] else "python"
            _add(found, f"wrapper {wrapper.id}", language, text)
    return list(found.values())


def _add(found: dict[str, Text], name: str, language: str, text: str) -> None:
    title, number = name, 1
    while title in found and found[title].text != text:
        number += 1
        title = f"{name} ({number})"
    found[title] = Text(title, language, len(text.encode()), text)


def _outputs(model: str, report: Report) -> list[ValueFacts]:
    """What the graph returns that Dynamo traced: the tensors of the function's result."""
    first = next((graph.id for graph in report.graphs if graph.stage == "dynamo"), None)
    nodes = {node.id: node for node in report.nodes if node.graph == first}
    ends = [node for node in nodes.values() if node.op == "output"]
    results = [nodes[name] for end in ends[-1:] for name in end.inputs if name in nodes]
    return [
        ValueFacts(
            model=model,
            direction="output",
            name=f"output {number}",
            kind="Tensor",
            dtype=str(node.dtype or ""),
            shape=shape_text(node.shape),
            device=str(node.device or ""),
            stride=shape_text(node.stride),
        )
        for number, node in enumerate(results)
    ]


def _guards(model: str, report: Report) -> list[GuardFacts]:
    return [
        GuardFacts(
            model, str(row.kind), str(row.source), bool(row.kept), str(row.why_dropped or "")
        )
        for row in report.guards
    ]
