"""What the view of a GPU's profile shows: timeline, modules, tables, changes; that of two, too.

See `profile_document.py`. An id names a row of a table ("kernels:3", "gaps:0"), a box of the
modules ("boxes:7") or a change ("changes:1").
"""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.views.wire.overview_messages import Piece
from workbench.views.wire.report_messages import Embedded
from workbench.views.wire.table_messages import TableRows

ProfileKind = Literal[
    "product", "attention", "elementwise", "reduction", "copy", "collective", "other"
]
ProfileLook = Literal["module", "operator", "annotation", "runtime", "wait"]


class ProfileTrack(TypedDict):
    """Events of one thread or stream, in the order in which they begin.

    `begins` are nanoseconds after the beginning of the one before, that of the first after the
    beginning of the trace; `lasts` are nanoseconds. `levels` say how deep each is nested. On a
    thread `of` are places in the names of the document and `looks` in `THREAD_LOOKS`; on a stream
    `of` are rows of the kernels, and `launched` is how many nanoseconds before its beginning each
    was launched, -1 where that is not known, from the track at `launched_from`.
    """

    id: str
    title: str
    note: str
    is_device: bool
    begins: list[int]
    lasts: list[int]
    levels: list[int]
    of: list[int]
    looks: list[int]
    launched: list[int]
    launched_from: list[int]


class ProfileGap(TypedDict):
    """A time without work on the device, in nanoseconds of the trace; `words` say why."""

    id: str
    begin: int
    last: int
    title: str
    words: str


class ProfileBox(TypedDict):
    """A module, an operator or a kernel; its place and width are time on the device.

    `parent` is a place in the list, -1 for none; `begin_us` counts from the left edge.
    """

    id: str
    title: str
    words: str
    parent: int
    level: int
    begin_us: float
    last_us: float
    kind: ProfileKind | None
    row: str | None


class ProfileChange(TypedDict):
    """What to change: at least and at most what it saves, of the time that it concerns.

    `least_us` and `most_us` are null where nothing is known of the saving.
    """

    id: str
    title: str
    why: str
    code: str
    least_us: float | None
    most_us: float | None
    of_us: float
    ties: list[str]


class RecordFact(TypedDict):
    """What a record says of a kernel: "Line" and its text; the record of this key has it as `id`.

    `id` is null for what has no place of its own there.
    """

    label: str
    text: str
    of: str
    id: str | None


class ProfileCard(TypedDict):
    """What the inspector says of an id: caption, name, costs, why, what next, its full name.

    `record` has what a record says of it: lines of the program, what is fused, nodes of the graph.
    """

    caption: str
    title: str
    facts: list[tuple[str, str]]
    why: str
    next: str
    code: str
    record: list[RecordFact]
    full: str
    path: str


class ProfileChip(TypedDict):
    """One remarkable thing in a few words, and the table that it leads to."""

    table: str
    pieces: list[Piece]


class ProfileAnswer(TypedDict):
    """The sentence that matters, its chips, what stands behind *Details*."""

    sentence: list[Piece]
    chips: list[ProfileChip]
    details: list[tuple[str, str]]


class ProfileDocument(TypedDict):
    """A profile of a device.

    `facts` say of what it is and what it recorded, `warnings` what is wrong with it, `notes` what
    it lacks. `boxes_words` say what the width of the modules is. `span_ns` is how long
    the trace is. `kinds` are those of the rows of `kernels`, in their order. `records` are the keys
    of the records that can be opened from here. `ties` are what belongs to an id, each way.
    """

    version: int
    variable: str
    title: str
    gpu: str
    facts: str
    warnings: list[str]
    notes: list[str]
    answer: ProfileAnswer
    span_ns: int
    names: list[str]
    tracks: list[ProfileTrack]
    omitted: str
    gaps: list[ProfileGap]
    boxes: list[ProfileBox]
    boxes_us: float
    boxes_words: str
    kinds: list[ProfileKind]
    titles: list[str]
    records: list[str]
    changes: list[ProfileChange]
    tables: list[TableRows]
    cards: dict[str, ProfileCard]
    ties: dict[str, list[str]]


class EmbeddedProfile(TypedDict):
    """What a page or a saved output of a profile carries; a page has records by their keys, too."""

    profile: ProfileDocument
    records: dict[str, Embedded]


class ProfileDiffDocument(TypedDict):
    """Two profiles; `ties` are what belongs to a row, each way.

    A row has with its times the lengths of its bars: `a_part` and `b_part` of the longest time,
    `change_part` from -1 to 1 of the most that any row differs.
    """

    version: int
    variable: str
    names: list[str]
    sentence: str
    warnings: list[str]
    tables: list[TableRows]
    cards: dict[str, ProfileCard]
    ties: dict[str, list[str]]


class EmbeddedProfileDiff(TypedDict):
    """What a page or a saved output of two profiles carries."""

    profile_diff: ProfileDiffDocument
