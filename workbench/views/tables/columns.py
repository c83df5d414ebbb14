"""The columns of every table of a view, described once for all that draw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

from workbench.views.wire.tables import ColumnKind, ColumnSpec, Unit


@dataclass(frozen=True)
class Column:
    """One column of a table, see `ColumnSpec`.

    `is_optional` columns are left out where no row has a value.
    """

    key: str
    title: str
    width: str
    field: str = ""
    kind: ColumnKind = "text"
    unit: Unit = ""
    look: Literal["", "mono", "mut"] = ""
    full: str = ""
    hint: str = ""
    absent: str = ""
    is_wide: bool = False
    is_optional: bool = False

    def spec(self) -> ColumnSpec:
        """The column as it travels: without what is as usual."""
        said = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name != "is_optional" and getattr(self, each.name) != each.default
        }
        return cast(ColumnSpec, said)

    def value(self, row: Mapping[str, Any]) -> Any:
        """What a row has in this column; None where it has nothing."""
        found: Any = row
        for name in (self.field or self.key).split("."):
            found = None if found is None else found.get(name)
        return found


def _number(key: str, title: str, width: str, unit: Unit = "", **more: Any) -> Column:
    return Column(key, title, width, kind="number", unit=unit, **more)


def _bar(title: str, width: str, field: str, unit: Unit, **more: Any) -> Column:
    return Column("bar", title, width, field, "bar", unit, **more)


def _figure(
    key: str, title: str, least: int, unit: Unit, hint: str, *, is_optional: bool = True
) -> Column:
    """A figure of a cell of the matrix; not every matrix has those that are optional."""
    width = f"minmax({least}px, 0.7fr)"
    return _number(key, title, width, unit, full="note", hint=hint, is_optional=is_optional)


_KERNEL = Column("kernel", "Kernel", "64px", kind="kernel")
_SIDE = Column("side", "Pass", "64px", look="mut", is_optional=True)
_ESTIMATED_SHARE = "Share (est.)"
_MEASURED = _number("measured", "Measured", "76px", "us")
_MODEL = "What the model gives it, an estimate"
_PARTS = "Imports, load and first call, of the slowest way's time"
_P50 = "The median of later calls"
_P99 = "What 99 % of later calls take at most; the slowest of fewer than 100"
_PEAK = "The most memory that the process had resident, Python and torch included"
_LEAST = "The least time that the roofline allows"
_OCCUPANCY = "Warps that fit on a multiprocessor, of those that it can hold (estimate)"
_BEFORE = "What eager's operators read and write; where they are not known, as under Alone"
_ALONE = "What the lowered operations, which operators are taken apart into, move one by one"
_ONE_CALL = "Of one call, an estimate"
_WITHOUT = "How much lower the peak of the whole call would be if it took no memory"
_SPILLS = "Instructions that spill registers to memory and load them again"

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "costs": (
        replace(_KERNEL, field="id", width="52px"),
        _number("cost", "Cost", "98px"),
        _number(
            "share", "Share", "70px", "share", field="cost", hint="Its part of that of all kernels"
        ),
        _number("calls", "Calls", "36px", "count"),
        _number("read", "Read", "53px", "B", field="bytes_read", hint=_ONE_CALL),
        _number("written", "Written", "53px", "B", field="bytes_written", hint=_ONE_CALL),
        _number("flops", "FLOP", "46px", "amount", hint=_ONE_CALL, is_wide=True),
        replace(_SIDE, width="60px"),
        Column("bound", "Bound by", "66px", is_optional=True),
        _number("registers", "Registers", "65px", "count", is_wide=True, is_optional=True),
        _number(
            "occupancy",
            "Occupancy",
            "74px",
            "share",
            hint=_OCCUPANCY,
            is_wide=True,
            is_optional=True,
        ),
        Column("ops", "Ops in it", "minmax(120px, 2fr)", "label", "code"),
        Column("lines", "Lines", "minmax(60px, 0.4fr)", kind="length", is_optional=True),
    ),
    "groups": (
        replace(_KERNEL, width="72px"),
        Column("kind", "Kind", "minmax(76px, 0.6fr)", look="mut", is_wide=True),
        _SIDE,
        Column("label", "Ops in it", "minmax(90px, 1.6fr)", kind="code"),
        Column("parts", "Parts", "56px", kind="length", is_wide=True),
        _number("before", "Before", "76px", "B", hint=_BEFORE),
        _number("alone", "Alone", "76px", "B", hint=_ALONE, is_wide=True),
        _number("after", "Fused", "76px", "B"),
        _number("saved", "Saved", "72px", "share"),
        Column("traffic", "Traffic", "minmax(60px, 0.9fr)", "before", "bar"),
    ),
    "rejected": (
        Column("pair", "Pair", "124px", "a_kernel"),
        Column("ops", "Operations", "minmax(80px, 0.8fr)", "a", "code", is_wide=True),
        _SIDE,
        Column("reason", "Reason", "minmax(120px, 1.5fr)", full="why"),
        _number("shared", "Shared", "80px", "B", field="shared_bytes"),
        _number("rounds", "Rounds", "70px"),
    ),
    "cuda_graphs": (
        Column("part", "Part", "60px", "name"),
        Column("verdict", "Verdict", "96px", kind="tag"),
        Column("why", "Why", "minmax(120px, 1.5fr)", "reason", full="help"),
        Column("kernels", "Kernels", "minmax(90px, 1fr)", kind="kernels"),
        _number("copied", "Copied per call", "104px", "B", field="copied_bytes", is_wide=True),
    ),
    "guards": (
        Column("source", "Guarded", "minmax(120px, 1.4fr)", kind="code"),
        Column("kind", "Kind", "minmax(90px, 0.8fr)", look="mut"),
        Column("text", "What is checked", "minmax(120px, 2fr)", kind="code"),
        Column("why", "Why it was dropped", "minmax(90px, 1fr)", "why_dropped"),
    ),
    "storages": (
        Column("value", "Storage", "minmax(90px, 1.2fr)", kind="code", full="reuse"),
        Column("kind", "Kind", "minmax(128px, 0.6fr)", look="mut"),
        _number("bytes", "Bytes", "76px", "B"),
        Column("place", "Line", "minmax(126px, 0.8fr)", look="mono"),
        Column("module", "Module", "minmax(60px, 0.8fr)", is_wide=True, is_optional=True),
        Column("lives", "From birth to death", "minmax(120px, 1.6fr)", "start"),
        _number("lowers", "Lowers peak", "96px", "B", hint=_WITHOUT),
    ),
    "recompiles": (
        Column("compile_id", "Compilation", "92px", kind="code"),
        Column("function", "Function", "minmax(80px, 0.6fr)", kind="code"),
        Column("reason", "Guard that failed", "minmax(120px, 2fr)"),
    ),
    "phases": (
        Column("name", "Phase", "minmax(120px, 2fr)"),
        _SIDE,
        Column("thread", "Thread", "minmax(60px, 0.5fr)", look="mut", is_wide=True),
        _number("start", "Start", "76px", "s", field="start_s"),
        _number("total", "Total", "76px", "s", field="duration_s"),
        _number("self", "Self", "76px", "s", field="self_s"),
        _bar("Self time", "minmax(80px, 1.6fr)", "self_s", "s"),
    ),
    "choices": (
        Column("op", "Operation", "minmax(80px, 0.5fr)", kind="code"),
        Column("choice", "Choice", "minmax(120px, 1.8fr)", kind="code"),
        Column("kind", "Kind", "minmax(80px, 0.8fr)", look="mut", is_wide=True),
        Column("state", "State", "minmax(90px, 0.5fr)", kind="tag", full="note"),
        _number("time", "Time", "80px", "ms", field="time_ms", absent="not timed"),
        _bar("Measured", "minmax(60px, 0.8fr)", "time_ms", "ms", is_optional=True),
    ),
    "ranked": (
        _number("rank", "Rank", "44px"),
        _number("warps", "Warps", "48px", "count"),
        _number("stages", "Stages", "48px", "count"),
        _number("registers", "Registers", "66px", "count", is_wide=True),
        _number("spills", "Spills", "46px", "count"),
        _number("shared", "Shared", "64px", "B", field="smem_bytes", is_wide=True),
        _number("occupancy", "Occupancy (est.)", "116px", "share", hint="An estimate"),
        _number("time", "Model", "68px", "us", field="model_us", hint=_MODEL),
        Column("why", "Why it loses", "minmax(110px, 1.4fr)", "rejection"),
    ),
    "points": (
        replace(_KERNEL, width="56px"),
        Column("ops", "Operations in it", "minmax(90px, 1.6fr)", "kernel", "code"),
        Column("bound", "Bound by", "68px", full="note"),
        _number("moved", "Moved", "68px", "B", field="moved_bytes", is_wide=True),
        _number("flops", "FLOP", "62px", "amount", is_wide=True),
        _number("intensity", "Per byte", "62px", "amount"),
        _number(
            "least", "Least (est.)", "80px", "us", field="bound_us", hint=f"{_LEAST}, an estimate"
        ),
        replace(_MEASURED, field="measured_us", absent="estimate", is_optional=True),
        _number("share", "Share", "86px", "share", hint="Its part of the time of all calls"),
    ),
    "matrix": (
        _KERNEL,
        Column("target", "GPU", "minmax(64px, 0.6fr)", kind="code"),
        _figure("registers", "Registers", 69, "count", "Registers of a thread", is_optional=False),
        _figure("spills", "Spills", 48, "count", _SPILLS),
        _figure("smem_bytes", "Shared", 48, "B", "Shared memory of a block"),
        _figure("occupancy", "Occupancy (est.)", 118, "share", _OCCUPANCY),
        _figure("instructions", "Instructions", 90, "count", "Instructions of the machine code"),
        _figure("bound_us", "Bound (est.)", 90, "us", f"{_LEAST} (estimate)"),
        Column("choice", "Configuration", "minmax(90px, 1.4fr)", look="mut", is_wide=True),
    ),
    "members": (
        Column("name", "Member", "minmax(120px, 1.6fr)", kind="code"),
        Column("what", "What", "minmax(90px, 1fr)", look="mut"),
        _number("size", "Size", "64px", "B"),
    ),
    "requirements": (
        Column("verdict", "Check", "62px", kind="tag"),
        Column("name", "Of", "minmax(76px, 0.8fr)"),
        Column("needed", "Needs", "minmax(76px, 1fr)", kind="code"),
        Column("found", "Here", "minmax(76px, 1fr)", kind="code", full="advice"),
    ),
    "contract": (
        Column("model", "Model", "minmax(60px, 0.6fr)", is_optional=True),
        Column("side", "Side", "56px", look="mut"),
        Column("name", "Name", "minmax(90px, 1.3fr)", kind="code"),
        Column("dtype", "Dtype", "minmax(64px, 0.6fr)", kind="code"),
        Column("shape", "Shape", "minmax(90px, 1.2fr)", kind="code"),
    ),
    "leaves": (
        Column("way", "Way", "minmax(110px, 1fr)"),
        Column("leaf", "Output", "minmax(90px, 1fr)", kind="code"),
        Column("compared", "Difference", "minmax(100px, 1fr)", "max_abs_error", "tag"),
    ),
    "ways": (
        Column("way", "Way", "minmax(124px, 1.3fr)", "title"),
        _number("imports", "Imports", "58px", "s", field="imports_s", is_wide=True),
        _number("load", "Load", "58px", "s", field="load_s"),
        _number("call", "First call", "70px", "s", field="first_call_s"),
        _number("result", "First result", "84px", "s", field="first_result_s"),
        _bar("Its parts", "minmax(80px, 1.2fr)", "first_result_s", "s", is_wide=True, hint=_PARTS),
        _number("steady", "p50", "58px", "s", field="steady_s", hint=_P50),
        _number("p99", "p99", "58px", "s", field="steady_p99_s", hint=_P99),
        _number("calls", "Calls", "52px", field="steady_calls", is_wide=True),
        _number("memory", "Peak RSS", "70px", "B", field="peak_rss_bytes", hint=_PEAK),
        Column("against", "Against eager", "minmax(110px, 1.2fr)", kind="tag", full="note"),
    ),
    "nodes": (
        Column("name", "Node", "minmax(90px, 1.2fr)", "names", "code"),
        Column("op", "Operation", "minmax(110px, 1.6fr)", "targets", "code"),
        Column("shape", "Shape", "minmax(90px, 1.2fr)", "shapes", "code"),
        Column("dtype", "Type", "52px", "dtypes", "code"),
        _number("bytes", "Size", "80px", "B"),
        _KERNEL,
        _number("line", "Line", "52px", field="lines"),
        Column("module", "Module", "minmax(80px, 1fr)", kind="code", is_wide=True),
    ),
}
"""By table, as `Document.columns` names it; a pane knows how to show more than a field says."""


def specs(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[ColumnSpec]]:
    """The columns of tables as they travel; of those without a row nothing.

    A table that stands beside another one keeps its head where the other has rows.
    """
    return {
        table: [column.spec() for column in _columns(table, rows)]
        for table, rows in tables.items()
        if rows or tables.get(_BESIDE.get(table, ""))
    }


_BESIDE = {"groups": "rejected", "rejected": "groups"}


def _columns(table: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Column]:
    for column in COLUMNS[table]:
        place = (table, column.key)
        if place == ("points", "share") and all(row["measured_us"] is None for row in rows):
            yield replace(column, title=_ESTIMATED_SHARE)
        elif not column.is_optional or any(column.value(row) not in (None, "", []) for row in rows):
            yield column
        if place == ("ranked", "rank"):
            yield from _sizes(rows)


def _sizes(rows: Sequence[Mapping[str, Any]]) -> Iterator[Column]:
    """A column for each size of a block that any configuration has."""
    for name in dict.fromkeys(name for row in rows for name in row["sizes"]):
        width = f"{max(56, 8 * len(name) + 14)}px"
        yield _number(f"size {name}", name, width, field=f"sizes.{name}")


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
