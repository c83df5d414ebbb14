"""The table of a run on a GPU in the docs: `python -m tests.gpu --page`."""

from __future__ import annotations

import textwrap

from tests.bench.figures_page import PAGE, shown
from tests.gpu.parts import RAN
from tests.gpu.record import GpuFigure, GpuRecord

BEGIN = "<!-- gpu figures: written by python -m tests.gpu --page -->\n"
END = "<!-- end of gpu figures -->\n"
_LONGEST_NOTE = 300  # characters


def table(record: GpuRecord) -> str:
    """The device, a row for each figure, and the parts that did not end well."""
    here = record.found
    words = (
        f"`make test-gpu` measured these figures on an {here['device']} with torch "
        f"{here['torch']} and Triton {here['triton']}. "
        "[tests/gpu/gpu.json](../../../tests/gpu/gpu.json) has the rows behind them. Untimed "
        "parts ran in parallel."
    )
    lines = [textwrap.fill(words, 110, break_on_hyphens=False), ""]
    lines += ["| | measured | target | conditions |", "| --- | --- | --- | --- |"]
    lines += [_row(figure) for figure in record.figures]
    lines += [f"| the part {n} | {o} | | |" for n, o in record.outcomes.items() if o != RAN]
    return "\n".join(lines) + "\n"


def _row(figure: GpuFigure) -> str:
    unit = "" if figure.unit in ("share", "ratio", "yes or no", "Spearman") else figure.unit
    value = "*not checked*" if figure.value is None else shown(figure.value, unit)
    missed = ", **missed**" if figure.verdict == "missed" else ""
    reach = "" if figure.reach is None else f"{figure.rule} {shown(figure.reach, unit)}"
    note = textwrap.shorten(figure.note, _LONGEST_NOTE, placeholder=" …").replace("|", "\\|")
    name = figure.name.replace("|", "\\|")
    return f"| {name} | {value}{missed} | {reach.replace('>=', '≥').replace('<=', '≤')} | {note} |"


def on_page(text: str) -> str:
    """The part of the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def write(record: GpuRecord) -> None:
    """Put the table into the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(record)}{END}{rest.split(END)[1]}")
