"""The memory of a call, and under other budgets of a training step: blocks, text, a chart."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.budgets.budgets import BudgetPoint, Budgets, cost_text
from workbench.analysis.memory.memory import Memory, stacked
from workbench.number_text import format_bytes, format_percent, plural
from workbench.views.kit.blocks import HEAT_BYTES, Block, Document, Look, Sentence, Table
from workbench.views.kit.sheet import KERNEL_COLOURS, sheet
from workbench.views.kit.shown import Shown
from workbench.views.parts.memory_part import build_memory_part
from workbench.views.tables.column import Column
from workbench.views.wire.memory_messages import Budget, MemoryPart, MemoryShare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME, _BYTES = Column("", "name", "code"), Column("Bytes", "bytes", "B")
_PEAKS = (
    _NAME,
    _BYTES,
    Column("Above inputs", "above", "B"),
    Column("At", "at", "code"),
    Column("At step", "step", "number"),
    Column("Reserved by the allocator (modelled)", "reserved", "B"),
)
_SHARES = (_NAME, _BYTES, Column("Share of peak", "share", "share"))
_WORDS: Mapping[str, str] = {"line": "line", "module": "module", "kind": "kind of storage"}
_REMARKS = (Column("", "text", "prose"), _BYTES)
_BUDGETS = (
    Column("Budget", "budget", "number"),
    Column("Peak, compiled", "peak", "B"),
    Column("Peak, at most (modelled)", "preview", "B"),
    Column("Saved activations", "saved", "B"),
    Column("Recomputed operators", "again", "number"),
    Column("Adds", "cost", "right"),
)
_ALL_BUDGETS = (
    Column("Budget", "budget", "number"),
    Column("Peak", "peak", "B"),
    Column("At least (modelled)", "least", "B"),
    Column("At most (modelled)", "most", "B"),
    Column("Saved activations", "saved", "B"),
    Column("Recomputed operators", "again", "number"),
    Column("Adds", "cost", "right"),
    Column("", "note", "prose"),
)
_STORAGES = (
    Column("Storage", "value", "code"),
    Column("Kind", "kind"),
    _BYTES,
    Column("Line", "place", "code"),
    Column("From step", "start", "number"),
    Column("To step", "end", "number"),
    Column("Lowers peak", "lowers", "B"),
)
_GREY = "#9a9a9a"
_HELD = {"weights": _GREY, "constant": "#787878", "input": "#c2c2c2"}  # by the caller


def plot(memory: Memory) -> Figure:
    """See `Memory.plot`."""
    layers = stacked(memory)
    steps = range(len(memory.steps))
    ours = [kind for kind in layers if kind not in _HELD]
    colours = {kind: KERNEL_COLOURS[n % len(KERNEL_COLOURS)] for n, kind in enumerate(ours)}
    megabytes = [[size / 1e6 for size in values] for values in layers.values()]
    with sheet(3.2) as (figure, axes):
        axes.stackplot(
            steps,
            *megabytes,
            labels=list(layers),
            colors=[(_HELD | colours)[kind] for kind in layers],
            step="mid",
            linewidth=0,
        )
        backward = next((row.step for row in memory.steps if row.is_backward), None)
        if backward is not None:
            axes.axvline(backward - 0.5, color=_GREY, linewidth=0.8, linestyle=":")
        peak = memory.peaks[-1]
        axes.annotate(
            f"{format_bytes(peak.bytes)} at {peak.kernel or peak.name}",
            (peak.step, peak.bytes / 1e6),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
        )
        axes.set_xlim(-0.5, max(len(steps) - 0.5, 0.5))
        axes.set_ylim(0, peak.bytes / 1e6 * 1.15 or 1)
        axes.set_xlabel("step (a kernel or library call)")
        axes.set_ylabel("MB live (counted)")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes.set_title(memory.report.request.name)
    return figure


_SHOWN = 6  # entries of the peak


def text(memory: Memory) -> str:
    """A table of the peaks, the lines of the whole one, the sentence."""
    lines = [f"Memory({memory.report.request.name}, {memory.report.request.target}, counted)"]
    for row in memory.rows("memory_peaks"):
        above = format_bytes(row.bytes - row.base_bytes)
        where = row.kernel or row.name or "-"
        lines.append(
            f"  {row.scope:<10}{format_bytes(row.bytes):>9}  {above} above inputs, at {where}"
        )
    reserved = memory.peaks[-1].reserved_bytes
    if reserved is not None:
        lines.append(f"  reserved{format_bytes(reserved):>11}  on the device (allocator model)")
    parts = memory.at_peak("line")
    shown = list(parts.items())[:_SHOWN]
    lines += [
        f"    {format_bytes(size):>9}  {format_percent(size, memory.peak):>5}  {name}"
        for name, size in shown
    ]
    if len(parts) > len(shown):
        rest = sum(parts.values()) - sum(size for _, size in shown)
        lines.append(f"    {format_bytes(rest):>9}  {len(parts) - len(shown)} more")
    lines.append(f"  {memory.sentence}")
    left = memory.also_missing
    return "\n".join([*lines, *([f"  not included: {left}"] if left else [])])


_NOT_COMPILED = "not compiled"


def format_budgets(budgets: Budgets) -> str:
    """The name, a row for each budget, the sentence."""
    lines = [
        f"Checkpoint({budgets.name})",
        "  budget     saved                peak  recomputed",
    ]
    lines += [_budget_line(point, is_own=point.budget == budgets.own) for point in budgets.points]
    return "\n".join([*lines, *textwrap.wrap(budgets.sentence, 78, initial_indent="  ")])


def _budget_line(point: BudgetPoint, *, is_own: bool) -> str:
    peak = format_bytes(point.peak_bytes) if point.peak_bytes is not None else _preview(point)
    mark = "*" if is_own else " "
    again = f"{plural(point.recomputed, 'operator')}, {cost_text(point)}"
    return f"{mark} {point.budget:6g} {format_bytes(point.saved_bytes):>9} {peak:>19}  {again}"


def _preview(point: BudgetPoint) -> str:
    """The range of a peak that is not known."""
    if point.why_not or point.least_bytes is None:
        return _NOT_COMPILED
    return f"{format_bytes(point.least_bytes)}–{format_bytes(point.most_bytes)}?"


def plot_budgets(budgets: Budgets) -> Figure:
    """See `Budgets.plot`."""
    compiled = [point for point in budgets.points if point.peak_bytes is not None]
    with sheet(3.2) as (figure, axes):
        axes.plot(
            [point.budget for point in budgets.points],
            [point.saved_bytes / 1e6 for point in budgets.points],
            color=KERNEL_COLOURS[1],
            drawstyle="steps-mid",
            label="saved activations (counted)",
        )
        axes.plot(
            [point.budget for point in compiled],
            [(point.peak_bytes or 0) / 1e6 for point in compiled],
            color=KERNEL_COLOURS[0],
            marker="o",
            label="peak of the compiled program (counted)",
        )
        axes.set_xlim(1.02, -0.02)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("activation memory budget")
        axes.set_ylabel("MB")
        axes.legend(frameon=False)
        axes.set_title(budgets.name)
    return figure


def build_document(memory: Memory) -> Document:
    """What lives at the peak, by line, module and kind; the largest storages."""
    request, part = memory.report.request, build_memory_part(memory.report)
    peaks = [
        {
            "name": row.scope,
            "bytes": row.bytes,
            "above": row.bytes - row.base_bytes,
            "at": row.kernel or row.name,
            "step": row.step,
            "reserved": row.reserved_bytes,
        }
        for row in memory.rows("memory_peaks")
    ]
    return Document(
        f"Memory of {request.name} on {request.target}, counted",
        list(list_memory_blocks(part, (), "", peaks)),
        tab=f"Memory of {request.name}",
        summary_bytes=HEAT_BYTES,
    )


def list_memory_blocks(
    part: MemoryPart,
    budgets: Sequence[Budget],
    report: str,
    peaks: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Block]:
    """The peaks, that of the whole by line, module and kind, the largest storages, the budgets.

    `report` is how the caller calls the report; empty where it holds the memory itself, which has
    more to say of the `peaks`.
    """
    call = f"wb.memory({report})" if report else ""
    pieces: list[tuple[Look, str]] = [("plain", part["sentence"])]
    pieces += [("muted", f" Not included: {part['missing']}.")] if part["missing"] else []
    yield Sentence("".join(text for _, text in pieces), pieces=pieces)
    counted = [{"name": name, "bytes": size, "step": step} for name, size, step in part["peaks"]]
    yield Table("Peaks, counted", _PEAKS, peaks or counted, f"{call}.peaks")
    most = max(size for _, size, _ in part["peaks"]) or 1
    for by, shares in part["at_peak"].items():
        rows = [
            {**share, "name": _named(share), "share": share["bytes"] / most} for share in shares
        ]
        title, all_shares = f"Live bytes at the peak, by {_WORDS[by]}", f'{call}.at_peak("{by}")'
        yield Table(title, _SHARES, rows, all_shares, is_minor=True)
    storages = sorted(part["storages"], key=lambda row: -row["bytes"])
    yield Table("Largest storages", _STORAGES, storages, f"{call}.frame()", is_minor=True)
    spared = f'{report or ".report"}.frame("memory_remarks")'
    yield Table("Possible savings", _REMARKS, part["remarks"], spared, is_minor=True)
    all_budgets = f'{report or ".report"}.frame("memory_budgets")'
    yield Table("Memory budgets", _BUDGETS, budgets, all_budgets, most=len(budgets))


def _named(share: MemoryShare) -> str:
    peak = ", at the peak" if share["peak"] else ""
    return f"{share['name']} × {share['times']}" if share["times"] > 1 else f"{share['name']}{peak}"


def build_budgets(budgets: Budgets) -> Document:
    """The sentence, a row for each budget."""
    rows = [
        {
            "budget": f"{point.budget:g}, its own" if point.budget == budgets.own else point.budget,
            "peak": point.peak_bytes,
            "least": None if point.peak_bytes else point.least_bytes,
            "most": None if point.peak_bytes else point.most_bytes,
            "saved": point.saved_bytes,
            "again": point.recomputed,
            "cost": cost_text(point),
            "note": point.checked if point.why_not in cost_text(point) else point.why_not,
        }
        for point in budgets.points
    ]
    table = Table("Budgets", _ALL_BUDGETS, rows, ".frame()", most=len(rows))
    return Document(f"Memory budgets of {budgets.name}", [Sentence(budgets.sentence), table])


SHOWN = {
    "Budgets": Shown(document=build_budgets, text=format_budgets, plot=plot_budgets),
    "Memory": Shown(document=build_document, text=text, plot=plot, pane="memory"),
}
