"""What the forward of a training step returns, and what of it is kept for the backward."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from workbench.report import Graph, Report

_SAVED = "SavedForBackwardsAOTOutput"
_DESCRIBED = "AOTOutput("
_TANGENT = "tangents_"
_NAMES = re.compile(r"[(\[]\s*(?:[A-Za-z_]\w*\s*,\s*)*[A-Za-z_]\w*\s*,?\s*[)\]]")
_NAME = re.compile(r"\w+")
_RETURN = re.compile(r"^\s*return ", re.MULTILINE)


def read_forward_outputs(report: Report, taken: Sequence[str]) -> list[tuple[str, bool]]:
    """The name of each output of the forward, and whether it is kept for the backward.

    `taken` are the names of what the backward takes. Torch writes what an output is beside it;
    where that is missing, the last outputs are kept: as many as the backward takes, its tangents
    apart.
    """
    graph: Graph | None = None
    for row in report.graphs:
        graph = row if row.stage == "forward" else graph
    text = "" if graph is None or graph.text is None else report.texts[graph.text]
    lines = list(_lines_of_return(text))
    outputs = list(_outputs("\n".join(code for code, _ in lines)))
    if any(_DESCRIBED in comment for _, comment in lines):
        return [(name, _SAVED in lines[line - 1][1]) for name, line in outputs]
    kept = sum(not name.startswith(_TANGENT) for name in taken)
    first = len(outputs) - kept
    return [(name, place >= first) for place, (name, _) in enumerate(outputs)]


def _lines_of_return(text: str) -> Iterator[tuple[str, str]]:
    """The code and the comment of each line of the first return, up to its closing bracket.

    Those of the graph's parts come after it.
    """
    found = _RETURN.search(text)
    tail = text if found is None else text[found.end() :]
    depth = 0
    for line in tail.splitlines():
        code, _, comment = line.partition("#")
        yield code, comment
        depth += sum(code.count(b) for b in "([") - sum(code.count(b) for b in ")]")
        if depth <= 0:
            return


def _outputs(code: str) -> Iterator[tuple[str, int]]:
    """Each output as it is written, with its line."""
    code = code.strip()
    if not code:
        return
    if _NAMES.fullmatch(code):  # parsing hundreds of names takes long
        for number, line in enumerate(code.splitlines(), 1):
            yield from ((name, number) for name in _NAME.findall(line))
        return
    value = ast.parse(code, mode="eval").body
    for part in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
        yield ast.unparse(part), part.lineno
