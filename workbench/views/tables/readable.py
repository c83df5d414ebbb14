"""Ids of a table as a reader knows them: places of lines, passes of lowered graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.report import Report

_LINE = re.compile(r"L:(\w+):(\d+)")
_PLACES = frozenset({"lines", "called_from", "line_id", "a", "b"})
"""Columns that name lines, `a` and `b` of links graphs too."""


class Readable:
    """Renames the ids in a report that no table explains; two ids never get one name.

    `L:s0:12` becomes `model.py:12`, the lowered graph `i1` becomes `backward`.
    """

    def __init__(self, report: Report):
        self._files = {source.id: source.file for source in report.sources}
        self._passes = pass_names(report)

    def column(self, name: str, values: list[Any]) -> list[Any]:
        """The values of a column."""
        if name == "graph":
            return [self._passes.get(value, value) for value in values]
        return [self._placed(value) for value in values] if name in _PLACES else values

    def _placed(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return tuple(self._placed(each) for each in value)
        match = _LINE.fullmatch(value) if isinstance(value, str) else None
        if match is None or match[1] not in self._files:
            return self._passes.get(value, value)
        return f"{self._files[match[1]]}:{match[2]}"


def pass_names(report: Report) -> Mapping[str, str]:
    """By lowered graph (`i1`): `forward` or `backward`, with a number where there are several."""
    is_backward = {wrapper.graph: wrapper.is_backward for wrapper in report.wrappers}
    is_backward |= {kernel.graph: kernel.is_backward for kernel in report.kernels}
    lowered = [graph for graph in is_backward if graph.startswith("i")]
    lowered.sort(key=lambda graph: (len(graph), graph))
    total = Counter(is_backward[graph] for graph in lowered)
    met: Counter[bool] = Counter()
    found = {}
    for graph in lowered:
        side = is_backward[graph]
        met[side] += 1
        name = "backward" if side else "forward"
        found[graph] = f"{name} {met[side]}" if total[side] > 1 else name
    return found
