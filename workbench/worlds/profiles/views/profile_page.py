"""A profile as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.quantities.quantities import Quantity
from workbench.errors import UsageError
from workbench.report.table import Table
from workbench.report.texts import HIDDEN
from workbench.views.kit.blocks import Block, Document, Items, Sentence
from workbench.views.kit.blocks import Table as TableBlock
from workbench.views.kit.shown import Shown
from workbench.views.wire.codec import SMALL, pack
from workbench.worlds.profiles.changes.profiled_kernels import read_kernels
from workbench.worlds.profiles.matches.profile_difference import ProfileDiff, compare_profiles
from workbench.worlds.profiles.matches.profiled_report import add_profile, add_report
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.difference_document import document_of_two, list_changes
from workbench.worlds.profiles.views.profile_answer import frame, sentences, text
from workbench.worlds.profiles.views.profile_document import document
from workbench.worlds.profiles.views.profile_sentence import facts
from workbench.worlds.profiles.views.profile_words import name_kernels
from workbench.worlds.profiles.views.shown_tables import list_tables

if TYPE_CHECKING:
    from anywidget import AnyWidget

_PATHS: Mapping[str, tuple[str, ...]] = {
    "kernels": ("kernel_file",),
    "lines": ("file",),
    "ranks": ("file",),
}
"""By table: the columns that hold paths."""
_ROOM = 1_500_000
"""Bytes of the records that a page carries."""


def build_blocks(profile: RunProfile, *, redact: bool = False) -> Document:
    """The sentence, the changes and the tables. `redact` drops paths of files."""
    if redact:
        profile = _hide_paths(profile)
    own = profile.of_own_rank()
    words = name_kernels(read_kernels(own, None), own.tables["collectives"])
    blocks: list[Block] = [
        Sentence(facts(own)),
        *(Sentence(note, "note") for note in own.notes),
    ]
    if changes := list(own.tables["opportunities"]):
        texts = [f"{change.title}: {change.why}" for change in changes]
        blocks.append(Items(texts, "What to change", ".opportunities"))
    tables = list_tables(own, words)
    blocks += [TableBlock(each.title, each.columns, each.rows, each.call) for each in tables]
    return Document(
        own.sentence,
        blocks,
        tab="Profile",
        pack=lambda place: _pack(profile, is_page=place.is_page, redact=redact),
    )


def _pack(profile: RunProfile, *, is_page: bool, redact: bool) -> bytes:
    """What the view shows; a page has the records with it."""
    from workbench.views.pages.packed_report import embed_record  # with all that draws a page

    records = profile.records if is_page and not redact else {}
    made = {id: embed_record(each, _ROOM // len(records)) for id, each in records.items()}
    opens = is_page and not redact
    return pack({"profile": document(profile, opens=opens), "records": made}, SMALL)


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


def build_blocks_of_two(diff: ProfileDiff) -> Document:
    """The sentence and the tables of two profiles."""
    blocks: list[Block] = [
        Sentence(" → ".join(diff.names)),
        *(Sentence(note, "note") for note in diff.notes),
    ]
    for own in list_changes(diff):
        columns = tuple(column for column in own.columns if column.key != "both")  # only drawn
        blocks.append(TableBlock(own.title, columns, own.rows, own.call))
    return Document(
        diff.sentence,
        blocks,
        tab="Two profiles",
        pack=lambda _: pack({"profile_diff": document_of_two(diff)}, SMALL),
    )


def _view(profile: RunProfile) -> AnyWidget:
    from workbench.worlds.profiles.views.profile_view import ProfileView

    return ProfileView(profile)


def _view_two(diff: ProfileDiff) -> AnyWidget:
    from workbench.worlds.profiles.views.profile_view import ProfileDiffView

    return ProfileDiffView(diff)


def _export(profile: RunProfile, path: str) -> None:
    from workbench.worlds.profiles.views.profile_trace import write

    write(profile, path)


_TIMELINES = ("events", "host", "memory")


def _compare(a: Any, b: Any, names: tuple[str, str] | None) -> ProfileDiff:
    if isinstance(a, RunProfile) and isinstance(b, RunProfile):
        return compare_profiles(a, b, names)
    raise UsageError(
        "A profile can be compared only with a profile. To add its times to a report, call "
        "report.with_profile(p)."
    )


def _list_totals(profile: RunProfile) -> Iterator[Quantity]:
    """How long the device took, worked and stood, in seconds."""
    for name in ("total", "busy", "idle"):
        yield Quantity(name, getattr(profile, f"{name}_us") / 1e6, "s", "measured")


def _list_plain_tables(record: RunProfile | ProfileDiff) -> dict[str, Table[Any]]:
    """All but those of a timeline."""
    return {name: table for name, table in record.tables.items() if name not in _TIMELINES}


SHOWN = {
    "ProfileDiff": Shown(document=build_blocks_of_two, view=_view_two, tables=_list_plain_tables),
    "RunProfile": Shown(
        document=build_blocks,
        text=text,
        sentences=sentences,
        frame=frame,
        view=_view,
        export=_export,
        numbers=_list_totals,
        tables=_list_plain_tables,
        compare=_compare,
        add_times=lambda profile, report: add_profile(report, profile),
        join=add_report,
    ),
}
