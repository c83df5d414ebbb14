"""The tables of a report, and of the GPUs that can be a target, as pandas DataFrames."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas

from workbench.analysis.cost.costs import KernelCost, list_kernel_costs
from workbench.analysis.cost.identical_kernels import IdenticalKernels, list_identical_kernels
from workbench.analysis.fusion.fusion import KernelTraffic, list_saved_traffic
from workbench.analysis.fusion.why_not import NotFused, list_not_fused
from workbench.analysis.layers.layers import LayerRow, list_layer_rows
from workbench.analysis.memory.waste import MemoryRemark, remarks
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.errors import UsageError, suggest
from workbench.report import TABLES, Report, Table
from workbench.report.table import number_columns
from workbench.report.tables import UNKNOWN
from workbench.specs import DTYPES, Catalogue, Gpu
from workbench.views.tables.columns import FIRST_COLUMNS

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
            return tuple(self._placed(part) for part in value)
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
    by_graph = {}
    for graph in lowered:
        side = is_backward[graph]
        met[side] += 1
        name = "backward" if side else "forward"
        by_graph[graph] = f"{name} {met[side]}" if total[side] > 1 else name
    return by_graph


@dataclass(frozen=True)
class Derived:
    """A table that is not recorded: the type of a row, and what makes the rows of a report."""

    row_type: type
    rows: Callable[[Report], Sequence[Any]]

    def table(self, report: Report) -> Table[Any]:
        """The table of a report."""
        return Table.of(self.row_type, self.rows(report))


DERIVED: Mapping[str, Derived] = {
    "costs": Derived(KernelCost, list_kernel_costs),
    "identical_kernels": Derived(IdenticalKernels, list_identical_kernels),
    "memory_layers": Derived(LayerRow, list_layer_rows),
    "memory_remarks": Derived(MemoryRemark, remarks),
    "not_fused": Derived(NotFused, list_not_fused),
    "opportunities": Derived(Opportunity, opportunities),
    "traffic": Derived(KernelTraffic, list_saved_traffic),
}
"""Every derived table by name."""


_TEXTS = ("sources", "graphs", "bytecode", "kernels", "wrappers", "assembly", "autotune")
"""Tables whose `text` and `source_text` name texts kept once."""


def frame(report: Report, name: str) -> pandas.DataFrame:
    """One table of the report: one that was recorded, or one that is derived from the record.

    Lines are written `model.py:12` and lowered graphs `forward` and `backward`; other ids are those
    that the view shows (`k4`), or the `id` of a row of another table (`g9:relu` of `nodes`).
    Raises `UsageError` when there is no table of that name; the message lists the names.
    """
    readable = Readable(report)
    if name in DERIVED:
        columns = DERIVED[name].table(report).columns
        names = _columns(DERIVED[name].row_type)
        shown = {column: readable.column(column, list(columns[column])) for column in names}
        return _typed(shown, DERIVED[name].row_type)
    if name in report.extra.get(UNKNOWN, {}):
        raise UsageError(
            f"No installed package reads the table {name!r} of this report. Saving the report "
            "keeps the table."
        )
    if name not in TABLES:
        known = ", ".join(sorted((*TABLES, *DERIVED)))
        raise UsageError(
            f"Unknown table {name!r}. Choose one of: {known}.{suggest(name, (*TABLES, *DERIVED))}"
        )
    first = FIRST_COLUMNS.get(name, [])
    order = [*first, *(c for c in _columns(TABLES[name]) if c not in first)]
    columns = getattr(report, name).columns
    values = {column: readable.column(column, list(columns.get(column, ()))) for column in order}
    if name in _TEXTS:
        for column in {"text", "source_text"} & values.keys():
            values[column] = [report.texts.get(key) for key in values[column]]
    return _typed(values, TABLES[name])


def _typed(columns: Mapping[str, Any], row_type: type) -> pandas.DataFrame:
    """Numbers have the dtype of their field: missing ones do not turn integers into floats."""
    table = pandas.DataFrame(columns)
    for column, number in number_columns(row_type).items():
        dtype = "Int64" if number is int else "float64"
        with contextlib.suppress(OverflowError):  # of a damaged log: stays Python's own
            table[column] = table[column].astype(dtype)  # type: ignore[call-overload]
    return table


def _columns(row_type: type) -> list[str]:
    return list(row_type.__dataclass_fields__)  # type: ignore[attr-defined]


_PARTS = ("matrix", "vector")


def build_targets_frame(gpus: Catalogue) -> pandas.DataFrame:
    """A row for each GPU: its limits, its memory, and its peak dense rates in TFLOP/s (TOPS)."""
    rows = [gpu.values() for gpu in gpus]
    rates = [f"{part}.{dtype}" for part in _PARTS for dtype in DTYPES]
    plain = [column for column in rows[0] if column not in rates] if rows else []
    used = [rate for rate in rates if any(row[rate] is not None for row in rows)]
    columns = {column: _series([row[column] for row in rows]) for column in [*plain, *used]}
    names = {rate: f"{rate.replace('.', '_')}_tflops" for rate in used}
    return pandas.DataFrame(columns).rename(columns=names)


def build_target_frame(gpu: Gpu) -> pandas.DataFrame:
    """A row for each number that is known of one GPU, with the document it is from."""
    rows = [
        {"field": key, "value": value, "source": gpu.sources[key]}
        for key, value in gpu.values().items()
        if value is not None and key in gpu.sources
    ]
    return pandas.DataFrame(rows, columns=["field", "value", "source"])


def _series(values: list[Any]) -> pandas.Series[Any]:
    """Whole numbers stay whole where some are missing."""
    known = [value for value in values if value is not None]
    is_whole = bool(known) and all(type(value) is int for value in known)
    return pandas.Series(values, dtype="Int64" if is_whole else None)
