"""What the forward of a training step returns, and what of it is kept for the backward."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.artifacts.programs.size_text import split_parts
from workbench.report import Graph, Report

_SAVED = "SavedForBackwardsAOTOutput"
_DESCRIBED = "AOTOutput("
_TANGENT = "tangents_"
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
    saved_count = sum(not name.startswith(_TANGENT) for name in taken)
    first = len(outputs) - saved_count
    return [(name, place >= first) for place, (name, _) in enumerate(outputs)]


def _lines_of_return(text: str) -> Iterator[tuple[str, str]]:
    """The code and the comment of each line of the first return, up to its closing bracket.

    Those of the graph's parts come after it.
    """
    match = _RETURN.search(text)
    tail = text if match is None else text[match.end() :]
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
    inside = code[1:-1] if code[:1] in ("(", "[") else code
    place = 0
    for part in split_parts(inside):
        place = inside.index(part, place)
        yield part, inside.count("\n", 0, place) + 1
        place += len(part)
