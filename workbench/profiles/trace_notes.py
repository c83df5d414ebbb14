"""What a trace lacks, and what is wrong with it, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.number_text import number_text, plural
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_batches import EventBatches
from workbench.profiles.event_columns import TraceColumns
from workbench.profiles.python_frames import read_module

_JAX = ("/device:", "/host:CPU")
_OVERLAP = 1.0  # µs: clocks of a device are no finer
_ACTIVITIES = "pass activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"


def explain_no_profile(name: str, batches: EventBatches, columns: TraceColumns) -> str:
    """Why nothing of a trace can be shown."""
    events = batches.events
    how = "Write one with torch.profiler: prof.export_chrome_trace('trace.json.gz')."
    if any(process.startswith(_JAX) for process in columns.processes):
        return f"{name} is a trace of JAX (XLA), not of torch.profiler. {how}"
    if not events and batches.given_up:
        return f"{name} has no whole event: {batches.given_up}. Get the file again."
    if not events:
        return f"{name} is a trace without a single event. {how}"
    if len(columns.runtime) or len(columns.python):
        return (
            f"{name} has neither work of a GPU nor operators of the CPU, only calls of the driver "
            f"or of Python. {_ACTIVITIES[:1].upper()}{_ACTIVITIES[1:]}."
        )
    if columns.damaged == events and columns.categories:
        return (
            f"{name} is damaged: what it says of its {plural(events, 'event')} cannot be read, "
            "such as their times. Get the file again."
        )
    known = [category for category, _ in columns.categories.most_common(4) if category]
    of = f" (its categories: {', '.join(known)})" if known else ""
    if batches.given_up:
        return f"{name} is no trace of torch.profiler: {batches.given_up}. {how}"
    return f"{name} holds {plural(events, 'event')}, none of them torch.profiler's{of}. {how}"


def list_missing(work: DeviceWork, on_cpu: bool) -> Iterator[tuple[str, str]]:
    """What the trace lacks, each with the option of torch.profiler.profile that records it."""
    columns = work.trace.columns
    if on_cpu:
        yield "No work of a GPU", _ACTIVITIES
    elif not work.is_launched:
        yield "No launches, so that no kernel has an operator or a line", _ACTIVITIES
    if not any("Input Dims" in said for said in work.trace.details):
        yield "No shapes of operators", "pass record_shapes=True"
    if not len(columns.python):
        yield "No lines and no modules", "pass with_stack=True, with_modules=True"
    elif not any(read_module(text) for text in work.trace.texts):
        yield "No modules", "pass with_modules=True"
    if not len(columns.memory):
        yield "No memory", "pass profile_memory=True"


def list_notes(batches: EventBatches, work: DeviceWork, on_cpu: bool) -> Iterator[str]:
    """What is wrong with the trace, and what was left out of it."""
    columns = work.trace.columns
    if batches.given_up:
        yield (
            f"The trace was not read to its end: {batches.given_up}. The "
            f"{plural(batches.events, 'event')} before that are shown."
        )
    if damaged := batches.damaged + columns.damaged:
        yield f"Events left out because they cannot be read: {damaged:,}."
    if columns.reversed:
        yield f"Events left out because they end before they begin: {columns.reversed:,}."
    if overlapping := 0 if on_cpu else count_overlaps(work):
        yield (
            "Kernels that begin before the one before on their stream has ended: "
            f"{overlapping:,}. What is busy counts such a time once."
        )
    if len(work.unlaunched):
        time = float(work.unlaunched["duration"].sum())
        yield (
            "Not counted, since they were launched before the profile began or their launch was "
            f"not recorded: {plural(len(work.unlaunched), 'kernel or copy', 'kernels and copies')},"
            f" {number_text(time * 1e-6, 'seconds')}."
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
