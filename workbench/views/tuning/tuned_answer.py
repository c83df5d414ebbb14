"""What a kernel was tuned to: a table, a heat map for each case, a page, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas

from workbench.analysis.tuning.candidate import RANKED, Candidate, count_verdicts
from workbench.analysis.tuning.tuned import Tuned, TunedCase
from workbench.errors import UsageError
from workbench.views.blocks import Document, Heat, OnPage, Sentence, Table
from workbench.views.charts.sheet import HeatCell, HeatMap, HeatRow, draw_heat_map
from workbench.views.shown import Shown
from workbench.views.static_html.grids import HEAT_BYTES
from workbench.views.tables.column import Column, exact
from workbench.views.words.units import ABSENT, format_percent, format_us, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIRST = 5
_COLUMNS = (
    Column("Place", "rank", exact("number")),
    Column("Values", "choice", "code"),
    Column("Warps", "warps", exact("number")),
    Column("Stages", "stages", exact("number")),
    Column("Model", "model_us", exact("us")),
    Column("Measured", "measured_us", exact("us")),
    Column("Registers", "registers", exact("number")),
    Column("Spills", "spills", exact("number")),
    Column("Shared", "smem_bytes", exact("B")),
    Column("Occupancy (est.)", "occupancy", exact("share")),
    Column("Verdict", "verdict"),
    Column("Reason", "reason"),
)
_FIELDS = (
    "verdict", "reason", "rank", "warps", "stages", "model_us", "placed_us", "measured_us",
    "because", "registers", "spills", "smem_bytes", "blocks", "occupancy", "limiter", "grid",
    "l2_bytes",
)  # fmt: skip
_WHOLE = ("rank", "registers", "spills", "smem_bytes", "blocks", "grid")


def frame(tuned: Tuned) -> pandas.DataFrame:
    """A row for each configuration of each case; see `Tuned.frame`."""
    rows = [
        {
            "target": case.gpu.name,
            **case.sizes,
            "choice": each.choice,
            **{name: getattr(each, name) for name in _FIELDS},
        }
        for case in tuned.cases
        for each in case.candidates
    ]
    made = pandas.DataFrame(rows)
    return made.astype(dict.fromkeys(_WHOLE, "Int64")) if rows else made


def plot(tuned: Tuned, case: TunedCase) -> Figure:
    """The heat map of one case; see `Tuned.plot`."""
    if not case.ranked:
        raise UsageError(
            f"Nothing to draw: no configuration of {tuned.kernel} can be used on {case.name}. "
            ".frame() says why."
        )
    return draw_heat_map(heat_map(tuned, case))


def heat_map(tuned: Tuned, case: TunedCase) -> HeatMap:
    """Values × warps and stages, stronger: further from the best of all; those with a place first.

    Cells have the time of the model; where there is none for the kernel, the occupancy.
    """
    cells = {(each.choice, each.warps, each.stages): each for each in case.candidates}
    shared = frozenset.intersection(*(frozenset(each.values) for each in case.candidates))
    labels = {
        each.choice: ", ".join(f"{n}={v}" for n, v in each.values if (n, v) not in shared)
        for each in case.candidates
    }
    if len(labels) == 1:
        labels, shared = {choice: choice for choice in labels}, frozenset()
    told = ", ".join(f"{name}={value}" for name, value in sorted(shared, key=str))
    columns = sorted({(warps, stages) for _, warps, stages in cells})
    has_stages = len({stages for _, stages in columns}) > 1
    best = min((each.model_us for each in case.ranked if each.model_us), default=0.0)
    return HeatMap(
        title=f"{tuned.kernel} on {case.name} (modelled{f'; all with {told}' if told else ''})",
        columns=tuple(
            plural(warps, "warp") + (f", {plural(stages, 'stage')}" if has_stages else "")
            for warps, stages in columns
        ),
        rows=tuple(
            HeatRow(label or "–", tuple(_cell(cells.get((choice, *at)), best) for at in columns))
            for choice, label in labels.items()
        ),
        caption="best on top; stronger colour: further from the best; compiled, not run",
        corner="Values",
    )


def _cell(candidate: Candidate | None, best: float) -> HeatCell:
    if candidate is None:
        return HeatCell(None, "")
    if candidate.verdict != RANKED:
        return HeatCell(None, candidate.verdict)
    if not candidate.model_us:
        share = candidate.occupancy or 0.0
        return HeatCell(1 - share, format_percent(share, 1))
    return HeatCell(1 - best / candidate.model_us, format_us(candidate.model_us))


def text(tuned: Tuned) -> str:
    """The best of each case, what was discarded, and that it was modelled."""
    lines = [f"Tuned({tuned.kernel}, {tuned.kind})"]
    for case in tuned.cases:
        counts = count_verdicts(case.candidates)
        told = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
        lines.append(f"  {case.name}: {told or 'nothing to try'}")
        few = _FIRST if len(tuned.cases) == 1 else 1
        lines += ["    " + "  ".join(_list_words(each)).rstrip() for each in case.ranked[:few]]
        lines += [f"         {case.doubt}"] if case.doubt else []
    return "\n".join([*lines, *(f"  {each}" for each in (*tuned.remarks, tuned.error))])


def _list_words(candidate: Candidate) -> Iterator[str]:
    yield f"{candidate.rank or ABSENT:>3}"
    yield candidate.name
    yield format_us(candidate.model_us)
    if candidate.measured_us is not None:
        yield f"measured {format_us(candidate.measured_us)}"
    yield f"{candidate.registers or ABSENT} registers"
    if candidate.occupancy is not None:
        yield f"occupancy {format_percent(candidate.occupancy, 1)}"


def build_document(tuned: Tuned) -> Document:
    """A heat map for each case and the rows; a notebook keeps the first map."""
    rows: list[Mapping[str, Any]] = [
        {name: getattr(each, name) for name in (*_FIELDS, "choice")}
        | {"choice": f"{case.name}: {each.choice}" if len(tuned.cases) > 1 else each.choice}
        for case in tuned.cases
        for each in case.candidates
    ]
    maps = [heat_map(tuned, case) for case in tuned.cases if case.ranked]
    return Document(
        f"{tuned.kernel}, {tuned.kind}",
        [
            *map(Sentence, (tuned.sentence, *tuned.remarks)),
            *(Heat(each, is_open=True) for each in maps[:1]),
            OnPage(lambda: map(Heat, maps[1:])),
            Table("All configurations", _COLUMNS, rows, ".frame()"),
        ],
        tab=f"Configurations of {tuned.kernel}",
        summary_bytes=HEAT_BYTES,
    )


SHOWN = {"Tuned": Shown(document=build_document, text=text, frame=frame, plot=plot)}
