"""A trace of torch.profiler, or a folder of ranks, as a profile."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from workbench.analysis.profile_changes.changes import find_changes
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.profiles.device_match import find_device, find_gpu, tell_devices
from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork, Trace
from workbench.profiles.event_batches import EventBatches
from workbench.profiles.event_columns import Events, TraceColumns
from workbench.profiles.rank_folder import FileFacts, ReadRank, join_ranks, read_facts
from workbench.profiles.trace_notes import explain_no_profile, list_missing, list_notes
from workbench.profiles.trace_stream import TraceStream
from workbench.profiles.work_tables import build_tables
from workbench.report.profile.profile_rows import ProfileHeader, ProfileOpportunity
from workbench.report.profile.run_profile import RunProfile
from workbench.report.table import Table

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
            f"The folder {where} holds no trace (*.json, *.json.gz). Write one for each rank with "
            "prof.export_chrome_trace(f'rank{rank}.json.gz') and read the folder."
        )
    parts, refused = [], []
    for file in files:
        try:
            parts.append(ReadRank(file.name, *read_trace_file(file, gpu)))
        except ArtifactError as error:
            refused.append(str(error))
    if not parts:
        raise ArtifactError(f"The folder {where} holds no trace that can be read: {refused[0]}")
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
        raise ArtifactError(
            f"{path.name} is damaged: none of its events on the device can be used."
        )
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
            **shared, "duration": own[row], "kind": np.full(len(row), 3), "correlation": number,
            "device": nothing, "stream": host["thread"], "detail": nothing,
        },
    )  # fmt: skip
