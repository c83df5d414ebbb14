"""Kernels by operator and shapes, and each of their runs for a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.report.table import Table
from workbench.worlds.profiles.reading.device_times import KINDS, find_groups
from workbench.worlds.profiles.reading.device_work import DeviceWork
from workbench.worlds.profiles.reading.event_columns import Numbers
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, RanKernel, Sizes

MOST_EVENTS = 300_000
"""Runs that a record keeps for its timeline; more are counted, not kept."""
_MOST_SIZES = 64  # arguments of an operator, and dimensions of one of them
_LETTERS = 200


@dataclass(frozen=True)
class KernelRows:
    """The rows of `kernels`, the longest first, and for each run the row that it belongs to."""

    rows: list[RanKernel]
    row_of_run: Numbers


def list_kernels(work: DeviceWork, module_path: Numbers, paths: list[str]) -> KernelRows:
    """A row for each kernel by operator and shapes.

    `module_path` has for each run the number of the module's path in `paths`, -1 outside of all.
    """
    events, time = work.events, work.events["duration"]
    compiles, graphs = work.compile_ids, work.graph_keys
    detail = work.of_operator("detail")
    first, size, group = find_groups(
        events["name"],
        events["kind"],
        work.of_operator("name"),
        detail,
        work.is_backward,
        compiles[0],
        graphs[0],
    )
    total = np.bincount(group, time, len(first))
    least, most = np.full(len(first), np.inf), np.zeros(len(first))
    np.minimum.at(least, group, time)
    np.maximum.at(most, group, time)
    module, modules = find_heaviest(group, module_path, time, len(first))
    lines = np.append(work.line_of_frame, -1)[work.frame]
    line, _ = find_heaviest(group, lines, time, len(first))
    whole = float(total.sum()) or 1.0
    order = np.argsort(-total, kind="stable")
    said = _Said(work)
    rows = []
    for number, at in enumerate(order.tolist()):
        run = int(first[at])
        own = RanKernel(
            id=f"k{number}",
            name=work.trace.texts[events["name"][run]],
            calls=int(size[at]),
            time_us=float(total[at]),
            share=float(total[at]) / whole,
            operator=said.name(work.of_operator("name")[run]),
            module=paths[module[at]] if module[at] >= 0 else "",
            line=work.program_frames[1][line[at]].place if line[at] >= 0 else "",
            stream=int(events["stream"][run]),
            compile_id=compiles[1][compiles[0][run]] if compiles[0][run] >= 0 else "",
            graph_key=graphs[1][graphs[0][run]] if graphs[0][run] >= 0 else "",
            kind=KINDS[int(events["kind"][run])],
            is_backward=bool(work.is_backward[run]),
            least_us=float(least[at]),
            most_us=float(most[at]),
            modules=int(modules[at]),
            **said.of_operator(int(detail[run])),
            **said.of_run(int(events["detail"][run])),
        )
        rows.append(own)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return KernelRows(rows, place[group])


class _Said:
    """What arguments of events say, as fields of a row; what is of another type is left out."""

    def __init__(self, work: DeviceWork):
        self._texts, self._details = work.trace.texts, work.trace.details

    def name(self, number: int) -> str:
        return self._texts[number] if number >= 0 else ""

    def of_operator(self, number: int) -> dict[str, Any]:
        said = self._details[number] if number >= 0 else {}
        return {
            "shapes": _sizes(said.get("Input Dims")),
            "dtypes": _words(said.get("Input type")),
            "strides": _sizes(said.get("Input Strides")),
            "inputs": _words(said.get("Concrete Inputs")),
            "kernel_hash": _word(said, "kernel_hash"),
            "kernel_file": _word(said, "kernel_file"),
        }

    def of_run(self, number: int) -> dict[str, Any]:
        said = self._details[number] if number >= 0 else {}
        occupancy = _number(said, "est. achieved occupancy %")
        return {
            "grid": _size(said.get("grid")),
            "block": _size(said.get("block")),
            "registers": _count(said, "registers per thread"),
            "shared_bytes": _count(said, "shared memory"),
            "moved_bytes": _count(said, "bytes"),
            "occupancy": occupancy / 100 if occupancy else None,  # 0: it could not tell
        }


def _number(said: Mapping[str, Any], key: str) -> float | None:
    value = said.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**53 else None  # type: ignore[operator,arg-type]


def _count(said: Mapping[str, Any], key: str) -> int | None:
    value = _number(said, key)
    return None if value is None else int(value)


def _word(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""


def _words(value: Any) -> tuple[str, ...]:
    texts = value[:_MOST_SIZES] if isinstance(value, list) else ()
    return tuple(text[:_LETTERS] if isinstance(text, str) else "" for text in texts)


def _size(value: Any) -> tuple[int, ...]:
    numbers = value[:_MOST_SIZES] if isinstance(value, list) else ()
    is_whole = all(type(number) is int for number in numbers)
    return tuple(numbers) if is_whole else ()


def _sizes(value: Any) -> Sizes:
    """The sizes of each argument; of a list of tensors those of each of them."""
    sizes = value[:_MOST_SIZES] if isinstance(value, list) else ()
    is_list = [
        isinstance(each, list) and bool(each) and isinstance(each[0], list) for each in sizes
    ]
    return tuple(
        tuple(map(_size, each[:_MOST_SIZES])) if of_many else _size(each)
        for each, of_many in zip(sizes, is_list, strict=True)
    )


def find_heaviest(
    group: Numbers, label: Numbers, weight: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """For each group the label with the most weight (-1: none), and how many labels it has."""
    heaviest, labels = np.full(count, -1), np.zeros(count, np.int64)
    known = np.flatnonzero(label >= 0)
    first, _, pair = find_groups(group[known], label[known])
    total = np.bincount(pair, weight[known], len(first))
    owner, name = group[known][first], label[known][first]
    rising = np.argsort(total, kind="stable")
    heaviest[owner[rising]] = name[rising]
    np.add.at(labels, owner, 1)
    return heaviest, labels


def list_events(
    work: DeviceWork, kernels: KernelRows, module_ids: list[str], origin: float
) -> Table[DeviceEvent]:
    """Every run, in the order in which they began."""
    events, kept = work.events, slice(0, MOST_EVENTS)
    launch = (work.launch_start - origin)[kept].tolist()
    threads = list(work.trace.columns.threads)
    thread = [name_thread(threads, at) for at in work.launch_thread[kept].tolist()]
    line = np.append(work.line_of_frame, -1)[work.frame][kept].tolist()
    places = [frame.place for frame in work.program_frames[1]]
    columns = {
        "kernel": [f"k{row}" for row in kernels.row_of_run[kept].tolist()],
        "start_us": np.round(events["start"][kept] - origin, 3).tolist(),
        "duration_us": events["duration"][kept].tolist(),
        "device": events["device"][kept].tolist(),
        "stream": events["stream"][kept].tolist(),
        "launch_us": [None if at != at else round(at, 3) for at in launch],
        "thread": thread,
        "module": module_ids[kept],
        "line": [places[at] if at >= 0 else "" for at in line],
        "call": work.operator[kept].tolist(),
        "rank": [None] * len(thread),
    }
    return Table(DeviceEvent, columns, max(0, len(events) - MOST_EVENTS))


def name_thread(threads: list[Any], number: int) -> str:
    """A thread by its own id; empty for none."""
    return str(threads[number][1])[:_LETTERS] if 0 <= number < len(threads) else ""
