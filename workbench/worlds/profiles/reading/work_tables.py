"""The tables of a profile, each built from the work of the device."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.analysis.collectives.links import Links, estimate_collective, find_links
from workbench.analysis.kernel_time.kernel_time import LibraryLaunch, time_kernel
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel, list_slow_reasons
from workbench.analysis.library_kernels.kernel_names import (
    is_collective,
    name_collective,
    read_kernel_name,
)
from workbench.analysis.library_kernels.operator_work import (
    OperatorCall,
    estimate_work,
    read_operator_kind,
)
from workbench.number_text import number_text
from workbench.report.table import Table
from workbench.specs import Gpu
from workbench.worlds.profiles.reading.device_times import Busy, list_launches, list_streams
from workbench.worlds.profiles.reading.device_work import DeviceWork, read_module, read_module_class
from workbench.worlds.profiles.reading.event_columns import Events, Numbers
from workbench.worlds.profiles.reading.idle_gaps import list_gaps
from workbench.worlds.profiles.reading.kernel_rows import (
    KernelRows,
    list_events,
    list_kernels,
    name_thread,
)
from workbench.worlds.profiles.reading.nesting import Nest
from workbench.worlds.profiles.rows.profile_rows import (
    PROFILE_TABLES,
    CollectiveTime,
    HostSpan,
    LineTime,
    MemoryEvent,
    ModuleTime,
    ProfiledStep,
    RanKernel,
)


def build_tables(
    work: DeviceWork, busy: Busy, gpu: Gpu | None, *, on_cpu: bool
) -> dict[str, Table[Any]]:
    """Every table of a profile; `on_cpu`, operators stand in the place of a device's work."""
    origin = float(busy.start[0])
    modules = list_modules(work)
    kernels = list_kernels(work, modules.path_of_run, modules.paths)
    rows: dict[str, list[Any]] = {
        "kernels": add_facts(work, kernels, gpu),
        "modules": modules.rows,
        "lines": list_lines(work),
        "collectives": list_collectives(work, kernels, gpu),
    }
    tables = {name: Table.of(kind, rows.get(name, ())) for name, kind in PROFILE_TABLES.items()}
    tables |= {
        "streams": list_streams(work, busy, origin),
        "events": list_events(work, kernels, modules.id_of_run, origin),
        "host": list_host_spans(work, origin),
        "steps": list_steps(work, origin),
        "memory": list_memory(work, origin),
    }
    if not on_cpu:
        tables["launches"] = list_launches(work)
        tables["gaps"] = list_gaps(work, busy, kernels, modules.id_of_run, origin)
    return tables


_ITEMSIZES = {
    "double": 8,
    "long": 8,
    "float": 4,
    "int": 4,
    "half": 2,
    "bfloat16": 2,
    "short": 2,
    "char": 1,
    "byte": 1,
    "bool": 1,
    "c10::bfloat16": 2,
    "c10::half": 2,
}
_MODELLED = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
}
_GPUS_PER_NODE = 8


@dataclass(frozen=True)
class Collective:
    """What one call moves: bytes of one rank and the group that takes part.

    `nodes` is on how many of 8 GPUs its ranks are, None where the trace does not name all of them.
    """

    name: str
    bytes: int | None
    dtype: str
    group: str
    group_size: int | None
    nodes: int | None = None

    def estimate_us(self, links: Links | None) -> float | None:
        """What one call takes by NCCL's own model; None where that does not know all of it."""
        name = re.sub(r"[^a-z]", "", self.name.lower())
        op = next((op for word, op in _MODELLED.items() if word in name), "")
        if links is None or not self.bytes or not self.group_size or self.nodes is None:
            return None
        made = estimate_collective(op, self.bytes, self.group_size, self.nodes, links)
        return None if made is None else made.us

    def find_bus_factor(self) -> float | None:
        """How many bytes the links carry for each of `bytes`, as nccl-tests count it."""
        ranks = self.group_size or 0
        if ranks < 2:
            return None
        part = (ranks - 1) / ranks
        name = re.sub(r"[^a-z]", "", self.name.lower())
        if "allreduce" in name:
            return 2 * part
        return part if any(each in name for each in ("gather", "scatter", "alltoall")) else 1.0


def list_collectives(
    work: DeviceWork, kernels: KernelRows, gpu: Gpu | None
) -> list[CollectiveTime]:
    """A row for each collective by its bytes and group."""
    events, texts = work.events, work.trace.texts
    is_one = np.array([is_collective(text) for text in texts], bool)
    own = np.flatnonzero(np.append(is_one, False)[events["name"]])
    if not len(own):
        return []
    others = np.setdiff1d(np.arange(len(events)), own)
    covered = Busy.of(events["start"][others], events.end[others])
    start, end = events["start"][own], events.end[own]
    exposed = (end - start) - covered.within(start, end)
    groups: defaultdict[tuple[Collective, int], list[int]] = defaultdict(list)
    said_by_operator, operators = work.of_operator("detail"), work.of_operator("name")
    for place, run in enumerate(own.tolist()):
        operator = texts[operators[run]] if operators[run] >= 0 else ""
        said = [
            work.trace.details[number] if number >= 0 else {}
            for number in (int(events["detail"][run]), int(said_by_operator[run]))
        ]
        kernel = texts[events["name"][run]]
        collective = read_collective({**said[1], **said[0]}, operator, kernel)
        groups[collective, int(kernels.row_of_run[run])].append(place)
    links = None if gpu is None else find_links(gpu, {})
    rows = []
    for (collective, row), places in groups.items():
        times = events["duration"][own[places]]
        fastest, factor = float(times.min()), collective.find_bus_factor()
        is_known = factor is not None and collective.bytes and fastest > 0
        rows.append(
            CollectiveTime(
                name=collective.name,
                calls=len(places),
                time_us=float(times.sum()),
                exposed_us=float(exposed[places].sum()),
                bytes=collective.bytes,
                dtype=collective.dtype,
                group=collective.group,
                group_size=collective.group_size,
                bus_gbs=collective.bytes * factor / fastest / 1e3 if is_known else None,  # type: ignore[operator]
                model_us=collective.estimate_us(None if isinstance(links, str) else links),
                kernel=f"k{row}",
            )
        )
    return sorted(rows, key=lambda row: -row.time_us)


def read_collective(said: Mapping[str, Any], operator: str, kernel: str) -> Collective:
    """What arguments say of a collective, else the names of its annotation and kernel."""
    name = said.get("Collective name")
    if not isinstance(name, str) or not name:
        own = operator.startswith(("nccl:", "c10d", "_c10d", "symm_mem"))
        told = (name_collective(each) for each in ([operator] if own else []) + [kernel])
        name = next((each for each in told if each != "collective"), "collective")
    dtype = said.get("dtype")
    if not isinstance(dtype, str):
        types = said.get("Input type")
        dtype = types[0] if isinstance(types, list) and types and isinstance(types[0], str) else ""
    counts = [said.get(f"{side} msg nelems") for side in ("In", "Out")]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    dims = said.get("Input Dims")
    if not known and isinstance(dims, list) and dims and isinstance(dims[0], list):
        first = dims[0]
        if first and all(type(size) is int for size in first):
            known = [math.prod(first)]
    item = _ITEMSIZES.get(dtype.lower(), 1 if "float8" in dtype.lower() else None)
    size = said.get("Group size")
    group = said.get("Process Group Description") or said.get("Process Group Name") or ""
    return Collective(
        name=name[:200],
        bytes=max(known) * item if known and item and 0 <= max(known) < 1 << 50 else None,
        dtype=dtype[:200],
        group=str(group)[:200],
        group_size=size if isinstance(size, int) and 0 < size < 1 << 24 else None,
        nodes=_count_nodes(said.get("Process Group Ranks"), size),
    )


def _count_nodes(told: object, size: object) -> int | None:
    """On how many nodes the ranks of a group are; torch ends a long list of them with `...`."""
    ranks = re.findall(r"\d+", str(told)) if isinstance(told, str | list) else []
    if not ranks or len(ranks) != size:
        return None
    return len({int(rank) // _GPUS_PER_NODE for rank in ranks})


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


_MAIN = ("product", "attention")
_FASTER = 1.02  # of a bound: what the clock of a profile may be off by
_OF_COPIES = ("copy", "fill")


def add_facts(work: DeviceWork, kernels: KernelRows, gpu: Gpu | None) -> list[RanKernel]:
    """The rows with what their names and operators say; bounds where the GPU is known."""
    sharing = count_sharing(work, kernels)
    beside = find_beside(work, kernels)
    return [
        describe_kernel(row, shared, gpu, is_beside=is_beside)
        for row, shared, is_beside in zip(kernels.rows, sharing, beside, strict=True)
    ]


def describe_kernel(
    row: RanKernel, sharing: int, gpu: Gpu | None, *, is_beside: bool = False
) -> RanKernel:
    """The row with what is known of it; `sharing` kernels share the work of one operator.

    `is_beside` says that another kernel of the operator does its work.
    """
    if row.kind != "kernel":
        does = "copy" if row.kind in _OF_COPIES else read_operator_kind(row.operator)
        return replace(row, does=does)
    kernel = read_kernel_name(row.name)
    if is_beside:
        kernel = replace(kernel, part="helper")
    call = OperatorCall(row.operator, row.shapes, row.dtypes, row.strides, row.inputs)
    work = estimate_work(call, kernel, launches=sharing)
    named = replace(row, does=kernel.kind, operations=work.operations, work_bytes=work.bytes)
    if gpu is None:
        return named
    blocks = kernel.count_blocks(row.grid, row.block)
    reasons = list_slow_reasons(kernel, work, gpu, call=call, blocks=blocks)
    modelled = time_kernel(work, LibraryLaunch(kernel, blocks), gpu)
    told = replace(
        named,
        why_slow="; ".join(reasons),
        modelled_us=modelled.us,
        modelled_error=modelled.error,
        modelled_why=modelled.because,
    )
    bound = bound_kernel(kernel, work, gpu)
    if bound is None:
        return told
    reached = bound.reached(row.time_us / row.calls)
    if reached is not None and reached > _FASTER:
        # what is counted cannot be its own: its operator has other work, or other shapes
        mean_us, least_us = (
            number_text(us * 1e-6, "seconds") for us in (row.time_us / row.calls, bound.us)
        )
        reasons.append(
            f"no bound: the kernel took {mean_us}, less than the operator's minimum of {least_us}, "
            "so it does only part of the operator's work"
        )
        return replace(named, why_slow="; ".join(reasons))
    return replace(told, bound_us=bound.us, bound_by=bound.limit, reached=reached)


def find_beside(work: DeviceWork, kernels: KernelRows) -> list[bool]:
    """By row whether it is a kernel of unknown kind beside a product or attention of its call.

    What an operator computes is then the work of the latter.
    """
    known = [read_kernel_name(row.name) for row in kernels.rows]
    is_main, is_other = (
        np.array(
            [
                row.kind == "kernel" and kernel.kind in kinds and not kernel.is_helper
                for row, kernel in zip(kernels.rows, known, strict=True)
            ],
            bool,
        )
        for kinds in (_MAIN, ("other",))
    )
    has_call = work.operator >= 0
    with_main = np.unique(work.operator[is_main[kernels.row_of_run] & has_call])
    beside = is_other[kernels.row_of_run] & np.isin(work.operator, with_main) & has_call
    found = set(kernels.row_of_run[beside].tolist())
    return [row in found for row in range(len(kernels.rows))]


def count_sharing(work: DeviceWork, kernels: KernelRows) -> list[int]:
    """By row how many kernels of one call of its operator share its part of the work.

    The two gradients of a convolution are two parts; helpers are not counted.
    """
    known = [read_kernel_name(row.name) for row in kernels.rows]
    parts = [(kernel.kind, kernel.part, kernel.family) for kernel in known]
    numbers = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    part_of_run = np.array([numbers[part] for part in parts], np.int64)[kernels.row_of_run]
    is_own = [
        row.kind == "kernel" and not kernel.is_helper
        for row, kernel in zip(kernels.rows, known, strict=True)
    ]
    counted = np.array(is_own, bool)[kernels.row_of_run] & (work.operator >= 0)
    pairs = work.operator[counted] * len(numbers) + part_of_run[counted]
    _, place, runs = np.unique(pairs, return_inverse=True, return_counts=True)
    most = np.ones(len(kernels.rows), np.int64)
    np.maximum.at(most, kernels.row_of_run[counted], runs[place])
    return [int(count) for count in most]


_OUTSIDE = ""
_LONGEST_PATH = 1_000  # letters


@dataclass(frozen=True)
class ModuleRows:
    """The rows of `modules`, and for each run of a kernel its row and the path of its classes.

    `path_of_run` is a place in `paths`, -1 outside of all modules.
    """

    rows: list[ModuleTime]
    id_of_run: list[str]
    path_of_run: Numbers
    paths: list[str]


def list_modules(work: DeviceWork) -> ModuleRows:
    """A row for each module below each that called it; parents stand before their children."""
    tree = _ModuleTree(work)
    runs = np.append(work.module_of_frame, -1)[work.frame]
    row_of_run = np.append(tree.row_of_frame, -1)[runs]
    count = len(tree.names)
    time, known = work.events["duration"], row_of_run >= 0
    own = np.bincount(row_of_run[known], time[known], count)
    is_back = known & work.is_backward
    back = np.bincount(row_of_run[is_back], time[is_back], count)
    calls = np.bincount(row_of_run[known], minlength=count)
    total = own.copy()
    for row in range(count - 1, -1, -1):  # children stand behind their parents
        if (up := tree.parents[row]) >= 0:
            total[up] += total[row]
            back[up] += back[row]
            calls[up] += calls[row]
    whole = float(time.sum()) or 1.0
    ids = [f"m{row}" for row in range(count)]
    rows = [
        ModuleTime(
            id=ids[row],
            parent=ids[tree.parents[row]] if tree.parents[row] >= 0 else "",
            name=tree.names[row],
            depth=tree.depths[row],
            calls=int(tree.calls[row]),
            time_us=float(total[row]),
            own_us=float(own[row]),
            share=float(total[row]) / whole,
            backward_us=float(back[row]),
            kernels=int(calls[row]),
            host_us=float(tree.host_us[row]),
        )
        for row in range(count)
    ]
    if rows and not known.all():
        rest = float(time[~known].sum())
        rows.append(
            ModuleTime(
                id="outside",
                name=_OUTSIDE,
                time_us=rest,
                own_us=rest,
                share=rest / whole,
                backward_us=float(time[~known & work.is_backward].sum()),
                kernels=int((~known).sum()),
            )
        )
    path = np.append(tree.path_of_row, -1)[row_of_run]
    ids_of_run = [ids[row] if row >= 0 else "" for row in row_of_run.tolist()]
    return ModuleRows(rows, ids_of_run, path, tree.paths)


class _ModuleTree:
    """Modules by the way to them: one row for all calls of one module from one parent."""

    def __init__(self, work: DeviceWork):
        numbers, modules = work.trace.number(read_module)
        frames = np.flatnonzero(work.module_of_frame == np.arange(len(work.frames)))
        parent = work.frames.parent[frames]
        up = np.append(work.module_of_frame, -1)[parent]
        name = numbers[work.frame_text[frames]]
        frame_time = work.trace.columns.python["duration"][work.frames.order][frames]
        self.row_of_frame = np.full(len(work.frames), -1)
        self.names: list[str] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.paths: list[str] = []
        known: dict[tuple[int, int], int] = {}
        paths: dict[str, int] = {}
        path_of_row: list[int] = []
        rows = []
        for frame, above, module in zip(frames.tolist(), up.tolist(), name.tolist(), strict=True):
            over = int(self.row_of_frame[above]) if above >= 0 else -1
            row = known.setdefault((over, module), len(known))
            if row == len(self.names):
                self.names.append(modules[module])
                self.parents.append(over)
                self.depths.append(self.depths[over] + 1 if over >= 0 else 0)
                before = f"{self.paths[path_of_row[over]]}." if over >= 0 else ""
                path = before[-_LONGEST_PATH:] + read_module_class(modules[module])
                path_of_row.append(paths.setdefault(path, len(paths)))
                self.paths += [path] * (len(paths) > len(self.paths))
            self.row_of_frame[frame] = row
            rows.append(row)
        self.path_of_row = np.array(path_of_row, np.int64)
        self.calls = np.bincount(np.array(rows, np.int64), minlength=len(known))
        self.host_us = np.bincount(np.array(rows, np.int64), frame_time, len(known))


def list_lines(work: DeviceWork) -> list[LineTime]:
    """A row for each function of the program that started any work of the device."""
    number, functions = work.program_frames
    line_of_frame = number[work.frame_text]
    time, runs = work.events["duration"], np.append(work.line_of_frame, -1)[work.frame]
    own = np.bincount(runs[runs >= 0], time[runs >= 0], len(functions))
    in_frame = work.frame >= 0
    started = np.bincount(work.frame[in_frame], time[in_frame], len(work.frames))
    count = np.bincount(work.frame[in_frame], minlength=len(work.frames))
    total, kernels = work.frames.add_up(started), work.frames.add_up(count)
    own_line = np.flatnonzero((line_of_frame >= 0) & (total > 0))
    outer = own_line[~_is_recursive(work, own_line, line_of_frame)]
    line = line_of_frame[outer]
    host = work.trace.columns.python["duration"][work.frames.order]
    sums = [np.bincount(line, each[outer], len(functions)) for each in (total, kernels, host)]
    calls = np.bincount(line_of_frame[line_of_frame >= 0], minlength=len(functions))
    whole = float(time.sum()) or 1.0
    rows = [
        LineTime(
            line=function.place,
            function=function.function,
            calls=int(calls[at]),
            time_us=float(sums[0][at]),
            own_us=float(own[at]),
            share=float(sums[0][at]) / whole,
            kernels=int(sums[1][at]),
            host_us=float(sums[2][at]),
            file=function.file,
        )
        for at, function in enumerate(functions)
        if sums[0][at] > 0
    ]
    return sorted(rows, key=lambda row: (-row.own_us, -row.time_us))


def _is_recursive(work: DeviceWork, frames: Numbers, line_of_frame: Numbers) -> Numbers:
    """Whether a function is around itself: its time is that of the outer one."""
    found = np.zeros(len(frames), bool)
    up, left = work.frames.parent[frames], np.arange(len(frames))
    while len(left := left[up[left] >= 0]):
        found[left] |= line_of_frame[up[left]] == line_of_frame[frames[left]]
        up[left] = work.frames.parent[up[left]]
    return found
