"""The memory of a call where no script runs: its sentence, its peaks, what the peak is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.views.static_html.grids import Grid, grid
from workbench.views.static_html.row_limits import Limits
from workbench.views.tables.column import Column
from workbench.views.wire.budget_messages import BudgetsPart
from workbench.views.wire.memory_messages import MemoryPart, MemoryShare

_NAME, _BYTES = Column("", "name", "code"), Column("Bytes", "bytes", "B")
_WORDS: Mapping[str, str] = {"line": "line", "module": "module", "kind": "kind of storage"}
_REMARKS = (Column("", "text", "prose"), _BYTES)
_BUDGETS = (
    Column("Budget", "budget", "number"),
    Column("Peak, compiled", "peak", "B"),
    Column("Peak, at most by a model", "preview", "B"),
    Column("Kept for the backward", "saved", "B"),
    Column("Operators twice", "again", "number"),
    Column("Adds", "cost", "right"),
)
_STORAGES = (
    Column("Storage", "value", "code"),
    Column("Kind", "kind"),
    _BYTES,
    Column("Line", "place", "code"),
    Column("From step", "start", "number"),
    Column("To step", "end", "number"),
    Column("Peak lower without it", "lowers", "B"),
)


def build_memory_grids(
    part: MemoryPart, limits: Limits, budgets: BudgetsPart | None = None
) -> Iterator[Grid]:
    """The peaks, that of the whole by line, module and kind, the largest storages, the budgets."""
    call = "wb.memory(report)"
    peaks = [{"name": name, "bytes": size, "step": step} for name, size, step in part["peaks"]]
    at = Column("At step", "step", "number")
    most, spared = limits.others, 'report.frame("memory_remarks")'
    rows = sorted(part["storages"], key=lambda row: -row["bytes"])
    yield from filter(
        None,
        (
            grid("Peaks, counted", (_NAME, _BYTES, at), peaks, limits, call=f"{call}.peaks"),
            *(
                grid(
                    f"What lives at the peak, by {_WORDS[by]}",
                    (_NAME, _BYTES),
                    [{**share, "name": _named(share)} for share in shares],
                    limits,
                    call=f'{call}.at_peak("{by}")',
                    most=most,
                )
                for by, shares in part["at_peak"].items()
            ),
            grid("Largest storages", _STORAGES, rows, limits, call=f"{call}.frame()", most=most),
            grid("What could be spared", _REMARKS, part["remarks"], limits, call=spared, most=most),
            *([] if budgets is None else [_budgets(budgets, limits)]),
        ),
    )


def _named(share: MemoryShare) -> str:
    peak = ", makes the peak" if share["peak"] else ""
    return f"{share['name']} × {share['times']}" if share["times"] > 1 else f"{share['name']}{peak}"


def _budgets(part: BudgetsPart, limits: Limits) -> Grid | None:
    rows = part["rows"]
    call = 'report.frame("memory_budgets")'
    return grid("Memory budgets", _BUDGETS, rows, limits, call=call, most=len(rows))
