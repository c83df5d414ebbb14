"""An `ArtifactReport` as HTML: what is wrong first, then tables, then sources; no script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from workbench.artifacts.inspect.artifact_report import TITLES, ArtifactReport
from workbench.artifacts.inspect.artifact_rows import LEVELS
from workbench.number_text import number_text
from workbench.views.static_html import render
from workbench.views.static_html.grids import Grid, Limits, grid, write_frame_call
from workbench.views.tables.column import Column

_BYTES = 300_000  # a notebook keeps it: there is no other view; the accessors have all
_LEVELS = tuple(
    Limits(rows=rows, others=rows, lines=rows, context=0, letters=200, texts=texts)
    for rows, texts in ((1000, 150_000), (400, 100_000), (120, 50_000), (20, 10_000))
)
_TITLES = {
    "models": "Models",
    "variants": "Variants",
    "inputs": "Inputs",
    "outputs": "Outputs",
    "needs": "Needs of a machine",
    "outside": "Objects from outside",
    "guards": "Guards, kept and dropped",
    "constants": "Constants",
    "names": "Names that pickles import",
    "pickled": "Pickles",
    "kernels": "Kernels of the GPU",
    "members": "Members",
    "libraries": "Libraries",
    "sections": "Sections of the libraries",
    "symbols": "Symbols of the libraries",
}
_OPEN = ("models", "variants", "inputs", "outputs", "needs", "outside")
_SIZES = ("size", "B")
_NUMBERS = ("constants", "exports", "imports", "registers")


def fragment(report: ArtifactReport) -> str:
    """The first of ever shorter versions that is not too long for a notebook."""

    def view(limits: Limits) -> Mapping[str, Any]:
        tables = ((name, _table(report, name, limits)) for name in _TITLES)
        return {
            "name": os.path.basename(report.path),
            "facts": [TITLES[report.kind], number_text(report.size, "bytes"), report.signature],
            "digest": report.digest or "digest not computed: wb.inspect(path, verify=True)",
            "warnings": list(_warnings(report)),
            "notes": report.notes,
            "tables": [(made, name in _OPEN) for name, made in tables if made is not None],
            "sources": list(_sources(report, limits)),
        }

    return render.summary("inspected", view, limit=_BYTES, levels=_LEVELS)


def _warnings(report: ArtifactReport) -> Iterator[str]:
    yield from (f"damaged: {name}" for name in report.damaged)
    running = sorted({row.name for row in report.names if row.level == LEVELS[0]})
    if running:
        yield f"reading its pickles would import what runs commands: {', '.join(running)}"


def _table(report: ArtifactReport, name: str, limits: Limits) -> Grid | None:
    found: Sequence[Any] = getattr(report, name)
    if not found:
        return None
    hidden = {"direction"} if name in ("inputs", "outputs") else set()
    if len(report.models) == 1:
        hidden.add("model")
    columns = [_column(field.name) for field in fields(found[0]) if field.name not in hidden]
    rows = [_worded(asdict(row)) for row in found]
    return grid(_TITLES[name], columns, rows, limits, call=write_frame_call("", name))


def _column(name: str) -> Column:
    title = name.replace("_", " ")
    if name in _SIZES:
        return Column(title, name, "B")
    return Column(title, name, "number" if name in _NUMBERS else "code")


def _worded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with yes and no, with addresses as such, and a sign before what is wrong."""
    words = {True: "yes", False: "no"}
    found = {k: words[v] if isinstance(v, bool) else v for k, v in row.items()}
    if isinstance(found.get("address"), int):
        found["address"] = f"{found['address']:#x}"
    return {k: f"⚠ {v}" if v in ("damaged", LEVELS[0]) else v for k, v in found.items()}


def _sources(report: ArtifactReport, limits: Limits) -> Iterator[dict[str, Any]]:
    left = limits.texts
    for text in report.texts:
        kept = text.text if text.text is not None and len(text.text) <= left else None
        left -= len(kept or "")
        facts = f"{text.language}, {number_text(text.size, 'bytes')}"
        yield {"name": text.name, "facts": facts, "text": kept}
