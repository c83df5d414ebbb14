"""Threads and streams of a profile as columns for its timeline, and the gaps that run through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from workbench.number_text import number_text, plural
from workbench.worlds.profiles.changes.profiled_kernels import Stream, group_by_stream
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, HostSpan
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.messages import ProfileGap, ProfileLook, ProfileTrack

MOST_EVENTS, MOST_LEVELS, MOST_GAPS = 100_000, 6, 2_000
"""Events in a view, levels of a thread, gaps: the longest are shown."""
_LOOKS: Mapping[str, ProfileLook] = {
    "module": "module",
    "operator": "operator",
    "annotation": "annotation",
    "region": "annotation",
    "synchronisation": "wait",
}
_SHORT = 5  # digits of a thread's number that fit beside the word
_LOOK_NUMBERS = {look: number for number, look in enumerate(get_args(ProfileLook))}
_NS = 1e3
_OVERLAP = 1_000  # ns: clocks of a device are no finer


@dataclass(frozen=True)
class Drawn:
    """The tracks, the names on those of threads, what was left out, begin and end in µs."""

    tracks: list[ProfileTrack]
    names: list[str]
    omitted: str
    begin_us: float
    end_us: float


def draw_tracks(profile: RunProfile) -> Drawn:
    """Threads first, then streams; where there are too many events the shortest are left out."""
    events, spans = list(profile.tables["events"]), list(profile.tables["host"])
    spans = [span for span in spans if span.depth < MOST_LEVELS]
    kept_events, kept_spans = _keep_longest(events, spans)
    left_out = len(events) + len(spans) - len(kept_events) - len(kept_spans)
    kept: list[DeviceEvent | HostSpan] = [*kept_events, *kept_spans]
    begin = min((each.start_us for each in kept), default=0.0)
    end = max((each.start_us + each.duration_us for each in kept), default=0.0)
    rows = {row.id: place for place, row in enumerate(profile.tables["kernels"])}
    names: dict[str, int] = {}
    threads: dict[tuple[int | None, str], list[HostSpan]] = {}
    for span in sorted(kept_spans, key=lambda span: (span.start_us, -span.duration_us)):
        threads.setdefault((span.rank, span.thread), []).append(span)
    threads = dict(sorted(threads.items(), key=lambda each: str(each[0])))
    streams = sorted(group_by_stream(kept_events).items(), key=lambda each: str(each[0]))
    places = {key: place for place, key in enumerate(threads)}
    tracks = [_draw_thread(key, own, begin, names) for key, own in threads.items()]
    tracks += [_draw_stream(key, own, begin, rows, places) for key, own in streams]
    if profile.header.on_cpu:
        for track in tracks[len(threads) :]:
            track["title"] = "Operators"
    omitted = f"The {plural(left_out, 'shortest event')} are not drawn." if left_out else ""
    return Drawn(tracks, list(names), omitted, begin, end)


def _keep_longest(
    events: list[DeviceEvent], spans: list[HostSpan]
) -> tuple[list[DeviceEvent], list[HostSpan]]:
    """At most `MOST_EVENTS`, those of the device first: they are what is looked for."""
    if len(events) > MOST_EVENTS:
        events = sorted(events, key=lambda each: -each.duration_us)[:MOST_EVENTS]
    room = max(0, MOST_EVENTS - len(events))
    if len(spans) > room:
        spans = sorted(spans, key=lambda each: -each.duration_us)[:room]
    return events, spans


def _draw_thread(
    key: tuple[int | None, str], spans: Sequence[HostSpan], begin: float, names: dict[str, int]
) -> ProfileTrack:
    rank, thread = key
    return _make_track(
        id=f"thread:{rank}:{thread}",
        title=_of_rank("CPU", rank),
        note=thread if len(thread) > _SHORT else f"thread {thread}".strip(),
        rows=spans,
        begin=begin,
        of=[names.setdefault(span.name, len(names)) for span in spans],
        looks=[_LOOK_NUMBERS[_LOOKS.get(span.kind, "runtime")] for span in spans],
    )


def _draw_stream(
    key: Stream,
    events: Sequence[DeviceEvent],
    begin: float,
    rows: Mapping[str, int],
    threads: Mapping[Any, int],
) -> ProfileTrack:
    rank, device, stream = key
    track = _make_track(
        id=f"stream:{rank}:{device}:{stream}",
        title=_of_rank(f"Stream {stream}", rank),
        note=plural(len(events), "call"),
        rows=events,
        begin=begin,
        of=[rows[event.kernel] for event in events],
        looks=[],
        overlap=_OVERLAP,
    )
    track["is_device"] = True
    track["launched"] = [_find_delay(event) for event in events]
    track["launched_from"] = [threads.get((rank, event.thread), -1) for event in events]
    return track


def _find_delay(event: DeviceEvent) -> int:
    """Nanoseconds from the launch to the beginning, -1 where that is not known."""
    if event.launch_us is None or event.launch_us > event.start_us:
        return -1
    return round((event.start_us - event.launch_us) * _NS)


def _of_rank(title: str, rank: int | None) -> str:
    return title if rank is None else f"{title}, rank {rank}"


def _make_track(
    *,
    id: str,
    title: str,
    note: str,
    rows: Sequence[Any],
    begin: float,
    of: list[int],
    looks: list[int],
    overlap: int = 0,
) -> ProfileTrack:
    starts = [round((row.start_us - begin) * _NS) for row in rows]
    lasts = [max(0, round(row.duration_us * _NS)) for row in rows]
    return {
        "id": id,
        "title": title,
        "note": note,
        "is_device": False,
        "begins": [start - before for start, before in zip(starts, [0, *starts], strict=False)],
        "lasts": lasts,
        "levels": _find_levels(starts, lasts, overlap),
        "of": of,
        "looks": looks,
        "launched": [],
        "launched_from": [],
    }


def _find_levels(starts: Sequence[int], lasts: Sequence[int], overlap: int) -> list[int]:
    """The first level of each in which nothing else is going on, but for so many nanoseconds.

    What is on one level ends in the order in which it begins: the view looks it up by its end.
    """
    free_at: list[int] = []
    levels: list[int] = []
    for start, last in zip(starts, lasts, strict=True):
        end = start + last
        fits = (n for n, free in enumerate(free_at) if free - overlap <= start and free <= end)
        level = next(fits, len(free_at))
        free_at[level : level + 1] = [end]
        levels.append(level)
    return levels


def draw_gaps(profile: RunProfile, begin_us: float) -> list[ProfileGap]:
    """The longest gaps, in the order of time; each has the id of its row."""
    rows = sorted(enumerate(profile.tables["gaps"]), key=lambda each: -each[1].duration_us)
    return [
        {
            "id": f"gaps:{place}",
            "begin": round((gap.start_us - begin_us) * _NS),
            "last": round(gap.duration_us * _NS),
            "title": f"idle {number_text(gap.duration_us * 1e-6, 'seconds')}",
            "words": gap.why or gap.cause,
        }
        for place, gap in sorted(rows[:MOST_GAPS], key=lambda each: each[1].start_us)
    ]
