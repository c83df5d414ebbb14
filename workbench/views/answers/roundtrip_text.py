"""A round trip in words: its ways as rows, and as text with a waterfall of phases for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from workbench.number_text import difference_text, format_bytes, format_seconds, number_text
from workbench.report.file_rows import RoundTripPhase, RoundTripWay
from workbench.report.roundtrip import MissedBudget, RoundTrip
from workbench.views.blocks import Document, Sentence, Waterfall
from workbench.views.shown import Shown
from workbench.views.wire.artifact_messages import TripPhase, TripWay
from workbench.views.wire.codec import convert_row

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
_COLUMNS = {
    "imports": "imports_s",
    "load": "load_s",
    "first call": "first_call_s",
    "to first result": "first_result_s",
    "steady least": "steady_least_s",
    "steady p50": "steady_s",
    "steady p99": "steady_p99_s",
}
"""The times of a way, by title."""
_BAR = 40


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


def list_ways(rows: Iterable[RoundTripWay], of_phases: Iterable[RoundTripPhase]) -> list[TripWay]:
    """The ways of a round trip, each with its phases."""
    phases: dict[str, list[TripPhase]] = {}
    for row in of_phases:
        id, title = f"Z:{row.way}:{row.phase}", words_of(row.phase)
        made = convert_row(TripPhase, row, id=id, name=row.phase, title=title)
        phases.setdefault(row.way, []).append(made)
    return [
        convert_row(
            TripWay,
            way,
            id=f"Z:{way.way}",
            name=way.way,
            title=title_of(way.way),
            against=compare_with_eager(way) if way.ran else "did not run",
            phases=phases.get(way.way, []),
        )
        for way in rows
    ]


def build_fall(way: TripWay) -> Waterfall:
    """The phases of one way of a round trip, each where it begins."""
    first = f"{format_seconds(way['total_s'])} from the start of the process to the first result"
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
    times = f", {number_text(value / limit, 'amount')} times as long" if limit else ""
    return (
        f"{words} ({name}): {format_seconds(value)}, {format_seconds(value - limit)} over the "
        f"budget of {format_seconds(limit)}{times}"
    )


def text(trip: RoundTrip) -> str:
    """A table of the ways, and a waterfall for each that ran, drawn over its own time."""
    lines = [
        f"RoundTrip({trip.name}, {format_bytes(trip.size)}: {_verdict(trip)})",
        *_table(trip.ways),
        *(f"  note: {note}" for note in (*trip.notes, *_told_apart(trip))),
    ]
    for way in trip.ways:
        if way.ran:
            lines += ["", *_waterfall(trip, way)]
    return "\n".join(lines)


def _verdict(trip: RoundTrip) -> str:
    if trip.ok:
        return "ok"
    is_wrong = any(leaf.checked and not leaf.ok for leaf in trip.leaves)
    has_run = all(way.ran for way in trip.ways if way.way == "ours")
    return "NOT ok" if is_wrong or not trip.leaves or not has_run else "not all was checked"


def _table(ways: Sequence[RoundTripWay]) -> Iterator[str]:
    width = max(len(title_of(way.way)) for way in ways)
    head = "".join(f"{title:>17}" for title in _COLUMNS)
    yield f"  {'':<{width}}{head}{'calls':>9}{'peak RSS':>12}  against eager"
    for way in ways:
        if not way.ran:
            note = (way.note or "no reason recorded").strip().splitlines()[0]
            yield f"  {title_of(way.way):<{width}}  did not run: {note}"
            continue
        times = "".join(f"{format_seconds(getattr(way, name)):>17}" for name in _COLUMNS.values())
        counts = (
            f"{number_text(way.steady_calls, 'whole'):>9}{format_bytes(way.peak_rss_bytes):>12}"
        )
        yield f"  {title_of(way.way):<{width}}{times}{counts}  {compare_with_eager(way)}"


def _told_apart(trip: RoundTrip) -> Iterator[str]:
    """That the ways were not timed in turn, where there are several."""
    if sum(way.ran for way in trip.ways) > 1:
        yield "each way ran once, in a process of its own: no verdict on which is faster"


def _waterfall(trip: RoundTrip, way: RoundTripWay) -> Iterator[str]:
    phases = [phase for phase in trip.phases if phase.way == way.way]
    total = way.total_s or 1.0
    yield f"  {title_of(way.way)}: {format_seconds(way.total_s)} from the start of the process"
    for phase in phases:
        yield (
            f"    {words_of(phase.phase):<18}{format_seconds(phase.duration_s):>9} "
            f"|{bar(phase.start_s, phase.duration_s, total)}|"
        )
    yield f"    {'steady state':<18}{format_seconds(way.steady_s):>9}"


def bar(start_s: float, duration_s: float, total_s: float) -> str:
    """A stretch of a line of 40 letters, drawn where it begins."""
    start = min(_BAR - 1, int(start_s / total_s * _BAR))
    end = max(start + 1, round((start_s + duration_s) / total_s * _BAR))
    return f"{' ' * start}{'█' * (end - start)}{' ' * (_BAR - end)}"


def build_missed_budget(missed: MissedBudget) -> Document:
    """The sentence."""
    return Document("", [Sentence(f"{describe_missed_budget(missed)}.")])


SHOWN = {"MissedBudget": Shown(document=build_missed_budget, text=describe_missed_budget)}
