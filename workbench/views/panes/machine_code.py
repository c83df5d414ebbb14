"""What kernels became for GPUs, for the kernels pane: configurations, then their assembly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from workbench.report import Report
from workbench.report.machine_rows import Assembly
from workbench.views.blocks import Block, Code, Column, Grid, Note
from workbench.views.limits import Limits, cut
from workbench.views.place_words import text_of
from workbench.views.units import ABSENT, bytes_text, number_text, plural

_SHOWN: dict[str, Literal["ptx", "text"]] = {"ptx": "ptx", "amdgcn": "text"}
_COLUMNS = (
    Column("Kernel", "kernel"),
    Column("Configuration", "code"),
    Column("Registers", "number"),
    Column("Spills", "number"),
    Column("Shared memory", "number"),
    Column("Occupancy", "number"),
    Column("Limited by", "code"),
    Column("Instructions", "number"),
)


def blocks(report: Report, limits: Limits) -> Iterator[Block]:
    """A row for each configuration, then the assembly of each kernel's first one."""
    if not len(report.resources):
        return
    shown, more = cut(list(report.resources), limits.rows, "resources")
    rows = tuple(
        (
            row.kernel,
            ", ".join(word for word in (row.choice, plural(row.warps, "warp")) if word),
            _count(row.registers),
            _count(row.spill_stores, row.spill_loads),
            bytes_text((row.smem_static or 0) + (row.smem_dynamic or 0)),
            number_text(row.occupancy, "percent"),
            row.limiter or ABSENT,
            _count(row.instructions),
        )
        for row in shown
    )
    yield Grid("Configurations, counted in compiled code", _COLUMNS, rows, "resources", more)
    if any(row.estimate for row in shown):
        yield Note("Occupancy is an estimate.", "It follows from the limits of the GPU.")
    yield from _assembly(report, limits)


def _count(value: int | None, more: int | None = None) -> str:
    return ABSENT if value is None else str(value + (more or 0))


def _assembly(report: Report, limits: Limits) -> Iterator[Block]:
    seen: set[str] = set()
    for row in report.assembly:
        text = text_of(report, row.text)
        if text is None or row.stage not in _SHOWN or row.kernel in seen:
            continue
        seen.add(row.kernel)
        if limits.text.take(text):
            yield _code(row, text)


def _code(row: Assembly, text: str) -> Code:
    facts = (row.config, plural(text.count("\n") + 1, "line"))
    return Code(f"{row.stage.upper()} of {row.kernel}", text, _SHOWN[row.stage], facts)
