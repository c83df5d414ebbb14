"""What the CPU did: steps and annotations, memory, and the spans of its threads for a timeline."""

from __future__ import annotations

import re

import numpy as np

from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_columns import Events, Numbers
from workbench.profiles.kernel_rows import name_thread
from workbench.profiles.nesting import Nest
from workbench.profiles.python_frames import read_module
from workbench.report.profile.profile_rows import HostSpan, MemoryEvent, ProfiledStep
from workbench.report.table import Table

MOST_STEPS, MOST_MEMORY, MOST_SPANS = 2_000, 20_000, 60_000
"""Rows that a record keeps; more are counted, not kept."""
_STEPS = (
    (re.compile(r"ProfilerStep"), "profiler step"),
    (re.compile(r"execute_|.*(prefill|decode|generation|extend)", re.IGNORECASE), "server step"),
    (re.compile(r"Optimizer\."), "optimizer"),
    (re.compile(r".*DataLoader"), "data loading"),
)
_MOST_RUNS = 20_000_000  # of kernels in all steps: annotations may lie within each other
_REGION = re.compile(r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction")
_NO_STEP = re.compile(
    r"nccl:|Torch-Compiled Region|## Call CompiledFxGraph|.*\(dynamo_timed\)$|[\w.]+_data: "
)
_WAIT = re.compile(r"Synchronize")
_CPU = 0  # the number of its kind of device in an event of memory


def list_steps(work: DeviceWork, origin: float) -> Table[ProfiledStep]:
    """A row for each annotation of the program, the longest where there are very many."""
    host, texts = work.trace.columns.host, work.trace.texts
    is_step = np.array([_NO_STEP.match(text) is None for text in texts], bool)
    own = np.flatnonzero((host["kind"] == 1) & np.append(is_step, False)[host["name"]])
    kept = own[np.argsort(-host["duration"][own], kind="stable")[:MOST_STEPS]]
    kept = kept[np.argsort(host["start"][kept], kind="stable")]
    known = np.flatnonzero(work.launch >= 0)
    order = known[np.argsort(work.launch_start[known], kind="stable")]
    launched = work.launch_start[order]
    begin, end = work.events["start"], work.events.end
    rows, left = [], _MOST_RUNS
    for row in kept.tolist():
        start, name = float(host["start"][row]), texts[host["name"][row]]
        first, last = np.searchsorted(launched, [start, start + float(host["duration"][row])])
        runs = order[first:last]
        left -= len(runs)
        if left < 0:
            break
        rows.append(
            ProfiledStep(
                name=name,
                kind=next((kind for sign, kind in _STEPS if sign.match(name)), "annotation"),
                start_us=start - origin,
                host_us=float(host["duration"][row]),
                device_us=Busy.of(begin[runs], end[runs]).total,
                kernels=len(runs),
                launches=len(np.unique(work.launch[runs])),
            )
        )
    return Table.of(ProfiledStep, rows, omitted=len(own) - len(rows))


def list_memory(work: DeviceWork, origin: float) -> Table[MemoryEvent]:
    """A row for each allocation and release; of very many the highest of each stretch."""
    memory = work.trace.columns.memory
    order = np.argsort(memory["start"], kind="stable")
    if len(order) > MOST_MEMORY:
        edges = np.linspace(0, len(order), MOST_MEMORY + 1).astype(int)[:-1]
        held = memory["allocated"][order]
        highest = np.maximum.reduceat(held, edges)
        stretch = np.searchsorted(edges, np.arange(len(order)), side="right") - 1
        at = np.flatnonzero(held == highest[stretch])
        _, first = np.unique(stretch[at], return_index=True)
        order = order[at[first]]
    kept = memory.take(order)
    frame = work.frames.locate(kept["start"], kept["thread"])
    modules = np.append(work.module_of_frame, -1)[frame].tolist()
    names = {at: read_module(work.trace.texts[work.frame_text[at]]) for at in set(modules) - {-1}}
    columns = [kept[name].tolist() for name in ("bytes", "allocated", "reserved", "device", "type")]
    rows = [
        MemoryEvent(
            at_us=start - origin,
            bytes=size,
            allocated=None if allocated < 0 else allocated,
            reserved=None if reserved < 0 else reserved,
            device="cpu" if kind == _CPU else str(device),
            module=names.get(module) or "",
            line=work.name_line(place),
        )
        for start, module, place, size, allocated, reserved, device, kind in zip(
            kept["start"].tolist(), modules, frame.tolist(), *columns, strict=True
        )
    ]
    return Table.of(MemoryEvent, rows, omitted=len(memory) - len(rows))


def list_host_spans(work: DeviceWork, origin: float) -> Table[HostSpan]:
    """Modules, annotations, synchronisations, compiled regions and outermost operators."""
    columns, texts = work.trace.columns, work.trace.texts
    parts: list[tuple[str, Events]] = []
    modules = np.flatnonzero(work.module_of_frame == np.arange(len(work.frames)))
    parts.append(("module", columns.python.take(work.frames.order[modules])))
    host = columns.host
    regions = find_named(texts, _REGION, host)
    operator, outermost = host["kind"] == 0, np.zeros(len(host), bool)
    up = work.hosts.parent
    nested = np.append(host["kind"][work.hosts.order] == 0, False)[up] & (up >= 0)
    outermost[work.hosts.order] = ~nested
    parts.append(("region", host.take(np.flatnonzero(regions))))
    parts.append(("annotation", host.take(np.flatnonzero(~operator & ~regions))))
    parts.append(("operator", host.take(np.flatnonzero(operator & outermost & ~regions))))
    waits = np.flatnonzero(find_named(texts, _WAIT, columns.runtime))
    parts.append(("synchronisation", columns.runtime.take(waits)))
    kind = np.repeat(np.arange(len(parts)), [len(events) for _, events in parts])
    joined = {
        name: np.concatenate([events[name] for _, events in parts])
        for name in ("name", "start", "duration", "thread")
    }
    kept = np.argsort(-joined["duration"], kind="stable")[:MOST_SPANS]
    every = Events(tuple(joined), _made={name: each[kept] for name, each in joined.items()})
    nest: Nest = work.trace.nest(every)
    spans, kind = every.take(nest.order), kind[kept][nest.order]
    threads = list(columns.threads)
    rows = {
        "thread": [name_thread(threads, at) for at in spans["thread"].tolist()],
        "name": [read_module(texts[at]) or texts[at] for at in spans["name"].tolist()],
        "kind": [parts[at][0] for at in kind.tolist()],
        "start_us": np.round(spans["start"] - origin, 3).tolist(),
        "duration_us": spans["duration"].tolist(),
        "depth": nest.depth.tolist(),
        "rank": [None] * len(spans),
    }
    return Table(HostSpan, rows, len(joined["name"]) - len(spans))


def find_named(texts: list[str], pattern: re.Pattern[str], events: Events) -> Numbers:
    """Which events have a name like that."""
    fits = np.array([pattern.search(text) is not None for text in texts], bool)
    found: Numbers = np.append(fits, False)[events["name"]]
    return found
