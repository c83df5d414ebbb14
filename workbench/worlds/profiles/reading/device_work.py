"""The work of a device, tied to what launched it: call, operator, module, line, compile."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from workbench.worlds.profiles.reading.event_columns import Events, Numbers, TraceColumns
from workbench.worlds.profiles.reading.nesting import Clock, Nest

_REGION = re.compile(r"Torch-Compiled Region(?::? ?(.+))?$")
_GRAPH = re.compile(r"## Call CompiledFxGraph (\S+) ##")
_FAR = 1e12  # µs: what lies eleven days away is of no use to a timeline
_KEPT_ANNOTATION = "nccl:"


@dataclass(frozen=True)
class Trace:
    """What one file holds, read, with its texts; the times of all in µs of one clock."""

    columns: TraceColumns
    texts: list[str]
    details: list[dict[str, Any]]
    clock: Clock

    @classmethod
    def of(cls, columns: TraceColumns) -> Trace:
        """What was read of a file; events that lie days away from the others are left out."""
        kept = ("device", "runtime", "host", "python", "memory")
        starts = np.concatenate([getattr(columns, name)["start"] for name in kept])
        middle = float(np.median(starts)) if len(starts) else 0.0
        for name in (*kept, "flows"):
            events = getattr(columns, name)
            near = np.abs(events["start"] - middle) < _FAR
            if not near.all():
                columns.damaged += int((~near).sum())
                setattr(columns, name, events.take(near))
        spans = [getattr(columns, name) for name in ("device", "runtime", "host", "python")]
        first = np.concatenate([each["start"] for each in spans])
        last = np.concatenate([each.end for each in spans])
        clock = Clock.of(first, last, len(columns.threads))
        return cls(columns, columns.texts.texts(), columns.read_details(), clock)

    def nest(self, events: Events) -> Nest:
        """Events of the CPU within each other."""
        return Nest(self.clock, events["start"], events.end, events["thread"])

    def number(self, read: Callable[[str], Any]) -> tuple[Numbers, list[Any]]:
        """For each text what `read` finds in it, by a number of its own (-1: nothing), and that."""
        found: dict[Any, int] = {}
        numbers = np.full(len(self.texts) + 1, -1)
        for at, text in enumerate(self.texts):
            if (value := read(text)) is not None:
                numbers[at] = found.setdefault(value, len(found))
        return numbers, list(found)


class DeviceWork:
    """Every kernel, copy and fill whose launch is in the trace; columns are beside `events`.

    `launch` is a row of `trace.columns.runtime`, -1 without one; `host` a place in `hosts`, `frame`
    one in `frames` (nests of operators and annotations, and of Python's frames), where -1 is none.
    Of a backward without frames of its own they are those of its forward.
    """

    def __init__(self, trace: Trace):
        self.trace = trace
        columns = trace.columns
        self.hosts, self.frames = trace.nest(columns.host), trace.nest(columns.python)
        launch = _look_up(columns.runtime["correlation"], columns.device["correlation"])
        has_launch = launch >= 0
        self.is_launched = bool(has_launch.any())
        kept = has_launch if self.is_launched else np.ones(len(launch), bool)
        self.unlaunched = columns.device.take(~kept)
        order = np.argsort(columns.device["start"][kept], kind="stable")
        self.events = columns.device.take(np.flatnonzero(kept)[order])
        self.launch = launch[kept][order]
        self.host = self._find_hosts()
        self.is_backward, self.forward = self._find_forward()
        self.frame = self._find_frames()

    def __len__(self) -> int:
        return len(self.events)

    @cached_property
    def launch_start(self) -> Numbers:
        """When the launch of each began, in µs; NaN without one."""
        starts = np.append(self.trace.columns.runtime["start"], np.nan)
        return starts[self.launch]

    @cached_property
    def launch_thread(self) -> Numbers:
        """The thread that launched each; -1 without a launch."""
        return np.append(self.trace.columns.runtime["thread"], -1)[self.launch]

    def _find_hosts(self) -> Numbers:
        """The operator of each by its external id, else that around its launch."""
        columns, place = self.trace.columns, _invert(self.hosts.order)
        by_id = _look_up(columns.host["external"], self.events["external"])
        of_launch = np.append(columns.runtime["external"], -1)[self.launch]
        again = _look_up(columns.host["external"], of_launch)
        row = np.where(by_id >= 0, by_id, again)
        around = self._locate(self.hosts)
        return np.where(row >= 0, np.append(place, -1)[row], around)

    def _locate(self, nest: Nest) -> Numbers:
        """What of a nest is around the launch of each."""
        at = np.full(len(self), -1)
        known = np.flatnonzero(self.launch >= 0)
        at[known] = nest.locate(self.launch_start[known], self.launch_thread[known])
        return at

    @cached_property
    def _host(self) -> Events:
        return self.trace.columns.host.take(self.hosts.order)

    def _find_forward(self) -> tuple[Numbers, Numbers]:
        """Whether each is of a backward, and the operator of the forward that it belongs to."""
        host, flows = self._host, self.trace.columns.flows
        own = np.full(len(host), -1)
        rows = np.flatnonzero((host["sequence"] >= 0) & (host["forward"] == 0))
        rows = rows[np.lexsort((host["start"][rows], host["sequence"][rows]))]
        sequence = host["sequence"][rows]
        back = np.flatnonzero((host["sequence"] >= 0) & (host["forward"] > 0))
        at = np.searchsorted(sequence, host["sequence"][back], side="right") - 1
        fits = (at >= 0) & (np.append(sequence, -2)[at] == host["sequence"][back])
        own[back[fits]] = rows[at[fits]]
        is_end = flows["is_end"] > 0
        spots = self.hosts.locate(flows["start"], flows["thread"])
        source = _look_up(flows["id"][~is_end], flows["id"][is_end])
        tied = (source >= 0) & (spots[is_end] >= 0)
        own[spots[is_end][tied]] = spots[~is_end][source[tied]]
        begins = np.full(len(host), -1)
        begins[back] = 1
        begins[spots[is_end][tied]] = 1
        is_back = np.append(self.hosts.inherit(begins), -1)[self.host] > 0
        forward = np.append(self.hosts.inherit(own), -1)[self.host]
        return is_back, np.where(is_back, forward, -1)

    def _find_frames(self) -> Numbers:
        """The innermost frame around the launch; of a backward without modules the forward's."""
        direct = self._locate(self.frames)
        rows = np.flatnonzero(
            (self.forward >= 0) & (np.append(self.module_of_frame, -1)[direct] < 0)
        )
        host = self.forward[rows]
        there = self.frames.locate(self._host["start"][host], self._host["thread"][host])
        direct[rows] = np.where(there >= 0, there, direct[rows])
        return direct

    @cached_property
    def frame_text(self) -> Numbers:
        """The text of each frame, in the order of `frames`."""
        return self.trace.columns.python["name"][self.frames.order]

    @cached_property
    def module_of_frame(self) -> Numbers:
        """For each frame the frame of the module around it, itself for one of a module."""
        numbers, _ = self.trace.number(read_module)
        is_module = numbers[self.frame_text] >= 0
        return self.frames.inherit(np.where(is_module, np.arange(len(self.frames)), -1))

    @cached_property
    def program_frames(self) -> tuple[Numbers, list[Frame]]:
        """By text the number of the program's function that it names, and these functions."""
        return self.trace.number(read_program_frame)

    @cached_property
    def line_of_frame(self) -> Numbers:
        """For each frame the number of the innermost function of the program around it."""
        return self.frames.inherit(self.program_frames[0][self.frame_text])

    def name_line(self, frame: int) -> str:
        """The line of the program that a frame belongs to, as `model.py:12`; else empty."""
        line = self.line_of_frame[frame] if frame >= 0 else -1
        return self.program_frames[1][line].place if line >= 0 else ""

    @cached_property
    def operator(self) -> Numbers:
        """The operator of each as a place in `hosts`: no annotation, but those of collectives."""
        kind, name = self._host["kind"], self._host["name"]
        kept = np.array([text.startswith(_KEPT_ANNOTATION) for text in self.trace.texts], bool)
        is_operator = (kind == 0) | np.append(kept, False)[name]
        nearest = self.hosts.inherit(np.where(is_operator, np.arange(len(self.hosts)), -1))
        found: Numbers = np.append(nearest, -1)[self.host]
        return found

    def of_operator(self, column: str) -> Numbers:
        """A column of the operator of each; -1 where there is none."""
        found: Numbers = np.append(self._host[column], -1)[self.operator]
        return found

    def read_around(self, read: Callable[[str], Any]) -> tuple[Numbers, list[Any]]:
        """What the nearest operator or annotation around each says, by numbers; of a backward.

        Where nothing around a backward says it, what is around its forward does.
        """
        numbers, values = self.trace.number(read)
        nearest = np.append(self.hosts.inherit(numbers[self._host["name"]]), -1)
        own = nearest[self.host]
        return np.where(own >= 0, own, nearest[self.forward]), values

    @cached_property
    def compile_ids(self) -> tuple[Numbers, list[str]]:
        """The compile id of each as torch.compile counts them, by numbers."""
        return self.read_around(_read_region)

    @cached_property
    def graph_keys(self) -> tuple[Numbers, list[str]]:
        """The key of the compiled graph of each in Inductor's cache, by numbers."""
        return self.read_around(_read_graph)


def _read_region(name: str) -> str | None:
    found = _REGION.match(name)
    return None if found is None else (found[1] or "").strip() or "?"


def _read_graph(name: str) -> str | None:
    found = _GRAPH.match(name)
    return None if found is None else found[1]


def _look_up(known: Numbers, wanted: Numbers) -> Numbers:
    """The first place of each wanted number among those that are known; -1 for none and for -1."""
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], wanted)
    found = np.append(order, -1)[at]
    fits = (found >= 0) & (wanted > 0) & (np.append(known, -1)[found] == wanted)
    return np.where(fits, found, -1)


def _invert(order: Numbers) -> Numbers:
    """For each of what was given its place in an order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


_NUMBERED = re.compile(r"(.+)_\d+$", re.DOTALL)
_MARK = "nn.Module: "
_FRAME = re.compile(r"(.+)\((\d+)\): (.*)$", re.DOTALL)
_LIBRARY = re.compile(r"(^|/)(site-packages/|dist-packages/)?(torch|triton)/|^<|<eval_with_key>")
_GENERATED = re.compile(
    r"torchinductor_|torch_compile_cache|/inductor_cache/|(^|/)c[a-z2-7]{51}\.py$"  # by their hash
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A function by its file and the line at which it begins."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> str:
        """The line as `model.py:12`."""
        return f"{PurePosixPath(self.file.replace(chr(92), '/')).name}:{self.line}"


def read_module(name: str) -> str | None:
    """The module's class and number, such as `Linear_3`; None for a frame of another kind."""
    return name[len(_MARK) :] if name.startswith(_MARK) else None


def read_module_class(name: str) -> str:
    """The class of a module without its number: `Linear_3` is a `Linear`."""
    found = _NUMBERED.match(name)
    return found[1] if found else name


def read_program_frame(name: str) -> Frame | None:
    """A function of the program; None for one of torch, of Python itself and of generated code."""
    found = None if name.startswith(("<built-in", _MARK)) else _FRAME.match(name)
    if found is None or _LIBRARY.search(found[1]) or _GENERATED.search(found[1]):
        return None
    top = found[1].partition("/")[0].removesuffix(".py")
    if top in sys.stdlib_module_names:  # the profiler cuts what is on sys.path
        return None
    return Frame(found[1], int(found[2][:9]), found[3])
