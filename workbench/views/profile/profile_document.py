"""A profile as the one document that its widget and its page show; plain JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.profile_changes.profiled_kernels import read_kernels
from workbench.report.profile.profile_rows import ProfileOpportunity
from workbench.report.profile.run_profile import RunProfile
from workbench.views.profile.profile_boxes import draw_boxes
from workbench.views.profile.profile_cards import make_cards, tie
from workbench.views.profile.profile_sentence import answer, facts
from workbench.views.profile.profile_tables import list_tables
from workbench.views.profile.profile_tracks import draw_gaps, draw_tracks
from workbench.views.profile.profile_words import KernelWords, name_kernels
from workbench.views.session.session_lists import Shown
from workbench.views.wire.codec import no_collection
from workbench.views.wire.profile_messages import ProfileChange, ProfileDocument
from workbench.views.wire.report_messages import Cell
from workbench.views.wire.session_messages import SessionTable

VERSION = 1
MOST_ROWS = 1000
"""Rows of a table in a view: the costliest; `.frame()` has all."""


def document(profile: RunProfile, variable: str = "p") -> ProfileDocument:
    """Everything that a view shows of a profile."""
    profile = profile.of_own_rank()
    with no_collection():
        kernels = read_kernels(profile, None)
        words = name_kernels(kernels, profile.tables["collectives"])
        changes = list(profile.tables["opportunities"])
        drawn = draw_tracks(profile)
        boxes, of_module = draw_boxes(profile, words)
        return {
            "version": VERSION,
            "variable": variable,
            "title": profile.header.source or "Profile",
            "gpu": profile.header.gpu_title or profile.header.device_name or "GPU not known",
            "facts": facts(profile),
            "notes": list(profile.notes),
            "answer": answer(profile, kernels, changes),
            "span_ns": round((drawn.end_us - drawn.begin_us) * 1e3),
            "names": drawn.names,
            "tracks": drawn.tracks,
            "omitted": drawn.omitted,
            "gaps": draw_gaps(profile, drawn.begin_us),
            "boxes": boxes,
            "boxes_us": round(sum(box["last_us"] for box in boxes if box["parent"] < 0), 3),
            "kinds": [each.kind for each in words.values()],
            "titles": [each.title for each in words.values()],
            "changes": [_change(at, each, words) for at, each in enumerate(changes)],
            "tables": [_table(each) for each in list_tables(profile, words)],
            "cards": make_cards(profile, kernels, words, changes),
            "ties": tie(profile, words, changes, of_module),
        }


def _change(
    place: int, change: ProfileOpportunity, words: Mapping[str, KernelWords]
) -> ProfileChange:
    ties = [words[kernel].row for kernel in change.kernels]
    return {
        "id": f"changes:{place}",
        "title": change.title,
        "why": change.why,
        "code": change.code,
        "least_us": change.least_us,
        "most_us": change.most_us,
        "of_us": change.of_us,
        "ties": [*ties, *(f"gaps:{at}" for at in change.gaps)],
    }


def _table(own: Shown) -> SessionTable:
    """The columns that have a value in any row, and the costliest rows in their order."""
    places = range(len(own.rows))
    kept = sorted(sorted(places, key=lambda at: -(own.rows[at][own.cost] or 0.0))[:MOST_ROWS])
    shown = [own.rows[at] for at in kept]
    columns = [c for c in own.columns if any(c.value(row) not in (None, "") for row in shown)]
    used = {name for c in columns for name in (c.shows, c.full) if name} | _DRAWN
    return {
        "id": own.name,
        "title": own.title,
        "none": own.none,
        "columns": [column.spec() for column in columns],
        "rows": [_row(own.rows[at], f"{own.name}:{at}", used) for at in kept],
        "more": len(places) - len(kept) + own.omitted,
    }


_DRAWN = {"kind", "bound_us", "modelled_us", "model_error"}
"""What is drawn of a kernel besides its columns."""


def _row(row: Mapping[str, Any], id: str, used: Sequence[str] | set[str]) -> dict[str, Cell]:
    return {**{key: _cell(row[key]) for key in used if key in row}, "row": id}


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return value if value is None or isinstance(value, str | int) else str(value)
