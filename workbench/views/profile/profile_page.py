"""A profile as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from workbench.analysis.profile_changes.profiled_kernels import read_kernels
from workbench.analysis.profile_matches.profile_difference import ProfileDiff
from workbench.report.profile.run_profile import RunProfile
from workbench.report.table import Table
from workbench.report.texts import HIDDEN
from workbench.settings import Embed
from workbench.views.pages.interactive import interactive
from workbench.views.pages.report_page import embed_record
from workbench.views.profile.difference_document import document_of_two, list_changes
from workbench.views.profile.profile_document import document
from workbench.views.profile.profile_sentence import facts
from workbench.views.profile.profile_words import name_kernels
from workbench.views.profile.shown_tables import list_tables
from workbench.views.static_html import render
from workbench.views.static_html.grids import Limits, grid
from workbench.views.wire.codec import SMALL, pack

_PATHS: Mapping[str, tuple[str, ...]] = {
    "kernels": ("kernel_file",),
    "lines": ("file",),
    "ranks": ("file",),
}
"""By table: the columns that hold paths."""
_ROOM = 1_500_000
"""Bytes of the records that a page carries."""


def page(
    profile: RunProfile, path: str | PathLike[str] | None = None, *, redact: bool = False
) -> str:
    """A self-contained page; written to `path` when given. `redact` drops paths of files.

    Where no script runs, the sentence and the tables stand below one another as plain HTML.
    """
    shown = _hide_paths(profile) if redact else profile
    static = render.body("profile", partial(_view, shown))
    records = {} if redact else shown.records
    made = {id: embed_record(each, _ROOM // len(records)) for id, each in records.items()}
    packed = pack({"profile": document(shown, opens=not redact), "records": made}, SMALL)
    view = interactive(static, packed, kind="page", carries_bundle=True)
    return render.page("Profile", view, path, has_view=True)


def _hide_paths(profile: RunProfile) -> RunProfile:
    """The profile without folders: names of files, functions and modules stay."""
    hidden = {
        name: Table(table.row_type, {**table.columns, **_hide(table, columns)}, table.omitted)
        for name, columns in _PATHS.items()
        for table in (profile.tables[name],)
    }
    return profile.with_tables(**hidden)


def _hide(table: Table[Any], columns: tuple[str, ...]) -> dict[str, list[str]]:
    return {
        column: [HIDDEN if value else value for value in table.columns[column]]
        for column in columns
    }


def saved(profile: RunProfile, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    if embed == "none":
        return fragment(profile)
    record = pack({"profile": document(profile), "records": {}}, SMALL)
    return interactive(fragment(profile), record, kind="saved", carries_bundle=carries_bundle)


def fragment(profile: RunProfile) -> str:
    """The sentence and the tables, for a notebook; it needs no style sheet."""
    return render.summary("profile", partial(_view, profile))


def _view(profile: RunProfile, limits: Limits) -> dict[str, Any]:
    profile = profile.of_own_rank()
    words = name_kernels(read_kernels(profile, None), profile.tables["collectives"])
    return {
        "title": profile.sentence,
        "facts": facts(profile),
        "notes": profile.notes,
        "changes": list(profile.tables["opportunities"]),
        "grids": [
            (own.name, grid(own.title, own.columns, own.rows, limits, call=own.call))
            for own in list_tables(profile, words)
            if own.rows
        ],
    }


def page_of_two(diff: ProfileDiff, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page of two profiles; written to `path` when given."""
    static = render.body("profile", partial(_view_two, diff))
    view = interactive(static, _record_two(diff), kind="page", carries_bundle=True)
    return render.page("Two profiles", view, path, has_view=True)


def saved_of_two(diff: ProfileDiff, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    summary = fragment_of_two(diff)
    if embed == "none":
        return summary
    return interactive(summary, _record_two(diff), kind="saved", carries_bundle=carries_bundle)


def _record_two(diff: ProfileDiff) -> bytes:
    return pack({"profile_diff": document_of_two(diff)}, SMALL)


def fragment_of_two(diff: ProfileDiff) -> str:
    """The sentence and the tables of two profiles, for a notebook; it needs no style sheet."""
    return render.summary("profile", partial(_view_two, diff))


def _view_two(diff: ProfileDiff, limits: Limits) -> dict[str, Any]:
    grids = []
    for own in list_changes(diff):
        columns = tuple(column for column in own.columns if column.key != "both")  # only drawn
        if own.rows:
            grids.append((own.name, grid(own.title, columns, own.rows, limits, call=own.call)))
    return {
        "title": diff.sentence,
        "facts": " → ".join(diff.names),
        "notes": diff.notes,
        "changes": [],
        "grids": grids,
    }
