"""A step on meshes of several sizes: the sentences, a table, a bar for each mesh."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Sentence, Table, write_text
from workbench.views.kit.sheet import KERNEL_COLOURS, sheet
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column, exact
from workbench.worlds.clusters.findings.scaling import Scaling
from workbench.worlds.clusters.rows import ScalingRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OF_ROWS = measures(ScalingRow)
_COLUMNS = (
    Column("Mesh", "mesh"),
    *(Column(measure.title, name, exact(measure.unit)) for name, measure in _OF_ROWS.items()),
)


def text(found: Scaling) -> str:
    """The sentences, a line for each mesh."""
    return write_text(build_document(found))


def sentences(found: Scaling) -> tuple[str, ...]:
    """What comes of it in plain words."""
    return found.sentences


def plot(found: Scaling) -> Figure:
    """See `Scaling.plot`."""
    rows = found.rows
    places = range(len(rows))
    with sheet(3.2) as (figure, axes):
        waits = [(row.exposed_us or 0.0) / 1e3 for row in rows]
        busy = [(row.step_us or 0.0) / 1e3 - wait for row, wait in zip(rows, waits, strict=True)]
        axes.bar(places, busy, color=KERNEL_COLOURS[0], label="kernels, modelled")
        axes.bar(places, waits, bottom=busy, color="#b3261e", label="exposed collectives, modelled")
        axes.set_xticks(list(places), [row.mesh for row in rows])
        axes.set_ylabel("step time (ms)")
        memory = axes.twinx()
        held = [(place, row.peak_bytes / 1e9) for place, row in enumerate(rows) if row.peak_bytes]
        where, sizes = [place for place, _ in held], [size for _, size in held]
        memory.plot(where, sizes, "o", color="#444444", label="peak per rank, counted")
        memory.axhline(found.capacity / 1e9, color="#444444", linestyle="--", linewidth=1.2)
        memory.set_ylim(bottom=0)
        memory.set_ylabel("GB per rank (dashed: capacity)")
        figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
        axes.set_title(_name(found))
    return figure


def _name(scaling: Scaling) -> str:
    return f"{scaling.name} on {scaling.target}, first rank of each mesh"


def build_document(found: Scaling) -> Document:
    """The sentences and the table of meshes."""
    first, *others = found.sentences
    notes = [Sentence(words, "muted") for words in others]
    rows = [asdict(row) for row in found.rows]
    table = Table("Meshes", _COLUMNS, rows, ".frame()", is_open=True)
    return Document(_name(found), [Sentence(first), *notes, table], summary_bytes=HEAT_BYTES)


SHOWN = {
    "Scaling": Shown(document=build_document, text=text, sentences=sentences, plot=plot),
}
