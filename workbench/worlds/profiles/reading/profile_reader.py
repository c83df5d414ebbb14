"""A trace of torch.profiler, or a folder of ranks, as a profile."""

from __future__ import annotations

import difflib
import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.number_text import number_text, plural
from workbench.report.table import Table
from workbench.settings import Settings
from workbench.specs import Catalogue, Gpu
from workbench.worlds.profiles.changes.changes import find_changes
from workbench.worlds.profiles.reading.device_times import Busy
from workbench.worlds.profiles.reading.device_work import DeviceWork, Trace, read_module
from workbench.worlds.profiles.reading.event_batches import EventBatches
from workbench.worlds.profiles.reading.event_columns import Events, TraceColumns
from workbench.worlds.profiles.reading.trace_stream import TraceStream
from workbench.worlds.profiles.reading.work_tables import build_tables
from workbench.worlds.profiles.rows.profile_rows import (
    PROFILE_TABLES,
    ProfileHeader,
    ProfileOpportunity,
    RankTime,
)
from workbench.worlds.profiles.rows.run_profile import RunProfile

_NAMES = ("*.json", "*.json.gz")
_MOST_FILES = 1_024
_MOST_UNKNOWN = 1_000_000  # events without any category; each of torch's has one


def read_profile(path: str | PathLike[str], gpu: str | None = None) -> RunProfile:
    """Read a trace or a folder of ranks; see `workbench.read_profile`."""
    where = Path(check_file_path(path)).expanduser()
    if not where.is_dir():
        return _add_changes(RunProfile(*read_trace_file(where, gpu)[:2]))
    files = sorted(file for name in _NAMES for file in where.glob(name))[:_MOST_FILES]
    if not files:
        raise UsageError(
            f"The folder {where} has no trace (*.json, *.json.gz). Write one per rank with "
            "prof.export_chrome_trace(f'rank{rank}.json.gz') and read the folder."
        )
    parts, refused = [], []
    for file in files:
        try:
            parts.append(ReadRank(file.name, *read_trace_file(file, gpu)))
        except ArtifactError as error:
            refused.append(str(error))
    if not parts:
        raise ArtifactError(f"The folder {where} has no readable trace: {refused[0]}")
    return _add_changes(RunProfile(*join_ranks(where.name, parts, refused)))


def _add_changes(profile: RunProfile) -> RunProfile:
    """The profile with what to change in the program."""
    gpu = find_gpu(profile.gpu) if profile.gpu else None
    found = Table.of(ProfileOpportunity, find_changes(profile, gpu))
    return profile.with_tables(opportunities=found)


def read_trace_file(
    path: Path, gpu: str | None
) -> tuple[ProfileHeader, dict[str, Table[Any]], FileFacts]:
    """Header and tables of one file; raises `ArtifactError` for what is no trace of torch's."""
    read = _read_columns(path)
    columns, head = read.columns, read.head
    if not len(columns.device) and not len(columns.host):
        raise ArtifactError(explain_no_profile(path.name, read.batches, columns))
    on_cpu = not len(columns.device)
    trace = Trace.of(columns)
    if on_cpu:
        take_operators_as_work(trace)
    work = DeviceWork(trace)
    if not len(work):
        raise ArtifactError(f"{path.name} is damaged: none of its device events is usable.")
    spans = columns.host if on_cpu else work.events
    busy = Busy.of(spans["start"], spans.end)
    total = float(busy.end[-1] - busy.start[0])
    # the spans of a CPU hold compiling, too: what its operators took is their own time, which is
    # that of several threads
    busy_us = float(work.events["duration"].sum()) if on_cpu else busy.total
    counts = np.bincount(np.maximum(work.events["device"], 0).clip(0, 1 << 16))
    number = int(counts.argmax())
    device = find_device(head, None if on_cpu else number, gpu)
    several = tell_devices(head, np.flatnonzero(counts).tolist(), number)
    tables = build_tables(work, busy, None if on_cpu else device.gpu, on_cpu=on_cpu)
    header = ProfileHeader(
        source=path.name,
        device_name=device.name if not on_cpu else "CPU",
        gpu="" if device.gpu is None or on_cpu else device.gpu.name,
        gpu_title="" if device.gpu is None or on_cpu else device.gpu.title,
        on_cpu=on_cpu,
        total_us=total,
        busy_us=busy_us,
        idle_us=max(0.0, total - busy_us),
        events=read.batches.events,
        unlaunched=len(work.unlaunched),
        unlaunched_us=float(work.unlaunched["duration"].sum()),
        missing=tuple(list_missing(work, on_cpu)),
        notes=tuple(list_notes(read.batches, work, on_cpu))
        + (() if on_cpu else tuple(filter(None, (device.note, several)))),
        has_shapes=any("Input Dims" in said for said in trace.details),
        has_stacks=len(columns.python) > 0,
        has_memory=len(columns.memory) > 0,
        likely_gpu="" if on_cpu else device.likely,
    )
    return header, tables, read_facts(head, float(busy.start[0]))


@dataclass(frozen=True)
class _Read:
    columns: TraceColumns
    batches: EventBatches

    @property
    def head(self) -> Mapping[str, Any]:
        return self.batches.head


def _read_columns(path: Path) -> _Read:
    columns = TraceColumns()
    with TraceStream(path) as stream, pause_collector():
        batches = EventBatches(stream)
        for batch in batches:
            columns.add(batch)
            if batches.events > _MOST_UNKNOWN and not any(columns.categories):
                batches.given_up = "none of its events has a category"
                break
    return _Read(columns, batches)


@contextmanager
def pause_collector() -> Iterator[None]:
    """Let Python look for no cycles: events have none, and it goes through all of each batch."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def take_operators_as_work(trace: Trace) -> None:
    """Put the operators of the CPU in the place of a device's work: each its own launch.

    Their duration is their own time, without that of the operators that they call.
    """
    columns = trace.columns
    nest = trace.nest(columns.host)
    row = nest.order[columns.host["kind"][nest.order] == 0]
    duration = columns.host["duration"][nest.order]
    inside = np.zeros(len(nest))
    np.add.at(inside, nest.parent[nest.parent >= 0], duration[nest.parent >= 0])
    own = np.empty(len(nest))
    own[nest.order] = np.maximum(duration - inside, 0.0)
    host = columns.host.take(row)
    number = np.arange(1, len(row) + 1)
    shared = {name: host[name] for name in ("name", "start", "thread", "external")}
    nothing = np.full(len(row), -1)
    columns.runtime = Events(
        columns.runtime.names,
        _made={**shared, "duration": host["duration"], "correlation": number},
    )
    columns.device = Events(
        columns.device.names,
        _made={
            **shared,
            "duration": own[row],
            "kind": np.full(len(row), 3),
            "correlation": number,
            "device": nothing,
            "stream": host["thread"],
            "detail": nothing,
        },
    )


_JAX = ("/device:", "/host:CPU")
_OVERLAP = 1.0  # µs: clocks of a device are no finer
_ACTIVITIES = "pass activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"


def explain_no_profile(name: str, batches: EventBatches, columns: TraceColumns) -> str:
    """Why nothing of a trace can be shown."""
    events = batches.events
    how = "Write one with torch.profiler: prof.export_chrome_trace('trace.json.gz')."
    if any(process.startswith(_JAX) for process in columns.processes):
        return f"{name} is a JAX (XLA) trace, not a torch.profiler trace. {how}"
    if not events and batches.given_up:
        return f"{name} has no complete events: {batches.given_up}. Get the file again."
    if not events:
        return f"{name} is a trace without events. {how}"
    if len(columns.runtime) or len(columns.python):
        return (
            f"{name} has no GPU work and no CPU operators, only driver or Python calls. "
            f"{_ACTIVITIES[:1].upper()}{_ACTIVITIES[1:]}."
        )
    if columns.damaged == events and columns.categories:
        return (
            f"{name} is damaged: fields of its {plural(events, 'event')}, such as their times, "
            "cannot be read. Get the file again."
        )
    known = [category for category, _ in columns.categories.most_common(4) if category]
    of = f" (its categories: {', '.join(known)})" if known else ""
    if batches.given_up:
        return f"{name} is not a torch.profiler trace: {batches.given_up}. {how}"
    return f"{name} has {plural(events, 'event')}, but none from torch.profiler{of}. {how}"


def list_missing(work: DeviceWork, on_cpu: bool) -> Iterator[tuple[str, str]]:
    """What the trace lacks, each with the option of torch.profiler.profile that records it."""
    columns = work.trace.columns
    if on_cpu:
        yield "No GPU work", _ACTIVITIES
    elif not work.is_launched:
        yield "No launches, so kernels have no operators or source lines", _ACTIVITIES
    if not any("Input Dims" in said for said in work.trace.details):
        yield "No operator shapes", "pass record_shapes=True"
    if not len(columns.python):
        yield "No source lines or modules", "pass with_stack=True, with_modules=True"
    elif not any(read_module(text) for text in work.trace.texts):
        yield "No modules", "pass with_modules=True"
    if not len(columns.memory):
        yield "No memory", "pass profile_memory=True"


def list_notes(batches: EventBatches, work: DeviceWork, on_cpu: bool) -> Iterator[str]:
    """What is wrong with the trace, and what was left out of it."""
    columns = work.trace.columns
    if batches.given_up:
        yield (
            f"The trace was not read to its end: {batches.given_up}. The first "
            f"{plural(batches.events, 'event')} are shown."
        )
    if damaged := batches.damaged + columns.damaged:
        yield f"Omitted: {plural(damaged, 'unreadable event')}."
    if columns.reversed:
        yield f"Omitted: {plural(columns.reversed, 'event')} with a negative duration."
    if overlapping := 0 if on_cpu else count_overlaps(work):
        yield (
            f"{plural(overlapping, 'kernel')} started before the previous one on the same stream "
            "ended. Busy time counts the overlap once."
        )
    if len(work.unlaunched):
        time = float(work.unlaunched["duration"].sum())
        yield (
            f"{plural(len(work.unlaunched), 'kernel or copy', 'kernels and copies')} not counted "
            f"({number_text(time * 1e-6, 'seconds')}): launched before the profile, or their "
            "launch was not recorded."
        )


def count_overlaps(work: DeviceWork) -> int:
    """How many kernels begin before the one before them on their stream has ended."""
    events = work.events
    order = np.lexsort((events["start"], events["stream"], events["device"]))
    same = np.ones(max(0, len(order) - 1), bool)
    for name in ("stream", "device"):
        column = events[name][order]
        same &= column[1:] == column[:-1]
    start, end = events["start"][order], events.end[order]
    return int((same & (start[1:] < end[:-1] - _OVERLAP)).sum())


_VIRTUAL = re.compile(r" VF$")  # a virtual function: the whole device, as a guest sees it
_MEMORY = 0.1  # what a device reports is a little less than the vendor says


@dataclass(frozen=True)
class Device:
    """What a trace calls its device, the GPU that this is, and a remark.

    Where that is not known, `gpu` is None, and `likely` a name of `targets()` if one seems likely.
    """

    name: str
    gpu: Gpu | None
    note: str = ""
    likely: str = ""


def find_gpu(name: str) -> Gpu:
    """A GPU by its name in `targets()`."""
    return Catalogue.of_user(Settings.from_environment().data_folder)[name]


def find_device(head: Mapping[str, Any], number: int | None, asked: str | None) -> Device:
    """The device of a trace; `number` is that of its kernels, `asked` a name of `targets()`.

    Raises `UsageError` where `asked` is no GPU; the message names the likeliest.
    """
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    said = _find_properties(head, number)
    name = said.get("name") if isinstance(said.get("name"), str) else ""
    own = _find_by_name(gpus, str(name))
    likely = own or _guess(gpus, said, str(name))
    if asked is not None:
        taken = _take_asked(gpus, asked, str(name), likely)
        # what another GPU has is no part of the one that was asked for
        return taken if taken.note else replace(taken, note=_tell_part(said, taken.gpu))
    if own is not None:
        return Device(str(name), own, _tell_part(said, own))
    what = f"The GPU {name!r} is unknown" if name else "The trace has no GPU name"
    hint = f"; it is likely the {likely.title}: pass gpu={likely.name!r}" if likely else ""
    note = f"{what}{hint or ': pass gpu=, a name from wb.targets()'}."
    return Device(str(name), None, note, likely.name if likely else "")


def _tell_part(said: Mapping[str, Any], gpu: Gpu | None) -> str:
    """That the trace is of a part of a GPU, as MIG gives it; bounds are those of the whole."""
    sms = said.get("numSms")
    if gpu is None or not isinstance(sms, int) or not 0 < sms < gpu.sms:
        return ""
    return (
        f"The traced device has {sms} of the {gpu.title}'s {gpu.sms} multiprocessors (MIG). "
        "Bounds and modelled times assume the whole GPU and are too short."
    )


def tell_devices(head: Mapping[str, Any], numbers: Sequence[int], number: int) -> str:
    """That there is work of several devices, and whose bounds are told; empty for one."""
    if len(numbers) < 2:
        return ""
    names = [str(_find_properties(head, each).get("name") or "no name") for each in numbers]
    listed = ", ".join(f"{each}: {name}" for each, name in zip(numbers, names, strict=True))
    which = f"; bounds and modelled times are for device {number}" if len(set(names)) > 1 else ""
    return (
        f"The trace covers {len(numbers)} devices ({listed}): busy means that at least one was "
        f"active{which}."
    )


def _take_asked(gpus: Catalogue, asked: str, name: str, likely: Gpu | None) -> Device:
    if asked not in gpus:
        hint = f" The trace is likely from gpu={likely.name!r}." if likely else ""
        try:
            gpus[asked]
        except UsageError as error:
            raise UsageError(f"{error}{hint}") from None
    gpu = gpus[asked]
    is_other = likely is not None and likely.name != gpu.name
    note = (
        f"The trace says {name or likely.title!r}, but gpu={asked!r} is used."
        if is_other and likely
        else ""
    )
    return Device(name, gpu, note)


def _find_properties(head: Mapping[str, Any], number: int | None) -> Mapping[str, Any]:
    """What the trace says of its device of this number, else of its first."""
    listed = head.get("deviceProperties")
    known = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    own = [each for each in known if each.get("id") == number]
    return next(iter(own or known), {})


def _find_by_name(gpus: Catalogue, name: str) -> Gpu | None:
    wanted = _VIRTUAL.sub("", name).casefold()
    return next((gpu for gpu in gpus if gpu.device_name.casefold() == wanted), None)


def _guess(gpus: Catalogue, said: Mapping[str, Any], name: str) -> Gpu | None:
    """The GPU with as many multiprocessors and as much memory, else of the most similar name."""
    memory, sms = said.get("totalGlobalMem"), said.get("numSms")
    if isinstance(memory, int | float) and isinstance(sms, int):
        fits = [
            gpu for gpu in gpus if gpu.sms == sms and abs(memory / gpu.dram_bytes - 1) < _MEMORY
        ]
        if len(fits) == 1:
            return fits[0]
    names = {gpu.device_name: gpu for gpu in gpus}
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75) if name else []
    return names[near[0]] if near else None


_RANK = re.compile(r"rank[_-]?(\d{1,6})", re.IGNORECASE)
_IDS = {
    "kernels": ("id",),
    "modules": ("id", "parent"),
    "gaps": ("before", "after"),
    "collectives": ("kernel",),
    "events": ("kernel", "module"),
}
"""Columns with ids, which get the rank before them: several ranks have a `k0`."""
_MOST_SHOWN = 5


@dataclass(frozen=True)
class FileFacts:
    """What a file says of its place among others; `began_us` is by its machine's clock."""

    rank: int | None
    ranks: int | None
    began_us: float


@dataclass(frozen=True)
class ReadRank:
    """One file of a folder, read."""

    file: str
    header: ProfileHeader
    tables: Mapping[str, Table[Any]]
    facts: FileFacts


def read_facts(head: Mapping[str, Any], origin: float) -> FileFacts:
    """The rank that a trace names, how many there are, and when its device began."""
    said = head.get("distributedInfo")
    known = said if isinstance(said, dict) else {}
    base = head.get("baseTimeNanoseconds")
    began = origin + (base / 1e3 if isinstance(base, int | float) else 0.0)
    rank, ranks = known.get("rank"), known.get("world_size")
    return FileFacts(
        rank if type(rank) is int and rank >= 0 else None,
        ranks if type(ranks) is int and ranks > 0 else None,
        began,
    )


def join_ranks(
    folder: str, parts: Sequence[ReadRank], refused: Sequence[str]
) -> tuple[ProfileHeader, dict[str, Table[Any]]]:
    """Header and tables of a folder; the header has the times of the rank that took longest."""
    ranks = number_ranks(parts)
    # a file of the CPU alone says nothing of the devices that others ran on
    slowest = max(parts, key=lambda part: (not part.header.on_cpu, part.header.total_us))
    tables: dict[str, Table[Any]] = {
        name: join_tables(kind, name, parts, ranks)
        for name, kind in PROFILE_TABLES.items()
        if name != "ranks"
    }
    tables["ranks"] = Table.of(
        RankTime,
        [
            RankTime(
                rank=rank,
                file=part.file,
                device_name=part.header.device_name,
                total_us=part.header.total_us,
                busy_us=part.header.busy_us,
                idle_us=part.header.idle_us,
                collectives_us=sum(row.exposed_us for row in part.tables["collectives"]),
                began_us=part.facts.began_us,
            )
            for rank, part in zip(ranks, parts, strict=True)
        ],
    )
    notes = [*list_mixed(parts, ranks), *refused[:_MOST_SHOWN]]
    notes += [note for part in parts for note in part.header.notes]
    longest = ranks[list(parts).index(slowest)]
    which = (
        "the longest"
        if len({part.header.on_cpu for part in parts}) == 1
        else ("the longest with GPU work")
    )
    first = f"{plural(len(parts), 'rank')}; times are from rank {longest}, {which}."
    header = replace(
        slowest.header,
        source=folder,
        rank=longest,
        events=sum(part.header.events for part in parts),
        notes=(*([first] if len(parts) > 1 else []), *dict.fromkeys(notes)),
    )
    return header, tables


def number_ranks(parts: Sequence[ReadRank]) -> list[int]:
    """The rank of each file: what it says itself, else its name, else its place."""
    for find in (lambda part: part.facts.rank, find_rank_in_name):
        found = [find(part) for part in parts]
        if None not in found and len(set(found)) == len(parts):
            return [int(rank) for rank in found if rank is not None]
    return list(range(len(parts)))


def find_rank_in_name(part: ReadRank) -> int | None:
    """The rank in the name of a file; None without one."""
    found = _RANK.search(part.file)
    return int(found[1]) if found else None


def join_tables(
    kind: type, name: str, parts: Sequence[ReadRank], ranks: Sequence[int]
) -> Table[Any]:
    """One table of all ranks."""
    columns: dict[str, list[Any]] = {}
    for rank, part in zip(ranks, parts, strict=True):
        table = part.tables[name]
        for column, values in table.columns.items():
            own = list(values)
            if column == "rank":
                own = [rank] * len(own)
            elif column in _IDS.get(name, ()):
                own = [f"r{rank}.{value}" if value else value for value in own]
            columns.setdefault(column, []).extend(own)
    return Table(kind, columns, sum(part.tables[name].omitted for part in parts))


def list_mixed(parts: Sequence[ReadRank], ranks: Sequence[int]) -> Iterator[str]:
    """What does not fit together in a folder, in sentences."""
    devices = Counter(part.header.device_name for part in parts)
    if len(devices) > 1:
        shown = ", ".join(name or "an unnamed one" for name, _ in devices.most_common())
        yield f"The folder mixes traces of several devices: {shown}."
    sizes = {part.facts.ranks for part in parts} - {None}
    if len(sizes) > 1:
        yield f"The folder mixes runs with {', '.join(map(str, sorted(map(int, sizes))))} ranks."  # type: ignore[arg-type]
    elif sizes and (wanted := sizes.pop()) is not None and wanted != len(parts):
        yield f"The run had {wanted} ranks, the folder has {len(parts)}."
    said = [part.facts.rank for part in parts if part.facts.rank is not None]
    if len(set(said)) < len(said):
        yield "Several files have the same rank, so ranks are numbered by file name."
    begins = [(part.facts.began_us, part.header.total_us) for part in parts]
    if len(parts) > 1 and not is_together(begins):
        yield (
            "Times of different ranks are not comparable: their clocks differ, or they did not run "
            "at the same time."
        )


def is_together(spans: Sequence[tuple[float, float]]) -> bool:
    """Whether there is a moment at which all ran, by their own clocks."""
    return max(began for began, _ in spans) <= min(began + took for began, took in spans)
