"""The last pane: what was asked, where it ran, what the caches said, what could not be seen."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.blocks import Block, Column, Grid, Note, Pane, Tag
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing

_PAIR = (Column(""), Column("", "code"))


def pane(report: Report, limits: Limits) -> Pane:
    """Request, environment, caches, capabilities."""
    blocks: list[Block] = [
        Grid("Request", _PAIR, request_rows(report)),
        Grid("Environment", _PAIR, environment_rows(report)),
        _cache(report, limits),
        _capabilities(report),
    ]
    return Pane("about", "Environment", tuple(blocks))


def request_rows(report: Report) -> tuple[tuple[str, str], ...]:
    """What was asked for, in words."""
    request = report.request
    train = {True: "training", False: "evaluation", None: ""}[request.training]
    rows = (
        ("Name", request.name),
        ("Kind", request.kind),
        ("Inputs", "; ".join(request.inputs)),
        ("Dynamic shapes", request.dynamic_shapes or "none"),
        ("Backend", request.backend),
        ("Mode", request.mode or "default"),
        ("Options", ", ".join(f"{k}={v}" for k, v in request.options) or "defaults"),
        ("Target", request.target),
        ("Gradients", "on" if request.grad else "off"),
        ("Autocast", request.autocast or "off"),
        ("Module mode", train),
        ("Guards", request.guards),
        ("Capture", request.capture),
    )
    return tuple((name, value) for name, value in rows if value)


def environment_rows(report: Report) -> tuple[tuple[str, str], ...]:
    """Where it was compiled."""
    there = report.environment
    rows = (
        ("aot-workbench", there.workbench),
        ("torch", there.torch),
        ("triton", there.triton or "not installed"),
        ("Python", there.python),
        ("Platform", there.platform),
        ("CPU", there.cpu),
        ("Vector instructions", there.isa),
        ("Cores, threads", f"{there.cores}, {there.threads}" if there.cores else ""),
        *there.variables,
    )
    return tuple((name, value) for name, value in rows if value)


def _cache(report: Report, limits: Limits) -> Block:
    events = list(report.cache)
    if not events:
        return missing(report, "cache", "No cache answers.", "No cache of torch was asked.")
    shown, more = cut(events, limits.rows, "cache")
    tones = {"hit": "captured", "bypass": "fallback"}
    rows = tuple(
        (event.cache, Tag(event.outcome, tones.get(event.outcome, "plain")), event.reason or "")  # type: ignore[arg-type]
        for event in shown
    )
    columns = (Column("Cache", "code"), Column("Answer", "tag"), Column("Why"))
    return Grid("What torch's caches answered", columns, rows, "cache", more)


def _capabilities(report: Report) -> Block:
    absent = [c for c in report.capabilities if not c.available]
    if not absent:
        text = f"All {len(report.capabilities)} captures worked." if report.capabilities else ""
        return Note("Nothing is missing from this record.", text, "captured")
    rows = tuple((c.name, c.reason or "no reason recorded") for c in absent)
    columns = (Column("Part", "code"), Column("Why it is missing"))
    return Grid("What could not be captured", columns, rows, "capabilities")
