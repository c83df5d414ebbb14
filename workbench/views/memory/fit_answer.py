"""Whether a model fits into a GPU: the parts of its peak, once and for each layer."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from workbench.analysis.layers.fit import Fit
from workbench.analysis.layers.layers import ModuleShare
from workbench.number_text import format_bytes, plural
from workbench.views.kit.blocks import Chart, Document, Sentence, Table, write_text
from workbench.views.kit.sheet import CELL_INK, KERNEL_COLOURS, sheet
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE, _HIGH, _BAR = 760, 44, 26  # pixels
_LETTER = 6.2  # pixels, of a size of 11
_PALE = 0.55  # of white in a colour that text stands on
_MODULES = 12
_PARTS = (
    Column("Part", "part"),
    Column("Bytes", "bytes", "B"),
    Column("Share of peak", "share", "share"),
    Column("Once", "once", "B"),
    Column("Each layer", "each_layer", "B"),
    Column("Source", "source", "prose"),
)
_SHARES = (
    Column("Module at the peak", "name", "code"),
    Column("Layers", "times"),
    Column("Bytes", "bytes", "B"),
    Column("One layer", "each"),
    Column("Note", "note"),
)


def plot(fit: Fit) -> Figure:
    """See `Fit.plot`."""
    start = 0.0
    with sheet(1.6) as (figure, axes):
        for place, row in enumerate(fit.parts):
            size = row.bytes / 1e9
            colour = KERNEL_COLOURS[place % len(KERNEL_COLOURS)]
            axes.barh(
                0, size, left=start, color=colour, label=f"{row.part} {format_bytes(row.bytes)}"
            )
            start += size
        axes.axvline(fit.capacity / 1e9, color="#b3261e", linestyle="--", linewidth=1.2)
        axes.set_yticks([])
        axes.set_xlabel("GB, counted and extrapolated (dashed: capacity)")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.4), ncols=4, frameon=False)
        axes.set_title(f"{fit.name}, {plural(fit.layers, 'layer')}, {fit.gpu}")
    return figure


def build_document(fit: Fit) -> Document:
    """The sentence, the parts of the peak as a picture and as tables."""
    picture = b64encode(_picture(fit).encode()).decode("ascii")
    alt = ", ".join(f"{row.part} {format_bytes(row.bytes)}" for row in fit.parts)
    return Document(
        f"{fit.name} on {fit.gpu}: does it fit?",
        [
            Sentence(fit.sentence),
            Chart(alt, f"data:image/svg+xml;base64,{picture}"),
            *_list_tables(fit),
            Sentence(f"Not included: {fit.missing}.", "muted"),
        ],
    )


def _list_tables(fit: Fit) -> Iterator[Table]:
    place = next((row.place for row in fit.parts if row.place != "all the time"), "")
    parts = [
        {
            "part": row.part,
            "bytes": row.bytes,
            "share": row.bytes / fit.peak,
            "once": row.once if (row.once or 0) >= 0 else None,  # no amount: the line's start
            "each_layer": row.each_layer,
            "source": row.source,
        }
        for row in fit.parts
    ]
    title = f"The peak, {format_bytes(fit.peak)}: {place}"
    yield Table(title, _PARTS, parts, most=len(parts))
    rows = [row for share in fit.modules[:_MODULES] for row in _module_rows(share)]
    if rows:
        deepest = fit.depths[-1].layers
        more = f", extrapolated to {fit.layers}" if fit.layers != deepest else ""
        title = f"Live bytes by module, {plural(deepest, 'layer')}{more}"
        yield Table(title, _SHARES, rows, most=len(rows))


def _module_rows(share: ModuleShare) -> Iterator[dict[str, object]]:
    """Equal layers are one row; those that make the peak are opened."""
    least, most = (format_bytes(size) for size in share.each)
    size_text = least if least == most else f"{least} to {most}"
    yield {
        "name": share.name,
        "times": f"× {share.times}" if share.layers else "",
        "bytes": share.bytes,
        "each": size_text if share.times > 1 else "",
        "note": _NOTE if share.makes_peak else "",
    }
    for part in share.parts if share.makes_peak else ():
        note = _NOTE if part.makes_peak else ""
        name = f"\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}{part.name}"
        yield {"name": name, "times": "", "bytes": part.bytes, "each": "", "note": note}


_NOTE = "at the peak"


def _picture(fit: Fit) -> str:
    """The parts stacked on one bar, and the capacity, as SVG."""
    most = max(fit.peak, fit.capacity)
    x, boxes = 0.0, []
    for place, row in enumerate(fit.parts):
        width = _WIDE * row.bytes / most
        words = f"{row.part} {format_bytes(row.bytes)}"
        colour = _pale(KERNEL_COLOURS[place % len(KERNEL_COLOURS)])
        boxes.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
        if len(words) * _LETTER + 8 < width:
            boxes.append(f'<text x="{x + 5:.1f}" y="17" fill="{CELL_INK}">{escape(words)}</text>')
        x += width
    at = min(_WIDE * fit.capacity / most, _WIDE - 1)
    label = f"capacity {format_bytes(fit.capacity)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{_HIGH}" '
        f'font-family="sans-serif" font-size="11">'
        f'<rect width="{at:.1f}" height="{_BAR}" fill="#e9ecef"/>{"".join(boxes)}'
        f'<path d="M{at:.1f} 0V{_BAR + 6}" stroke="#c2402f" stroke-width="2" '
        f'stroke-dasharray="4 3"/><text x="{at:.1f}" y="{_HIGH - 3}" text-anchor="end" '
        f'fill="#757b84">{escape(label)}</text></svg>'
    )


def _pale(colour: str) -> str:
    parts = (int(colour[n : n + 2], 16) for n in (1, 3, 5))
    mixed = (round(part + (255 - part) * _PALE) for part in parts)
    return "#" + "".join(f"{part:02x}" for part in mixed)


SHOWN = {
    "Fit": Shown(
        document=build_document, text=lambda fit: write_text(build_document(fit)), plot=plot
    )
}
