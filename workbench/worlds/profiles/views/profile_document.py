"""A profile as the one document that its widget and its page show; plain JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.number_text import number_text
from workbench.views.tables.column import pack_table
from workbench.views.wire.codec import no_collection, shorten
from workbench.worlds.profiles.changes.profiled_kernels import read_kernels
from workbench.worlds.profiles.rows.profile_rows import ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.messages import ProfileChange, ProfileDocument
from workbench.worlds.profiles.views.profile_boxes import draw_boxes
from workbench.worlds.profiles.views.profile_cards import make_cards, tie
from workbench.worlds.profiles.views.profile_sentence import answer, facts
from workbench.worlds.profiles.views.profile_tracks import draw_gaps, draw_tracks
from workbench.worlds.profiles.views.profile_words import KernelWords, name_kernels
from workbench.worlds.profiles.views.shown_tables import list_tables

VERSION = 1
_LEAST_BESIDE = 0.001  # of the time: kernels overlap by what the clocks cannot tell
MOST_ROWS = 1000
"""Rows of a table in a view: the costliest; `.frame()` has all."""
_DRAWN = ("kind", "bound_us", "modelled_us", "modelled_error")
"""What is drawn of a kernel besides its columns."""


def document(profile: RunProfile, variable: str = "p", *, opens: bool = False) -> ProfileDocument:
    """Everything that a view shows of a profile; `opens` says whether its records can be opened."""
    profile = profile.of_own_rank()
    with no_collection():
        kernels = read_kernels(profile, None)
        words = name_kernels(kernels, profile.tables["collectives"])
        changes = list(profile.tables["opportunities"])
        drawn = draw_tracks(profile)
        boxes, of_box = draw_boxes(profile, words)
        return {
            "version": VERSION,
            "variable": variable,
            "title": profile.header.source or "Profile",
            "gpu": profile.header.gpu_title or profile.header.device_name or "unknown GPU",
            "facts": facts(profile),
            "warnings": list(profile.header.notes),
            "notes": [f"{what}: {how}." for what, how in profile.header.missing],
            "answer": answer(profile, kernels, changes),
            "span_ns": round((drawn.end_us - drawn.begin_us) * 1e3),
            "names": drawn.names,
            "tracks": drawn.tracks,
            "omitted": drawn.omitted,
            "gaps": draw_gaps(profile, drawn.begin_us),
            "boxes": boxes,
            "boxes_us": shorten(sum(box["last_us"] for box in boxes if box["parent"] < 0)),
            "boxes_words": _describe_width(profile),
            "kinds": [each.kind for each in words.values()],
            "titles": [each.title for each in words.values()],
            "records": list(profile.records) if opens else [],
            "changes": [_change(at, each, words) for at, each in enumerate(changes)],
            "tables": [pack_table(each, MOST_ROWS, _DRAWN) for each in list_tables(profile, words)],
            "cards": make_cards(profile, kernels, words, changes),
            "ties": tie(profile, words, changes, of_box),
        }


def _describe_width(profile: RunProfile) -> str:
    """What the width of the modules is: more than the busy time where streams work side by side."""
    times = sum(row.time_us for row in profile.tables["kernels"])
    beside = times - profile.busy_us
    whole = f"width is device time, {number_text(times * 1e-6, 'seconds')}"
    if profile.header.on_cpu:
        return f"width is CPU operator time, {number_text(times * 1e-6, 'seconds')}"
    if beside < _LEAST_BESIDE * times:
        return whole
    return f"{whole}: {number_text(beside * 1e-6, 'seconds')} of it overlaps other work"


def _change(
    place: int, change: ProfileOpportunity, words: Mapping[str, KernelWords]
) -> ProfileChange:
    ties = [words[kernel].row for kernel in change.kernels if kernel in words]
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
