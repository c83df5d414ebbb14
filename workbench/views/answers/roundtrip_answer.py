"""A round trip as a document: its ways as rows, a waterfall of phases for each."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.number_text import difference_text, format_bytes, format_seconds, number_text
from workbench.report.file_rows import RoundTripPhase, RoundTripWay
from workbench.report.roundtrip import MissedBudget, RoundTrip
from workbench.views.kit.blocks import Document, Sentence, Table, Waterfall, write_text
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column
from workbench.views.tables.columns import spell_out_columns
from workbench.views.wire.artifact_messages import TripPhase, TripWay
from workbench.views.wire.codec import convert_row
from workbench.views.wire.table_messages import Tone

TITLES = {
    "eager": "eager",
    "compile_cold": "torch.compile, empty cache",
    "compile_warm": "torch.compile, warm cache",
    "torch": "torch's loader",
    "ours": "ours",
    "cpp": "C++ client",
}
WORDS = {
    "start": "start the process",
    "torch": "import torch",
    "imports": "other imports",
    "inputs": "make the inputs",
    "model": "make the module",
    "read": "read, check, trust",
    "unpack": "unzip, verify",
    "rebuild": "rebuild objects",
    "dlopen": "dlopen",
    "guards": "build guards",
    "load": "load",
    "compile": "torch.compile",
    "first_call": "first call",
}
"""What each phase is, in a few words."""


def title_of(way: str) -> str:
    """A way as people read it."""
    return TITLES.get(way, way)


def words_of(phase: str) -> str:
    """What a phase is, in a few words."""
    return WORDS.get(phase, phase)


def compare_with_eager(way: RoundTripWay) -> str:
    """How the outputs of a way compare with eager's, in a few words."""
    if way.ok is None:
        return "not compared" if way.max_abs_error is None else "not all checked"
    if way.bit_exact:
        return "bit-exact"
    if way.max_abs_error is None or way.max_abs_error == float("inf"):
        return "differs"
    return f"{'within' if way.ok else 'differs by'} {difference_text(way.max_abs_error)}"


def _pick_tone(way: RoundTripWay) -> Tone:
    if not way.ran:
        return "fallback"
    return "plain" if way.ok is None else "captured" if way.ok else "break"


def list_ways(rows: Iterable[RoundTripWay], of_phases: Iterable[RoundTripPhase]) -> list[TripWay]:
    """The ways of a round trip, each with its phases."""
    phases: dict[str, list[TripPhase]] = {}
    for row in of_phases:
        id, title = f"Z:{row.way}:{row.phase}", words_of(row.phase)
        phase = convert_row(TripPhase, row, id=id, name=row.phase, title=title)
        phases.setdefault(row.way, []).append(phase)
    return [
        convert_row(
            TripWay,
            way,
            id=f"Z:{way.way}",
            name=way.way,
            title=title_of(way.way),
            against=compare_with_eager(way) if way.ran else "did not run",
            tone=_pick_tone(way),
            phases=phases.get(way.way, []),
        )
        for way in rows
    ]


def build_fall(way: TripWay) -> Waterfall:
    """The phases of one way of a round trip, each where it begins."""
    first = f"{format_seconds(way['total_s'])} from process start to the first result"
    steady = way["steady_s"]
    then = "" if steady is None else f", then {format_seconds(steady)} a call"
    return Waterfall(
        f"{way['title']}: {first}{then}",
        [(phase["title"], phase["start_s"], phase["duration_s"]) for phase in way["phases"]],
        way["total_s"] or 1,
        is_open=way["name"] == "ours",
    )


def describe_missed_budget(missed: MissedBudget) -> str:
    """One budget that was missed, and by how much."""
    name, value, limit = missed.name, missed.value, missed.limit
    words = words_of(name).replace("_", " ")
    times = f", {number_text(value / limit, 'amount')}× the budget" if limit else ""
    return (
        f"{words} ({name}): {format_seconds(value)}, {format_seconds(value - limit)} over the "
        f"budget of {format_seconds(limit)}{times}"
    )


def build_document(trip: RoundTrip) -> Document:
    """The ways side by side, how they were timed, the phases of each that ran."""
    ways = list_ways(trip.ways, trip.phases)
    least = {way.way: way.steady_least_s for way in trip.ways}
    rows = [{**way, "steady_least_s": least[way["name"]]} for way in ways]
    columns = list(spell_out_columns("ways", ways))
    place = next(n for n, column in enumerate(columns) if column.shows == "steady_s")
    columns.insert(place, Column("Least", "steady_least_s", "s"))
    notes = list(trip.notes)
    if sum(way.ran for way in trip.ways) > 1:
        notes.append("Each start-up mode ran once, in its own process: no verdict on speed.")
    return Document(
        f"{trip.name}: round trip of {format_bytes(trip.size)}, {_verdict(trip)}",
        [
            Table("", columns, rows),
            *map(Sentence, notes),
            *(build_fall(way) for way in ways if way["ran"]),
        ],
    )


def _verdict(trip: RoundTrip) -> str:
    if trip.ok:
        return "ok"
    is_wrong = any(leaf.checked and not leaf.ok for leaf in trip.leaves)
    has_run = all(way.ran for way in trip.ways if way.way == "ours")
    return "NOT ok" if is_wrong or not trip.leaves or not has_run else "not all checked"


def build_missed_budget(missed: MissedBudget) -> Document:
    """The sentence."""
    return Document("", [Sentence(f"{describe_missed_budget(missed)}.")])


SHOWN = {
    "MissedBudget": Shown(document=build_missed_budget, text=describe_missed_budget),
    "RoundTrip": Shown(document=build_document, text=lambda trip: write_text(build_document(trip))),
}
