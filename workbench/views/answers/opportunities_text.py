"""Opportunities, and what became of one that was tried, as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from workbench.analysis.opportunities.opportunity import Cost, Opportunity, Tried
from workbench.analysis.opportunities.rules import RULES
from workbench.number_text import number_text
from workbench.report import Report
from workbench.views.words.units import format_bytes, plural

_WIDTH = 80


def list_text(report: Report, found: Sequence[Opportunity]) -> str:
    """All of them, or one sentence where there are none."""
    where = f"{report.request.name or 'the compilation'} on {report.request.target}"
    if not found:
        return nothing(where)
    head = f"{plural(len(found), 'change')} in {where}, by saving"
    return "\n".join([head, *("\n".join(lines(each)) for each in found)])


def nothing(where: str) -> str:
    """The sentence for none."""
    return f"Nothing to change was found in {where}: none of {len(RULES)} rules applies."


def text(found: Opportunity) -> str:
    """One of them."""
    return "\n".join(lines(found))


def lines(found: Opportunity) -> Iterator[str]:
    """The saving, the sentence, the line, the change."""
    yield f"{found.id}  {saving(found)} ({found.sure})  [{found.rule}]"
    yield from textwrap.wrap(found.text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    if found.file is not None:
        yield f"    {found.file}:{found.line or '?'}"
    yield from (f"    - {line}" for line in found.before)
    sign = "+" if found.before else " "
    yield from (f"    {sign} {line}" for line in found.after)
    if found.settings:
        yield f"    {found.action}"


def saving(found: Opportunity) -> str:
    """What it could save: a range of time, of bytes, kernels; unknown where nothing is known."""
    known = _savings(found)
    return f"saves {', '.join(known)}" if known else "saving not known"


def format_shortest_saving(found: Opportunity) -> str:
    """The first of these."""
    return next(iter(_savings(found)), "not known")


def _savings(found: Opportunity) -> list[str]:
    moved = _range(found.saved_bytes_low, found.saved_bytes_high, format_bytes)
    parts = [
        _range(found.saved_us_low, found.saved_us_high, _time),
        moved if found.is_told_by_bytes else None,
        plural(found.fewer_kernels, "kernel") if found.fewer_kernels else None,
        f"{format_bytes(found.saved_memory)} of memory" if found.saved_memory else None,
    ]
    return [part for part in parts if part is not None]


def _time(us: float) -> str:
    return number_text(us / 1e6, "seconds")


def _range(low: float | None, high: float | None, write: Callable[[Any], str]) -> str | None:
    """`0 to 4 MB`; None where nothing is known, or nothing is saved."""
    if not high:
        return None
    if low is None or write(low) == write(high):
        return write(high)
    return f"{'0' if not low else write(low)} to {write(high)}"


def format_trial(tried: Tried) -> str:
    """Predicted beside measured, and whether the outputs agree."""
    rows = [
        f"{tried.opportunity.rule} tried: predicted {saving(tried.opportunity)}",
    ]
    if tried.before.breaks or tried.after.breaks:
        rows.append(f"  breaks   {tried.before.breaks} → {tried.after.breaks}")
    if tried.before.kernels:
        rows.append(f"  kernels  {tried.before.kernels} → {tried.after.kernels}")
        rows.append(f"  bytes    {_bytes(tried.before)} → {_bytes(tried.after)}")
    for name, words in (("bound_us", "bound"), ("call_us", "call")):
        old, new = getattr(tried.before, name), getattr(tried.after, name)
        if old is not None and new is not None:
            source = "by the roofline" if words == "bound" else "measured in turn"
            rows.append(f"  {words:8s} {_time(old)} → {_time(new)} ({source})")
    rows += textwrap.wrap(tried.checked, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([*rows, "  .diff has what changed"])


def format_saved(tried: Tried) -> str:
    """What was measured to be saved: time, else bytes; what got worse has a minus."""
    if tried.saved_us is not None:
        return _time(tried.saved_us)
    if tried.saved_bytes is not None:
        return format_bytes(tried.saved_bytes)
    return plural(tried.fewer_kernels, "kernel")


def _bytes(cost: Cost) -> str:
    return format_bytes(cost.bytes) if cost.bytes is not None else "not known"
