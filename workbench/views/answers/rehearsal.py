"""The cures of graph breaks that were tried, in plain text."""

from __future__ import annotations

import textwrap
from pathlib import PurePath

from workbench.analysis.rehearsal.rehearsal import Cure, Rehearsal
from workbench.number_text import plural

_WIDTH = 80
_SHOWN = 7  # cures, of three lines each: with the sentence it stays under 25


def text(rehearsal: Rehearsal) -> str:
    """The sentence, and for each cure what came of it."""
    lines = textwrap.wrap(rehearsal.sentence, _WIDTH)
    for cure in rehearsal.cures[:_SHOWN]:
        lines += _lines(cure)
    if (more := len(rehearsal.cures) - _SHOWN) > 0:
        lines.append(f"{more} more in .frame()")
    return "\n".join(lines)


def _lines(cure: Cure) -> list[str]:
    place = f"{PurePath(cure.file).name}:{cure.line}"
    counts = plural(cure.graphs_before, "graph")
    if cure.graphs_after is not None:
        counts += f" → {cure.graphs_after}"
    says = cure.why if cure.verdict in ("works", "meant") else cure.checked
    told = textwrap.wrap(f"{cure.verdict}, {counts}: {says}", _WIDTH - 4, max_lines=2)
    return [f"  {place}  {cure.title}", *(f"    {line}" for line in told)]
