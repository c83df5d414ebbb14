"""A record as a trace that Perfetto and chrome://tracing open: a process for each rank or log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.analysis.cluster.streams import Streams, find_streams
from workbench.errors import UsageError
from workbench.report import Phase, Report
from workbench.report.atomic import write_saved_file
from workbench.report.profile.run_profile import RunProfile

Event = dict[str, Any]


class _Lanes:
    """Numbers processes and their threads, which the format wants, and names each once."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {}
        self._threads: dict[tuple[str, str], int] = {}

    def place(self, process: str, thread: str) -> Iterator[Event]:
        """What names the two where they are new, then the event that has their numbers."""
        is_new = process not in self._processes
        pid = self._processes.setdefault(process, len(self._processes) + 1)
        if is_new:
            yield _name("process_name", process, pid)
        is_new = (process, thread) not in self._threads
        tid = self._threads.setdefault((process, thread), len(self._threads) + 1)
        if is_new:
            yield _name("thread_name", thread, pid, tid)
        yield {"pid": pid, "tid": tid}


def _name(kind: str, name: str, pid: int, tid: int = 0) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _run(
    lanes: _Lanes, at: tuple[str, str], name: str, start_us: float, us: float,
    kind: str, args: Mapping[str, Any],
) -> Iterator[Event]:  # fmt: skip
    *named, where = lanes.place(*at)
    yield from named
    values = {key: value for key, value in args.items() if value not in (None, "", ())}
    yield {**where, "ph": "X", "name": name, "cat": kind, "ts": start_us, "dur": us, "args": values}


def write(record: Report | RunProfile, path: str) -> None:
    """Write the trace; raises `UsageError` where the record has no times."""
    if isinstance(record, RunProfile):
        what, events = "timeline", list(_list_profiled(record))
    else:
        what, events = "timed phases", list(_list_compiled(record))
    if not events:
        raise UsageError(f"This record has no {what}: there is nothing to draw over time.")
    _begin_at_zero(events)
    trace = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": _tell_source(record)}
    with write_saved_file(path) as file:
        file.write(json.dumps(trace, separators=(",", ":")).encode())


def _begin_at_zero(events: Sequence[Event]) -> None:
    """Move all events so that none is before 0, which Perfetto drops without a word."""
    first = min(0.0, *(event["ts"] for event in events if "ts" in event))
    for event in events:
        if "ts" in event:
            event["ts"] -= first


def _tell_source(record: Report | RunProfile) -> dict[str, str]:
    if isinstance(record, RunProfile):
        left = record.tables["events"].omitted + record.tables["host"].omitted
        notes = [*record.header.notes, *([f"{left} events are left out."] if left else [])]
        if len(record.tables["ranks"]) > 1:
            notes.append("Ranks stand by the clocks of their machines, which may differ.")
        return {"source": "torch.profiler, measured", "notes": " ".join(notes)}
    return {"source": "phases of the compilation, measured; one call, by a model"}


def _list_compiled(report: Report) -> Iterator[Event]:
    """The phases on the lanes of their threads, by log; what one call of a rank takes, modelled."""
    lanes = _Lanes()
    for phase in report.phases:
        args = {"compile": phase.compile_id, "self_s": phase.self_s}
        at = _find_log(phase)
        yield from _run(
            lanes, at, phase.name, phase.start_s * 1e6, phase.duration_s * 1e6, "phase", args
        )
    streams = find_streams(report) if len(report.collectives) else None
    if streams is not None:
        yield from _list_streams(lanes, report, streams)


def _find_log(phase: Phase) -> tuple[str, str]:
    """The log and the thread: threads of several logs are called `rank 1, main`."""
    log, _, thread = phase.thread.rpartition(", ")
    return f"compilation, {log}" if log else "compilation", thread


def _list_streams(lanes: _Lanes, report: Report, streams: Streams) -> Iterator[Event]:
    kernels = {kernel.id: kernel for kernel in report.kernels}
    sent = {row.id: row for row in report.collectives}
    process = f"one call on {report.request.target}, by a model"
    for span in streams.spans:
        row = sent.get(span.collective or "")
        kernel = kernels.get(span.kernel or "")
        names = {
            "kernel": kernel.name if kernel else "",
            "collective": row.op if row else "",
            "wait": f"waits for {row.op}" if row else "waits",
        }
        lane = (
            (row.mesh_dims or f"group {row.group}")
            if span.kind == "collective" and row
            else span.lane
        )
        args = {
            "kernel": span.kernel,
            "collective": span.collective,
            "bytes": row.bytes if row else None,
            "lines": ", ".join(kernel.lines) if kernel else "",
        }
        yield from _run(
            lanes, (process, lane), names[span.kind], span.start_us, span.us, span.kind, args
        )


def _list_profiled(profile: RunProfile) -> Iterator[Event]:
    """What the devices and the threads of the CPU did; ranks by the clocks of their machines."""
    lanes = _Lanes()
    began = {row.rank: row.began_us for row in profile.tables["ranks"]}
    first = min(began.values(), default=0.0)
    names = {row.id: row.name for row in profile.tables["kernels"]}
    for row in profile.tables["events"]:
        at = _name_rank(row.rank, "device", row.device), f"stream {row.stream}"
        start = row.start_us + began.get(row.rank, first) - first
        args = {"row": row.kernel, "module": row.module, "line": row.line}
        name = names.get(row.kernel, row.kernel)
        yield from _run(lanes, at, name, start, row.duration_us, "device", args)
    for row in profile.tables["host"]:
        at = _name_rank(row.rank, "CPU", None), f"thread {row.thread}"
        start = row.start_us + began.get(row.rank, first) - first
        yield from _run(lanes, at, row.name, start, row.duration_us, row.kind, {})


def _name_rank(rank: int | None, what: str, number: int | None) -> str:
    of = "" if rank is None else f"rank {rank}, "
    return f"{of}{what}" if number is None else f"{of}{what} {number}"
