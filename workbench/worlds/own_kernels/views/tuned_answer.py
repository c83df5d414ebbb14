"""What a kernel was tuned to: a table, a heat map for each case, a page, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas

from workbench.analysis.tuning.candidate import RANKED, Candidate, count_verdicts
from workbench.analysis.tuning.tuned import Tuned, TunedCase
from workbench.errors import UsageError
from workbench.number_text import ABSENT, format_percent, format_us
from workbench.views.kit.blocks import HEAT_BYTES, Document, Heat, OnPage, Sentence, Table
from workbench.views.kit.sheet import HeatCell, HeatMap, draw_heat_map
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column, exact
from workbench.views.tuning.config_map import lay_out_map, make_cell

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
    "verdict",
    "reason",
    "rank",
    "warps",
    "stages",
    "model_us",
    "placed_us",
    "measured_us",
    "because",
    "registers",
    "spills",
    "smem_bytes",
    "blocks",
    "occupancy",
    "limiter",
    "grid",
    "l2_bytes",
)
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
            f"Nothing to draw: no configuration of {tuned.kernel} fits on {case.name}. "
            ".frame() has the reasons."
        )
    return draw_heat_map(heat_map(tuned, case))


def heat_map(tuned: Tuned, case: TunedCase) -> HeatMap:
    """The configurations of one case; values that all of them have stand in the title."""
    best = min((each.model_us for each in case.ranked if each.model_us), default=0.0)
    cells = {
        (each.choice, each.warps, each.stages): make_cell(each.model_us, each.occupancy, best)
        if each.verdict == RANKED
        else HeatCell(None, each.verdict)
        for each in case.candidates
    }
    shared = frozenset.intersection(*(frozenset(each.values) for each in case.candidates))
    labels = {
        each.choice: ", ".join(f"{n}={v}" for n, v in each.values if (n, v) not in shared)
        for each in case.candidates
    }
    if len(labels) == 1:
        labels, shared = {choice: choice for choice in labels}, frozenset()
    told = ", ".join(f"{name}={value}" for name, value in sorted(shared, key=str))
    title = f"{tuned.kernel} on {case.name} (modelled{f'; all with {told}' if told else ''})"
    return lay_out_map(title, cells, "Values", labels)


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
    more = () if tuned.error in tuned.sentence else (tuned.error,)
    return Document(
        f"{tuned.kernel}, {tuned.kind}",
        [
            *map(Sentence, (tuned.sentence, *tuned.remarks, *more)),
            *(Heat(each, is_open=True) for each in maps[:1]),
            OnPage(lambda: map(Heat, maps[1:])),
            Table("All configurations", _COLUMNS, rows, ".frame()"),
        ],
        tab=f"Configurations of {tuned.kernel}",
        summary_bytes=HEAT_BYTES,
    )


SHOWN = {"Tuned": Shown(document=build_document, text=text, frame=frame, plot=plot)}
