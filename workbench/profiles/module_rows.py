"""The modules of the model as a tree, and the lines of the program, with their device time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_columns import Numbers
from workbench.profiles.python_frames import read_module, read_module_class
from workbench.report.profile.profile_rows import LineTime, ModuleTime

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
                id="outside", name=_OUTSIDE, time_us=rest, own_us=rest, share=rest / whole,
                backward_us=float(time[~known & work.is_backward].sum()),
                kernels=int((~known).sum()),
            )
        )  # fmt: skip
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
