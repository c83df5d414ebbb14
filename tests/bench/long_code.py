"""A record whose machine code is as long as one likes, for measuring the view."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.figure import ROOT
from workbench.report import Report, Table, TextWriter
from workbench.report.machine_rows import Assembly, Runs

RECORD = ROOT / "tests" / "records" / "norm_h100.wbr"


def long_code(lines: int) -> Report:
    """The recorded kernel with PTX and SASS repeated to `lines` lines, and their runs with them."""
    report = Report.load(RECORD)
    writer = TextWriter()
    for text in report.texts.values():
        writer.add(text)
    heights = {
        row.stage: len(report.texts[row.text or ""].split("\n"))
        for row in report.assembly
        if row.config == "k1:c0"
    }
    rows = [_longer(row, report, writer, heights, lines) for row in report.assembly]
    tables = {**report.tables, "assembly": Table.of(Assembly, rows)}
    return replace(report, tables=tables, texts=writer.finish())


def _longer(
    row: Assembly, report: Report, writer: TextWriter, heights: dict[str, int], lines: int
) -> Assembly:
    if row.config != "k1:c0" or row.stage not in ("ptx", "sass"):
        return row
    height = heights[row.stage]
    times = -(-lines // height)
    text = "\n".join([report.texts[row.text or ""]] * times)
    ptx = _repeated(row.ptx, height, times, heights["ptx"])
    return replace(
        row, text=writer.add(text), lines=_repeated(row.lines, height, times), inlined=(), ptx=ptx
    )


def _repeated(runs: Runs, height: int, times: int, step: int = 0) -> Runs:
    """The runs of every repetition; their origin moves on by `step` each time."""
    return tuple(
        (first + n * height, last + n * height, line + n * step)
        for n in range(times)
        for first, last, line in runs
    )
