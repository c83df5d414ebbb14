"""The events of a trace by category, as columns of numbers: a name is kept once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import orjson

Numbers = np.ndarray[Any, Any]
DEVICE = {"kernel": 0, "gpu_memcpy": 1, "gpu_memset": 2, "Kernel": 0, "Memcpy": 1, "Memset": 2}
"""Categories of device work, each with its number in the column `kind`."""
RUNTIME = frozenset(
    {
        "cuda_runtime",
        "cuda_driver",
        "Runtime",
        "hip_runtime",
        "xpu_runtime",
        "xpu_driver",
        "mtia_runtime",
        "privateuse1_runtime",
        "privateuse1_driver",
    }
)
"""Categories of calls of a driver."""
_HOST = {"cpu_op": 0, "Operator": 0, "user_annotation": 1}
_ANNOTATION = 1
_COMPILING = "(dynamo_timed)"
"""How torch marks what it does while it compiles: as operators, which they are not."""
_NONE = -1
_LARGEST = 1 << 62
_LATEST = 1e16  # µs since 1970; a trace of today has 1.8e15
_LONGEST = 1e12  # µs of one event: eleven days
_LETTERS = 4_000  # of a name
_EMPTY: Mapping[str, Any] = {}
_SHAPES = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
_COMMUNICATION = (
    *("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype"),
    *("Process Group Name", "Process Group Description", "Process Group Ranks"),
)
_DETAILS = (
    *("grid", "block", "registers per thread", "shared memory", "est. achieved occupancy %"),
    *("bytes", *_COMMUNICATION),
)
_OF_OPERATOR = (*_SHAPES, "kernel_hash", "kernel_file", *_COMMUNICATION)


class Interned(dict[Any, int]):
    """A number for each value, in the order in which they came."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number

    def texts(self) -> list[str]:
        """The values as text, by their numbers."""
        return [str(value)[:_LETTERS] for value in self]


@dataclass
class Events:
    """Columns of one kind of events: `name` and `thread` by their numbers, times in µs."""

    names: tuple[str, ...]
    _parts: dict[str, list[Numbers]] = field(default_factory=lambda: defaultdict(list))
    _made: dict[str, Numbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self["start"])

    def __getitem__(self, name: str) -> Numbers:
        if name not in self._made:
            kind = np.float64 if name in ("start", "duration") else np.int64
            parts = self._parts.pop(name, [])
            self._made[name] = np.concatenate(parts) if parts else np.zeros(0, kind)
        return self._made[name]

    @property
    def end(self) -> Numbers:
        """Where each ends, in µs."""
        return self["start"] + self["duration"]

    def append(self, columns: Mapping[str, Sequence[Any] | Numbers]) -> None:
        """More of them; raises where a value is no number."""
        for name, values in make_columns(columns).items():
            self._parts[name].append(values)

    def take(self, which: Numbers) -> Events:
        """Those at these places, or where it is true."""
        return Events(self.names, _made={name: self[name][which] for name in self.names})


def make_columns(columns: Mapping[str, Sequence[Any] | Numbers]) -> dict[str, Numbers]:
    """Values as numbers; raises ValueError, TypeError or OverflowError where one is none."""
    made = {
        name: np.array(values, np.float64 if name in ("start", "duration") else np.int64)
        for name, values in columns.items()
    }
    if any(values.ndim != 1 for values in made.values()):  # numpy takes lists of one length
        raise ValueError("a list instead of a number")
    return made


_SPAN = ("name", "start", "duration", "thread")


@dataclass
class TraceColumns:
    """What a trace holds, by category.

    `damaged` counts events whose values are of another kind than the profiler writes, `reversed`
    those that end before they begin; both are left out. `categories` counts all by category.
    """

    texts: Interned = field(default_factory=Interned)
    threads: Interned = field(default_factory=Interned)
    details: Interned = field(default_factory=Interned)
    device: Events = field(
        default_factory=lambda: Events(
            (*_SPAN, "kind", "correlation", "external", "device", "stream", "detail")
        )
    )
    runtime: Events = field(default_factory=lambda: Events((*_SPAN, "correlation", "external")))
    host: Events = field(
        default_factory=lambda: Events(
            (*_SPAN, "kind", "external", "sequence", "forward", "detail")
        )
    )
    python: Events = field(default_factory=lambda: Events(_SPAN))
    memory: Events = field(
        default_factory=lambda: Events(
            ("start", "thread", "bytes", "allocated", "reserved", "device", "type")
        )
    )
    flows: Events = field(default_factory=lambda: Events(("start", "thread", "id", "is_end")))
    categories: Counter[str] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)
    damaged: int = 0
    reversed: int = 0

    def add(self, batch: Iterable[Any]) -> None:
        """Keep what is needed of a batch of events."""
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        for event in batch:
            if type(event) is dict:
                category = event.get("cat")
                groups[category if type(category) is str else None].append(event)
            else:
                self.damaged += 1
        for category, events in groups.items():
            self.categories[category or ""] += len(events)
            if (add := self._find_adder(category)) is not None:
                self._keep(events, add)

    def _find_adder(self, category: str | None) -> Callable[[list[Any]], None] | None:
        """What keeps events of a category; None: they are only counted."""
        if category in DEVICE:
            return partial(self._add_device, kind=DEVICE[category])
        if category in _HOST:
            return partial(self._add_host, kind=_HOST[category])
        if category in RUNTIME:
            return self._add_runtime
        adders: dict[str | None, Callable[[list[Any]], None]] = {
            "python_function": self._add_python,
            "cpu_instant_event": self._add_memory,
            "fwdbwd": self._add_flows,
            None: self._note_processes,
        }
        return adders.get(category)

    def _keep(self, events: list[Any], add: Callable[[list[Any]], None]) -> None:
        """Add events at once; where a value is of another type, those that can be mended."""
        try:
            add(events)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            mended = [event for event in map(_mend, events) if event is not None]
            self.damaged += len(events) - len(mended)
            add(mended)

    def _span(self, events: list[Any]) -> dict[str, Any]:
        texts, threads = self.texts, self.threads
        return {
            "name": [texts[e["name"]] for e in events],
            "start": [e["ts"] for e in events],
            "duration": [e["dur"] for e in events],
            "thread": [threads[e["pid"], e["tid"]] for e in events],
        }

    def _append(self, to: Events, columns: dict[str, Any]) -> None:
        made = make_columns(columns)
        start, duration = made["start"], made["duration"]
        fits = (np.abs(start) < _LATEST) & (duration < _LONGEST)
        right = fits & (duration >= 0)
        if not right.all():
            backwards = int((duration < 0).sum())
            self.reversed += backwards
            self.damaged += int((~right).sum()) - backwards
            made = {name: values[right] for name, values in made.items()}
        to.append(made)

    def _add_device(self, events: list[Any], kind: int) -> None:
        columns = self._span(events)
        args = [e.get("args") or _EMPTY for e in events]
        columns["kind"] = [kind] * len(events)
        columns["correlation"] = [a.get("correlation", _NONE) for a in args]
        columns["external"] = [_external(a) for a in args]
        columns["device"] = [
            a["device"] if "device" in a else e["pid"] for e, a in zip(events, args, strict=True)
        ]
        columns["stream"] = [
            a["stream"] if "stream" in a else e["tid"] for e, a in zip(events, args, strict=True)
        ]
        columns["detail"] = [self._detail(a, _DETAILS) for a in args]
        self._append(self.device, columns)

    def _add_runtime(self, events: list[Any]) -> None:
        columns = self._span(events)
        args = [e.get("args") or _EMPTY for e in events]
        columns["correlation"] = [a.get("correlation", _NONE) for a in args]
        columns["external"] = [_external(a) for a in args]
        self._append(self.runtime, columns)

    def _add_host(self, events: list[Any], kind: int) -> None:
        columns = self._span(events)
        args = [e.get("args") or _EMPTY for e in events]
        columns["kind"] = [_ANNOTATION if e["name"].endswith(_COMPILING) else kind for e in events]
        columns["external"] = [_external(a) for a in args]
        columns["sequence"] = [a.get("Sequence number", _NONE) for a in args]
        columns["forward"] = [a.get("Fwd thread id", 0) for a in args]
        columns["detail"] = [self._detail(a, _OF_OPERATOR) for a in args]
        self._append(self.host, columns)

    def _add_python(self, events: list[Any]) -> None:
        self._append(self.python, self._span(events))

    def _add_memory(self, events: list[Any]) -> None:
        events = [e for e in events if e["name"] == "[memory]"]
        args = [e["args"] for e in events]
        self.memory.append(
            {
                "start": [e["ts"] for e in events],
                "thread": [self.threads[e["pid"], e["tid"]] for e in events],
                "bytes": [a["Bytes"] for a in args],
                "allocated": [a.get("Total Allocated", _NONE) for a in args],
                "reserved": [a.get("Total Reserved", _NONE) for a in args],
                "device": [a.get("Device Id", 0) for a in args],
                "type": [a.get("Device Type", 0) for a in args],
            }
        )

    def _add_flows(self, events: list[Any]) -> None:
        self.flows.append(
            {
                "start": [e["ts"] for e in events],
                "thread": [self.threads[e["pid"], e["tid"]] for e in events],
                "id": [e["id"] for e in events],
                "is_end": [e["ph"] == "f" for e in events],
            }
        )

    def _detail(self, args: Mapping[str, Any], keys: tuple[str, ...]) -> int:
        """The number of what the arguments say of these keys; -1 where that is nothing."""
        if args is _EMPTY:
            return _NONE
        said = {key: args[key] for key in keys if key in args}
        return self.details[orjson.dumps(said)] if said else _NONE

    def _note_processes(self, events: list[Any]) -> None:
        for event in events:
            args = event.get("args")
            if event.get("ph") == "M" and type(args) is dict and len(self.processes) < 1_000:
                self.processes.add(str(args.get("name", ""))[:_LETTERS])

    def read_details(self) -> list[dict[str, Any]]:
        """What arguments say, by their numbers."""
        return [orjson.loads(text) for text in self.details]


def _external(args: Mapping[str, Any]) -> Any:
    found = args.get("External id")
    return args.get("external id", _NONE) if found is None else found


_WHOLE = (
    *("correlation", "External id", "external id", "device", "stream", "Sequence number"),
    *("Fwd thread id", "Bytes", "Total Allocated", "Total Reserved", "Device Id", "Device Type"),
)


def _mend(event: dict[str, Any]) -> dict[str, Any] | None:
    """The event with values of the types that the profiler writes; None where it lacks any."""
    name, start = event.get("name"), _real(event.get("ts"))
    if not isinstance(name, str) or math.isnan(start):
        return None
    said = event.get("args")
    args = dict(_whole_only(said)) if isinstance(said, dict) else {}
    made = {
        "name": name,
        "ts": start,
        "dur": _real(event.get("dur")),
        "pid": _thread(event.get("pid")),
        "tid": _thread(event.get("tid")),
        "ph": event.get("ph"),
        "id": _whole(event.get("id")),
        "args": args,
    }
    for key, value in (("device", made["pid"]), ("stream", made["tid"])):
        args.setdefault(key, _whole(value) or 0)
    if name == "[memory]":
        args.setdefault("Bytes", 0)
    return made


def _whole_only(args: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments, without numbers that are none and values that no JSON can hold."""
    for key, value in args.items():
        if key in _WHOLE:
            if (number := _whole(value)) is not None:
                yield key, number
        elif isinstance(key, str) and _is_plain(value):
            yield key, value


def _is_plain(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits
        return False
    return True


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if -_LARGEST < number < _LARGEST else None


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _thread(value: Any) -> int | str:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else str(value)
