"""Answers as HTML that needs no style sheet: a check, a file, rivals, cures, round trips."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from os import PathLike
from typing import Any

from workbench.analysis.opportunities.rehearsed_cures import Rehearsal
from workbench.analysis.sweep.recommendation import Recommendation
from workbench.artifacts.inspect.artifact_report import TITLES, WRONG, ArtifactReport
from workbench.artifacts.preflight.check import SIGNS, Check
from workbench.number_text import number_text
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.file_rows import NOT_CHECKED
from workbench.report.rivals import Rivals
from workbench.report.roundtrip import RoundTrip
from workbench.views.answers.alternatives_text import (
    left,
    list_codes,
    summarize_rehearsal,
    summarize_rivals,
)
from workbench.views.answers.roundtrip_text import list_ways
from workbench.views.static_html import render
from workbench.views.static_html.grids import (
    SUMMARIES,
    Grid,
    Limits,
    grid,
    write_frame_call,
)
from workbench.views.tables.column import Column
from workbench.views.tables.columns import spell_out_columns
from workbench.views.words.units import ABSENT

_CHECK = (
    Column("", "sign"),
    Column("requirement", "name"),
    Column("needed", "needed", "code"),
    Column("found", "found", "code"),
    Column("", "advice", "prose"),
)
_CURES = (
    Column("", "id", "code"),
    Column("place", "place", "code"),
    Column("cure", "kind"),
    Column("", "verdict"),
    Column("left", "left"),
    Column("", "text", "prose"),
    Column("compared", "checked", "prose"),
)
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
_SIZES = ("size", "bytes", "B")
_WIDE = 40
_NUMBERS = ("constants", "exports", "imports", "registers")


def show_check(check: Check) -> str:
    """The requirements as a table, with what to do about those that are not met."""
    rows = [
        {**asdict(row), "sign": SIGNS.get(row.verdict, SIGNS[NOT_CHECKED])}
        for row in check.requirements
    ]
    title = f"{os.path.basename(check.path)}: {check.verdict}"
    return _answer(title, _CHECK, rows)


def show_why_recompiled(why: WhyRecompiled) -> str:
    """The sentence and a table of what differs."""
    differing = [row for row in why.rows if row.same is not True]
    columns = (Column("", "graph"), Column("part", "part"), Column(why.a, "a"), Column(why.b, "b"))
    rows = [
        {"graph": row.graph, "part": row.part}
        | {
            side: ABSENT if value is None else value.partition("\n")[0]
            for side, value in (("a", row.a), ("b", row.b))
        }
        for row in differing
        if row.part != "graph" or None in (row.a, row.b)  # the sentence says where they part
    ]
    return _answer("", columns, rows, text=why.text)


def show_recommendation(choice: Recommendation) -> str:
    """The sentence and the code."""
    return _answer("", (), [], sentence=choice.sentence, text=choice.code)


def show_rehearsal(trial: Rehearsal) -> str:
    """The sentence, the cures as a table, and the patch of those that were tried together."""
    rows = [
        {**asdict(cure), "place": f"{cure.file}:{cure.line}", "left": left(cure)}
        for cure in trial.cures
    ]
    return _answer("", _CURES, rows, sentence=summarize_rehearsal(trial), text=trial.patch())


def show_rivals(rivals: Rivals) -> str:
    """The sentence and both codes, each whole, beside each other."""
    shown = {"sentence": summarize_rivals(rivals), "codes": list_codes(rivals)}
    return render.summary("rivals", lambda _: {"found": shown})


def show_roundtrip(trip: RoundTrip) -> str:
    """The ways side by side and the phases of each that ran."""
    ways = list_ways(trip.ways, trip.phases)
    columns = spell_out_columns("ways", ways)
    return render.summary(
        "trip",
        lambda limits: {
            "name": trip.name,
            "size": trip.size,
            "ok": trip.ok,
            "notes": trip.notes,
            "ways": grid("", columns, ways, limits),
            "trips": [way for way in ways if way["ran"]],
        },
    )


def show_progress(title: str, lines: Iterable[tuple[str, float, bool]]) -> str:
    """How far something is: its title, then each phase with its seconds and whether it runs."""
    columns = (Column("", "sign"), Column("", "name"), Column("", "seconds", "s"))
    rows = [
        {"sign": "▸" if running else "✓", "name": name, "seconds": seconds}
        for name, seconds, running in lines
    ]
    return _answer("", columns, rows, sentence=title)


def render_plain_page(record: object, path: str | PathLike[str] | None) -> str:
    """A page with the text of a record that has no page of its own."""
    shown = {"sentence": "", "text": repr(record), "grid": None}
    return render.page(type(record).__name__, render.body("answer", lambda _: shown), path)


def _answer(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Any]],
    *,
    sentence: str = "",
    text: str = "",
) -> str:
    made = grid(title, columns, rows, SUMMARIES[0], most=len(rows))
    return render.summary("answer", lambda _: {"sentence": sentence, "text": text, "grid": made})


def show_inspected(report: ArtifactReport) -> str:
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
    running = sorted({row.name for row in report.names if row.level in WRONG})
    if running and not report.is_own:  # who signed a file knows what is in it
        yield f"reading its pickles would import what runs commands: {', '.join(running)}"


def _table(report: ArtifactReport, name: str, limits: Limits) -> Grid | None:
    records: Sequence[Any] = getattr(report, name)
    if not records:
        return None
    hidden = {"direction"} if name in ("inputs", "outputs") else set()
    if len(report.models) == 1:
        hidden.add("model")
    rows = [_worded(asdict(row)) for row in records]
    columns = [
        _column(field.name, max(len(str(row[field.name])) for row in rows))
        for field in fields(records[0])
        if field.name not in hidden
    ]
    return grid(_TITLES[name], columns, rows, limits, call=write_frame_call("", name))


def _column(name: str, longest: int) -> Column:
    title = name.replace("_", " ")
    if name in _SIZES:
        return Column(title, name, "B")
    if name == "why" or (name == "library" and longest > _WIDE):
        return Column(title, name, "prose")  # a line of its own: other columns stay in sight
    return Column(title, name, "number" if name in _NUMBERS else "code")


def _worded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with yes and no, with addresses as such, and a sign before what is wrong."""
    words = {True: "yes", False: "no"}
    cells = {k: words[v] if isinstance(v, bool) else v for k, v in row.items()}
    if isinstance(cells.get("address"), int):
        cells["address"] = f"{cells['address']:#x}"
    return {k: f"⚠ {v}" if v in WRONG else v for k, v in cells.items()}


def _sources(report: ArtifactReport, limits: Limits) -> Iterator[dict[str, Any]]:
    left = limits.texts
    for text in report.texts:
        kept = text.text if text.text is not None and len(text.text) <= left else None
        left -= len(kept or "")
        facts = f"{text.language}, {number_text(text.size, 'bytes')}"
        yield {"name": text.name, "facts": facts, "text": kept}
