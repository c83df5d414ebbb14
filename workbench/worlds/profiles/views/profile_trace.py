"""A profile as a trace that Perfetto and chrome://tracing open: a process for each rank."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.views.perfetto import Event, Lanes, list_run, write_events
from workbench.worlds.profiles.rows.run_profile import RunProfile


def write(profile: RunProfile, path: str) -> None:
    """Write the trace; raises `UsageError` where the profile has no timeline."""
    left = profile.tables["events"].omitted + profile.tables["host"].omitted
    notes = [*profile.header.notes, *([f"{left} events are not shown."] if left else [])]
    if len(profile.tables["ranks"]) > 1:
        notes.append("Each rank uses its machine's clock, and clocks may differ.")
    source = {"source": "torch.profiler, measured", "notes": " ".join(notes)}
    write_events(_list_events(profile), source, "timeline", path)


def _list_events(profile: RunProfile) -> Iterator[Event]:
    """What the devices and the threads of the CPU did; ranks by the clocks of their machines."""
    lanes = Lanes()
    began = {row.rank: row.began_us for row in profile.tables["ranks"]}
    first = min(began.values(), default=0.0)
    names = {row.id: row.name for row in profile.tables["kernels"]}
    for row in profile.tables["events"]:
        at = _name_rank(row.rank, "device", row.device), f"stream {row.stream}"
        start = row.start_us + began.get(row.rank, first) - first
        args = {"row": row.kernel, "module": row.module, "line": row.line}
        name = names.get(row.kernel, row.kernel)
        yield from list_run(lanes, at, name, start, row.duration_us, "device", args)
    for row in profile.tables["host"]:
        at = _name_rank(row.rank, "CPU", None), f"thread {row.thread}"
        start = row.start_us + began.get(row.rank, first) - first
        yield from list_run(lanes, at, row.name, start, row.duration_us, row.kind, {})


def _name_rank(rank: int | None, what: str, number: int | None) -> str:
    of = "" if rank is None else f"rank {rank}, "
    return f"{of}{what}" if number is None else f"{of}{what} {number}"
