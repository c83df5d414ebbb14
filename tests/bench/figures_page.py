"""The table of figures in the docs, made from the recorded ones."""

from __future__ import annotations

import re
import textwrap

from tests.bench.figure import ROOT
from tests.bench.record import Place, Record, Recorded

PAGE = ROOT / "docs" / "pages" / "about" / "figures.md"
BEGIN, END = "<!-- figures: written by make bench -->\n", "<!-- end of figures -->\n"
HEADLINES = (
    "import workbench (ms)",
    "first aot_compile, one kernel, empty cache / torch's",
    "first aot_compile, four kernels, empty cache / torch's",
    "compile with full capture / plain torch, 6-layer GPT-2 (CPU s)",
    "load + first call of an .aot, 6-layer GPT-2, empty cache / torch's loader",
    "load + first call of an .aot, 6-layer GPT-2, empty cache / torch.compile with its artifacts",
    "load + first call of a .pt2, 6-layer GPT-2, empty cache / torch's loader, separate weights",
    "load + first call of a .pt2, 6-layer GPT-2, empty cache / torch's loader, embedded weights",
    "cost of all checks per call, loaded 2-input function (us)",
    "cost of checks per call of a package, 2 tensors (us)",
    "time per call of 2 threads, 2 runners / 1 runner",
    "load of a package with 1 GB of mapped weights (s)",
    "load of a package with 1 GB of mapped weights (s): with the hash comparison",
    "inspect of a 1 GB package, embedded weights: seconds",
    "inspect of a 1 GB package, embedded weights: peak MB",
    "report of a 24-layer GPT-2 training step (MB)",
    "report of a 24-layer GPT-2 training step (MB): open",
    "diff of two 6-layer GPT-2 reports, dynamic sizes (s)",
    "70 MB TORCH_TRACE log, every table read (s)",
    "70 MB TORCH_TRACE log, every table read (s): peak memory",
    "virtual H100: six-layer encoder, warm worker",
    "kernels of an encoder × 6 GPUs, empty Triton cache (s)",
    "wb.kernel, warm, the slowest (CPU s)",
    "200 configurations of one GEMM, tuned (s)",
    "200 configurations of one GEMM, tuned (s): CPU seconds",
    "verify six-layer encoder, virtual H100, whole program (s)",
    "Llama-3-8B for a virtual H100 (s)",
    "Llama-3-8B training step for a virtual H100 (s)",
    "Llama-3-8B for a virtual H100, layers compiled once (s)",
    "Llama-3-8B training step for a virtual H100, layers compiled once (s)",
    "Llama-3-70B for a virtual H100, layers compiled once (s)",
    "one rank: tensor parallel, 8 ranks, forward (s)",
    "one rank: FSDP, 64 ranks, forward and backward (s)",
    "one rank: FSDP and tensor parallel, 512 ranks, forward and backward (s)",
    "one rank of 512: memory of the compiling process (GB)",
    "compile a graph of 1,000 nodes / plain torch (CPU s)",
    "compile a 24-layer GPT-2 training step / plain torch (CPU s)",
    "compile a program of 50 graphs / plain torch (CPU s)",
    "training step of 5 ms in a session / without (CPU s)",
    "torch.compile of GPT-2 in a session / without (CPU s)",
    "wb.numerics of GPT-2, 2 layers, float32 (s)",
    "wb.numerics of GPT-2, 2 layers, float32 (s): over an eager call",
    "wb.numerics of GPT-2, 8 layers, float32 (s)",
    "batch invariance of GPT-2, 2 layers, 4 rows (s)",
    "check of a 512 × 512 × 512 GEMM (CPU s)",
    "check of a 512 × 512 × 512 GEMM (CPU s): access log",
    "check of a softmax of 1024 × 1000 (CPU s)",
    "check of a softmax of 1024 × 1000 (CPU s): access log",
)
"""The figures that the page shows, by their names in the file; it shows all that were missed."""
_UNIT = re.compile(r" \((?:ms|s|us|MB|GB|kB)\)")  # stands behind the value
_UNITS = {"us": "µs", "ratio": "", "count": ""}


def shown(value: float, unit: str, digits: int = 3) -> str:
    """A value in three digits, with its unit: two would show 1.056 as no more than 1.05."""
    number = f"{value:.{digits}g}" if value < 1000 else f"{value:,.0f}"
    return f"{number} {_UNITS.get(unit, unit)}".strip()


def table(record: Record) -> str:
    """The machine, a row for each headline and for every other figure that missed its reach."""
    is_one = len(record.places) == 1
    missed = [name for name, row in record.figures.items() if not row.passed]
    names = dict.fromkeys((*HEADLINES, *missed))
    found = [record.figures.get(name) for name in names]
    before = [None, *(row.conditions if row else None for row in found)]
    rows = [_row(*each, is_one) for each in zip(names, found, before, strict=False)]
    lines = [_introduction(record), "", "| | measured | target | conditions |"]
    lines += ["| --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def _introduction(record: Record) -> str:
    places = record.places
    is_one = len(places) == 1
    machines = (
        f"{'Machine' if is_one else f'Machine ({letter})'}: {_place(places[letter])}."
        for letter in sorted(places)
    )
    words = (
        f"`make bench` measured these figures. {' '.join(machines)} "
        "[tests/bench/bench.json](../../../tests/bench/bench.json) has all of them. *X / Y* is "
        "the ratio of both times, measured interleaved. Below 1, aot-workbench is faster."
    )
    return textwrap.fill(words, 110, break_on_hyphens=False)


def _place(place: Place) -> str:
    here, versions = place.machine, place.versions
    return (
        f"{here['cores']} cores ({here['processor']}, {here['vectors']}), "
        f"{here['memory_gib']} GiB, {here['gpu'] or 'no GPU'}, Python {versions['python']}, "
        f"torch {versions['torch']}"
    )


def _row(name: str, row: Recorded | None, above: str | None, is_one_place: bool) -> str:
    title = _UNIT.sub("", name)
    if row is None:
        return f"| {title} | not measured yet | | |"
    reach = "" if row.reach is None else f"≤ {shown(row.reach, row.unit)}"
    value = shown(row.value, row.unit)
    if not row.passed and reach.endswith(f" {value}"):  # rounded to what it missed
        value = shown(row.value, row.unit, digits=4)
    value += "" if is_one_place else f" ({row.place})"
    if not row.passed:
        value += ", **missed**"
    conditions = "as above" if row.conditions == above else row.conditions
    return f"| {title} | {value} | {reach} | {conditions} |"


def on_page(text: str) -> str:
    """The part of the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def write(record: Record) -> None:
    """Put the table into the page."""
    text = PAGE.read_text()
    PAGE.write_text(text.replace(on_page(text), table(record)))
