"""Short answers as HTML that needs no style sheet: a check, cache keys, rivals, a round trip."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from typing import Any

from workbench.analysis.opportunities.rehearsed_cures import Rehearsal
from workbench.analysis.sweep.recommendation import Recommendation
from workbench.artifacts.preflight.check import SIGNS, Check
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.rivals import Rivals
from workbench.report.roundtrip import RoundTrip
from workbench.views.answers.rehearsal_text import left
from workbench.views.answers.rehearsal_text import sentence as of_rehearsal
from workbench.views.answers.rivals_answer import codes, sentence
from workbench.views.answers.roundtrip_text import list_ways
from workbench.views.static_html import render
from workbench.views.static_html.grids import SUMMARIES, grid
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


def show_check(check: Check) -> str:
    """The requirements as a table, with what to do about those that are not met."""
    rows = [{**asdict(row), "sign": SIGNS[row.verdict]} for row in check.requirements]
    title = f"{os.path.basename(check.path)} {check.verdict}"
    return _answer(title, _CHECK, rows)


def show_why_recompiled(why: WhyRecompiled) -> str:
    """The sentence and a table of what differs."""
    differing = [row for row in why.rows if row.same is not True]
    columns = (Column("", "graph"), Column("part", "part"), Column(why.a, "a"), Column(why.b, "b"))
    rows = [
        {"graph": row.graph, "part": row.part}
        | {side: ABSENT if value is None else value for side, value in (("a", row.a), ("b", row.b))}
        for row in differing
    ]
    return _answer("", columns, rows, text=why.text)


def show_recommendation(found: Recommendation) -> str:
    """The sentence and the code."""
    return _answer("", (), [], sentence=found.sentence, text=found.code)


def show_rehearsal(found: Rehearsal) -> str:
    """The sentence, the cures as a table, and the patch of those that were tried together."""
    rows = [
        {**asdict(cure), "place": f"{cure.file}:{cure.line}", "left": left(cure)}
        for cure in found.cures
    ]
    return _answer("", _CURES, rows, sentence=of_rehearsal(found), text=found.patch())


def show_rivals(found: Rivals) -> str:
    """The sentence and both codes, each whole, beside each other."""
    shown = {"sentence": sentence(found), "codes": codes(found)}
    return render.summary("rivals", lambda _: {"found": shown})


def show_roundtrip(trip: RoundTrip) -> str:
    """The ways side by side and the phases of each that ran."""
    found = list_ways(trip.ways, trip.phases)
    columns = spell_out_columns("ways", found)
    return render.summary(
        "trip",
        lambda limits: {
            "name": trip.name,
            "size": trip.size,
            "ok": trip.ok,
            "notes": trip.notes,
            "ways": grid("", columns, found, limits),
            "trips": [way for way in found if way["ran"]],
        },
    )


def progress(title: str, lines: Iterable[tuple[str, float, bool]]) -> str:
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
