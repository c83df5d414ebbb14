"""The columns of every table of a view, described once for all that draw it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from workbench.report import AutotuneChoice, Kernel, Phase
from workbench.report.collectives.collective_rows import Collective
from workbench.report.file_rows import RoundTripWay
from workbench.report.machine_rows import KernelRoofline, MatrixCell, RankedConfig
from workbench.report.measures import measures
from workbench.report.rows import ESTIMATED_CHOICE
from workbench.views.tables.column import Column
from workbench.views.wire.table_messages import ColumnSpec
from workbench.worlds.world import gather


def number_of(row_type: type, name: str, width: str = "", key: str = "", **more: Any) -> Column:
    """The column of a number: title, unit and hint are those of its field."""
    measure = measures(row_type)[name]
    own: dict[str, Any] = {"field": name if key else "", "hint": measure.hint, **more}
    return Column(measure.title, key or name, measure.unit, width, **own)


def add_numbers(row_type: type, *columns: Column) -> tuple[Column, ...]:
    """The columns of a table, and behind each the numbers whose fields say that they stand there.

    A row of the wire has them under `numbers`, by the names of the fields.
    """
    placed: defaultdict[str, list[Column]] = defaultdict(list)
    for name, measure in measures(row_type).items():
        if measure.place is not None:
            own = {**asdict(measure.place), "field": f"numbers.{name}"}
            placed[own.pop("after")].append(number_of(row_type, name, **own))
    return tuple(member for column in columns for member in (column, *placed[column.key]))


def _figure(name: str, least: int, **more: Any) -> Column:
    """A figure of a cell of the matrix; not every matrix has those that are optional."""
    return number_of(MatrixCell, name, f"minmax({least}px, 0.7fr)", full="note", **more)


KERNEL = Column("Kernel", "kernel", width="64px", kind="kernel")
_SIDE = Column("Pass", "side", width="64px", look="mut", is_optional=True)
_ESTIMATED_SHARE = "Share (est.)"
_ESTIMATED_CHOICES = {("choices", "time"): "Time (est.)", ("choices", "bar"): "Modelled"}

_OWN: Mapping[str, Sequence[Column]] = {
    "costs": add_numbers(
        Kernel,
        replace(KERNEL, field="id", width="52px"),
        Column("Cost", "cost", "number", "98px"),
        Column("Share", "share", "share", "70px", "cost"),
        number_of(Kernel, "calls", "36px"),
        replace(_SIDE, width="60px"),
        Column("Bound by", "bound", width="66px", is_optional=True),
        Column("Ops in it", "ops", "code", "minmax(120px, 2fr)", "label"),
        Column("Lines", "lines", "length", "minmax(60px, 0.4fr)", is_optional=True),
    ),
    "groups": (
        replace(KERNEL, width="64px"),
        Column("What it does", "words", width="minmax(200px, 3fr)"),
        _SIDE,
        Column(
            "Your lines", "places", "code", "minmax(88px, 0.8fr)", is_wide=True, is_optional=True
        ),
        Column("Before", "before", "B", "76px"),
        Column("Unfused", "alone", "B", "76px", is_wide=True),
        Column("Fused", "after", "B", "76px"),
        Column("Saved", "saved", "share", "84px"),
        Column("Measured", "time_us", "us", "76px", is_optional=True),
        Column("Traffic", "traffic", width="minmax(60px, 0.9fr)", field="before", kind="bar"),
    ),
    "rejected": (
        Column("Pair", "pair", width="124px", field="a_kernel"),
        Column("What they do", "names", "code", "minmax(120px, 1.2fr)"),
        _SIDE,
        Column("Shared", "shared", "B", "80px", "shared_bytes"),
        Column("Reason", "reason", width="minmax(120px, 1.5fr)", field="told", full="why"),
    ),
    "cuda_graphs": (
        Column("Part", "part", width="92px", field="name"),
        Column("Verdict", "verdict", width="96px", kind="tag", tone="tone"),
        Column("Why", "why", "", "minmax(120px, 1.5fr)", "reason", full="help", is_optional=True),
        Column("Kernels", "kernels", width="minmax(280px, 1fr)", kind="kernels"),
        Column("Copied per call", "copied", "B", "104px", "copied_bytes", is_wide=True),
    ),
    "guards": (
        Column("Guarded", "source", "code", "minmax(120px, 1.4fr)"),
        Column("Kind", "kind", width="minmax(90px, 0.8fr)", look="mut"),
        Column("What is checked", "text", "code", "minmax(120px, 2fr)"),
        Column("Why it was dropped", "why", width="minmax(126px, 1fr)", field="why_dropped"),
    ),
    "storages": (
        Column("Storage", "value", "code", "minmax(90px, 1.2fr)", full="reuse"),
        Column("Kind", "kind", width="minmax(128px, 0.6fr)", look="mut"),
        Column("Bytes", "bytes", "B", "76px"),
        Column("Line", "place", width="minmax(126px, 0.8fr)", look="end", is_optional=True),
        Column("Module", "module", width="minmax(60px, 0.8fr)", is_wide=True, is_optional=True),
        Column("Lifetime", "lives", width="minmax(136px, 1.6fr)", field="start"),
        Column("Lowers peak", "lowers", "B", "96px"),
    ),
    "recompiles": (
        Column("Compilation", "compile_id", "code", "92px"),
        Column("Function", "function", "code", "minmax(128px, 0.6fr)"),
        Column("Guard that failed", "reason", width="minmax(120px, 2fr)"),
    ),
    "phases": (
        Column("Phase", "name", width="minmax(120px, 2fr)", written="words", full="tip"),
        _SIDE,
        Column("Thread", "thread", width="minmax(60px, 0.5fr)", look="mut", is_wide=True),
        number_of(Phase, "start_s", "76px", "start"),
        number_of(Phase, "duration_s", "76px", "total"),
        number_of(Phase, "self_s", "76px", "self"),
        Column("Self time", "bar", "s", "minmax(80px, 1.6fr)", "self_s", kind="bar"),
    ),
    "choices": (
        Column("Operation", "op", "code", "minmax(120px, 1.8fr)", kind="kernel", look="mono"),
        Column("Choice", "choice", "code", "minmax(120px, 1fr)"),
        Column("Kind", "kind", width="minmax(80px, 0.8fr)", look="mut", is_wide=True),
        Column("State", "state", "", "minmax(90px, 0.5fr)", kind="tag", full="note", tone="tone"),
        number_of(AutotuneChoice, "time_ms", "80px", "time", absent="not timed"),
        Column(
            "Measured",
            "bar",
            "ms",
            "minmax(60px, 0.8fr)",
            "time_ms",
            kind="bar",
            full="note",
            tone="tone",
            is_optional=True,
        ),
    ),
    "ranked": (
        number_of(RankedConfig, "rank", "44px"),
        number_of(RankedConfig, "warps", "48px"),
        number_of(RankedConfig, "stages", "48px"),
        number_of(RankedConfig, "registers", "66px", is_wide=True),
        number_of(RankedConfig, "spills", "46px"),
        number_of(RankedConfig, "smem_bytes", "64px", "shared", is_wide=True),
        number_of(RankedConfig, "occupancy", "116px"),
        number_of(RankedConfig, "model_us", "68px", "time"),
        number_of(RankedConfig, "placed_us", "92px", is_optional=True),
        Column("Why it loses", "why", width="minmax(110px, 1.4fr)", field="rejection"),
    ),
    "points": (
        replace(KERNEL, width="78px"),
        Column("Operations in it", "ops", "code", "minmax(112px, 1.6fr)", "kernel"),
        Column("Bound by", "bound", width="68px", full="note"),
        number_of(KernelRoofline, "moved_bytes", "68px", "moved", is_wide=True),
        number_of(KernelRoofline, "asked_bytes", "68px", "asked", is_wide=True, is_optional=True),
        number_of(KernelRoofline, "flops", "62px", is_wide=True),
        number_of(KernelRoofline, "intensity", "62px"),
        number_of(KernelRoofline, "bound_us", "80px", "least"),
        number_of(
            KernelRoofline, "measured_us", "76px", "measured", absent="estimate", is_optional=True
        ),
        Column("Of the roof", "of_roof", "share", "82px", is_optional=True),
        Column("Share", "share", "share", "86px"),
    ),
    "matrix": (
        KERNEL,
        Column("GPU", "target", "code", "minmax(64px, 0.6fr)"),
        _figure("bound_us", 90, is_optional=True),
        _figure("registers", 69),
        _figure("spills", 48, is_optional=True),
        _figure("smem_bytes", 48, is_optional=True),
        _figure("occupancy", 118, is_optional=True),
        _figure("instructions", 90, is_optional=True),
        Column("Configuration", "choice", width="minmax(90px, 1.4fr)", look="mut", is_wide=True),
    ),
    "accesses": (
        Column("Line", "text", "code", "minmax(120px, 1.4fr)", full="text"),
        Column("Argument", "argument", "code", "72px"),
        Column("Does", "kind", width="52px", look="mut"),
        Column("Width", "vector_bytes", "B", "56px"),
        Column("Sectors", "sectors", "amount", "58px"),
        Column("Ideal", "least_sectors", "amount", "52px"),
        Column("Used", "used", "share", "52px"),
        Column("Used, L1", "used_l1", "share", "64px"),
        Column("What", "said", width="minmax(120px, 1.6fr)", full="said"),
        Column("Place", "place", width="minmax(90px, 0.6fr)", look="end", is_wide=True),
    ),
    "collectives": (
        Column("Kernel", "kernel", width="52px", kind="kernel"),
        Column("Collective", "op", "code", "minmax(90px, 0.8fr)"),
        Column("Message", "bytes", "B", "70px"),
        Column("Group", "group", width="minmax(140px, 1fr)", full="group"),
        number_of(Collective, "est_us", "88px"),
        number_of(Collective, "exposed_us", "88px"),
        Column("By", "said", width="minmax(80px, 0.5fr)", look="mut", full="said", is_wide=True),
        Column("Place", "place", width="minmax(168px, 1.6fr)", look="mono", full="place"),
    ),
    "members": (
        Column("Member", "name", "code", "minmax(120px, 1.6fr)", written="short"),
        Column("What", "what", width="minmax(90px, 1fr)", look="mut"),
        Column("Size", "size", "B", "64px"),
    ),
    "requirements": (
        Column("Check", "verdict", width="62px", kind="tag", tone="tone"),
        Column("Of", "name", width="minmax(76px, 0.8fr)"),
        Column("Needs", "needed", "code", "minmax(76px, 1fr)"),
        Column("Here", "found", "code", "minmax(76px, 1fr)", full="advice"),
    ),
    "contract": (
        Column("Model", "model", width="minmax(60px, 0.6fr)", is_optional=True),
        Column("Side", "side", width="56px", look="mut"),
        Column("Name", "name", "code", "minmax(90px, 1.3fr)"),
        Column("Dtype", "dtype", "code", "minmax(64px, 0.6fr)"),
        Column("Shape", "shape", "code", "minmax(90px, 1.2fr)"),
    ),
    "leaves": (
        Column("Start-up mode", "way", width="minmax(110px, 1fr)"),
        Column("Output", "leaf", "code", "minmax(90px, 1fr)"),
        Column(
            "Difference",
            "compared",
            width="minmax(100px, 1fr)",
            field="max_abs_error",
            kind="tag",
            full="whole",
            written="compared",
            tone="tone",
        ),
    ),
    "ways": (
        Column("Start-up mode", "way", width="minmax(124px, 1.3fr)", field="title"),
        number_of(RoundTripWay, "imports_s", "58px", "imports", is_wide=True),
        number_of(RoundTripWay, "load_s", "58px", "load"),
        number_of(RoundTripWay, "first_call_s", "70px", "call"),
        number_of(RoundTripWay, "first_result_s", "84px", "result"),
        Column(
            "Parts",
            "bar",
            "s",
            "minmax(80px, 1.2fr)",
            "first_result_s",
            kind="bar",
            is_wide=True,
        ),
        number_of(RoundTripWay, "steady_s", "58px", "steady"),
        number_of(RoundTripWay, "steady_p99_s", "58px", "p99"),
        number_of(RoundTripWay, "steady_calls", "52px", "calls", is_wide=True),
        number_of(RoundTripWay, "peak_rss_bytes", "70px", "memory"),
        Column(
            "Against eager",
            "against",
            width="minmax(110px, 1.2fr)",
            kind="tag",
            full="note",
            tone="tone",
        ),
    ),
    "nodes": (
        Column("Node", "name", "code", "minmax(90px, 1.2fr)", "names"),
        Column("Operation", "op", "code", "minmax(110px, 1.6fr)", "targets"),
        Column("Shape", "shape", "code", "minmax(90px, 1.2fr)", "shapes"),
        Column("Type", "dtype", "code", "52px", "dtypes"),
        Column("Size", "bytes", "B", "80px"),
        KERNEL,
        Column("Line", "line", "number", "52px", "lines"),
        Column("Module", "module", "code", "minmax(80px, 1fr)", is_wide=True),
    ),
}
"""By table, as `Document.columns` names it; a pane knows how to show more than a field says."""


@cache
def list_columns() -> Mapping[str, Sequence[Column]]:
    """The columns of every table by its name, those of the worlds too."""
    return gather(lambda world: world.list_columns(), _OWN, "table of columns")


def specs(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[ColumnSpec]]:
    """The columns of tables as they travel; of those without a row nothing."""
    return {
        table: [column.spec() for column in choose_columns(table, rows)]
        for table, rows in tables.items()
        if rows
    }


def choose_columns(table: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Column]:
    """The columns of a table with these rows."""
    for column in list_columns()[table]:
        place = (table, column.key)
        if place == ("points", "share") and all(row["measured_us"] is None for row in rows):
            yield replace(column, title=_ESTIMATED_SHARE, width="104px")
        elif place in _ESTIMATED_CHOICES and any(
            row.get("note") == ESTIMATED_CHOICE for row in rows
        ):
            yield replace(column, title=_ESTIMATED_CHOICES[place])
        elif not column.is_optional or any(column.value(row) not in (None, "", []) for row in rows):
            yield column
        if place == ("ranked", "rank"):
            yield from _sizes(rows)


def spell_out_columns(table: str, rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns of a table where no script runs, without its bars.

    Where a column has only the gist, the whole text follows as prose.
    """
    columns: list[Column] = []
    for column in choose_columns(table, rows):
        if column.kind != "bar" and all(other.shows != column.shows for other in columns):
            columns.append(column)
        if column.full:
            columns.append(Column("", column.full, "prose"))
    return columns


def _sizes(rows: Sequence[Mapping[str, Any]]) -> Iterator[Column]:
    """A column for each size of a block that any configuration has."""
    for name in dict.fromkeys(name for row in rows for name in row["sizes"]):
        width = f"{max(56, 8 * len(name) + 14)}px"
        yield Column(name, f"size {name}", "number", width, f"sizes.{name}")


FIRST_COLUMNS = {
    "kernels": [
        "name",
        "language",
        "ops",
        "lines",
        "bytes_read",
        "bytes_written",
        "flops",
        "time_us",
    ],
    "fusion": ["round", "a", "b", "verdict", "reason", "shared_bytes"],
    "breaks": ["file", "line", "text", "kind", "reason", "explanation", "hints", "gb_id", "count"],
    "guards": ["kept", "kind", "source", "why_dropped"],
    "phases": ["name", "start_s", "duration_s", "self_s", "depth", "thread"],
    "autotune": ["choice", "time_ms", "chosen"],
}
"""Columns that others rely on, in this order; the row's other fields follow."""

ORDER_COLUMNS = (
    Column("Group", "group"),
    Column("Rank", "rank", "number"),
    Column("Other rank", "other", "number"),
    Column("Matching", "collectives", "number"),
    Column("Launches next", "here", "code"),
    Column("Other launches", "there", "code"),
)
"""Collectives that two ranks start otherwise."""
