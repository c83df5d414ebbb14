"""The memory of a call in a terminal: peaks, what they are made of, what is missing."""

from __future__ import annotations

from workbench.analysis.memory.memory import Memory
from workbench.views.words.units import format_bytes, format_percent

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
        lines.append(
            f"  reserved{format_bytes(reserved):>11}  of the device, by a model of its allocator"
        )
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
    return "\n".join([*lines, *([f"  not in it: {left}"] if left else [])])
