"""A record as a trace that Perfetto and chrome://tracing open: a process for each rank or log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.analysis.collectives.streams import Streams, find_streams
from workbench.errors import UsageError
from workbench.report import Phase, Report
from workbench.report.atomic import write_saved_file

Event = dict[str, Any]


class Lanes:
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


def list_run(
    lanes: Lanes,
    at: tuple[str, str],
    name: str,
    start_us: float,
    us: float,
    kind: str,
    args: Mapping[str, Any],
) -> Iterator[Event]:
    """One run `at` a process and a thread, in µs, after what names these where they are new."""
    *named, where = lanes.place(*at)
    yield from named
    values = {key: value for key, value in args.items() if value not in (None, "", ())}
    yield {**where, "ph": "X", "name": name, "cat": kind, "ts": start_us, "dur": us, "args": values}


def write(report: Report, path: str) -> None:
    """Write the trace of a report; raises `UsageError` where it has no times."""
    source = {"source": "compile phases, measured; one call, modelled"}
    write_events(_list_compiled(report), source, "timed phases", path)


def write_events(events: Iterable[Event], source: Mapping[str, str], what: str, path: str) -> None:
    """Write a trace and its `source`; raises `UsageError` where there is none of `what`."""
    listed = list(events)
    if not listed:
        raise UsageError(f"This report has no {what} to draw over time.")
    _begin_at_zero(listed)
    trace = {"traceEvents": listed, "displayTimeUnit": "ms", "otherData": source}
    with write_saved_file(path) as file:
        file.write(json.dumps(trace, separators=(",", ":")).encode())


def _begin_at_zero(events: Sequence[Event]) -> None:
    """Move all events so that none is before 0, which Perfetto drops without a word."""
    first = min(0.0, *(event["ts"] for event in events if "ts" in event))
    for event in events:
        if "ts" in event:
            event["ts"] -= first


def _list_compiled(report: Report) -> Iterator[Event]:
    """The phases on the lanes of their threads, by log; what one call of a rank takes, modelled."""
    lanes = Lanes()
    for phase in report.phases:
        args = {"compile": phase.compile_id, "self_s": phase.self_s}
        at = _find_log(phase)
        yield from list_run(
            lanes, at, phase.name, phase.start_s * 1e6, phase.duration_s * 1e6, "phase", args
        )
    streams = find_streams(report) if len(report.collectives) else None
    if streams is not None:
        yield from _list_streams(lanes, report, streams)


def _find_log(phase: Phase) -> tuple[str, str]:
    """The log and the thread: threads of several logs are called `rank 1, main`."""
    log, _, thread = phase.thread.rpartition(", ")
    return f"compilation, {log}" if log else "compilation", thread


def _list_streams(lanes: Lanes, report: Report, streams: Streams) -> Iterator[Event]:
    kernels = {kernel.id: kernel for kernel in report.kernels}
    sent = {row.id: row for row in report.collectives}
    process = f"one call on {report.request.target}, modelled"
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
        yield from list_run(
            lanes, (process, lane), names[span.kind], span.start_us, span.us, span.kind, args
        )
