"""Traces of torch.profiler as profiles: seconds and memory of a large one and of an usual one."""

from __future__ import annotations

import gzip
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tests.bench.figure import ROOT, Figure, child, peak_bytes

CONDITIONS = (
    "A vision transformer's training step on an H200, compiled and eager, with shapes, "
    "modules and stacks, repeated with other ids and times. Fresh processes, import and all "
    "tables included. File in the page cache"
)
TRACES = ROOT / "tests" / "gpu" / "traces" / "h200"
STEPS = ("patches_step_compiled.json.gz", "patches_step_eager.json.gz")
GB, MB = 1e9, 1e6
REACH_S, REACH_GB, REACH_USUAL_S = 25.0, 1.5, 1.5
USUAL_EVENTS = 65_000
_IDS = ("correlation", "External id", "Sequence number")


def figures(quick: bool = False) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        size = GB / 10 if quick else GB
        large, usual = Path(folder) / "large.json", Path(folder) / "usual.json.gz"
        events = write_large(large, int(size))
        write_usual(usual)
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        rounds = range(1 if quick else 3)
        read = [child(__name__, str(large), variables=variables) for _ in rounds]
        quickly = [child(__name__, str(usual), variables=variables) for _ in rounds]
    seconds = statistics.median(each["seconds"] for each in read)
    peak = max(each["peak"] for each in read) / GB
    what = f"a trace of {size / GB:g} GB as a profile"
    note = f"{events:,} events, {read[0]['calls']:,} kernels and copies"
    yield Figure(f"{what} (s)", seconds, None, seconds, REACH_S * size / GB, "s", note)
    yield Figure("  peak memory", peak, None, peak, REACH_GB, "GB")
    took = statistics.median(each["seconds"] for each in quickly)
    name = f"a trace of {USUAL_EVENTS:,} events, compressed (s)"
    yield Figure(name, took, None, took, REACH_USUAL_S, "s")


def write_large(path: Path, size: int) -> int:
    """Write a trace of so many bytes; the number of its events is returned."""
    written = count = 0
    with path.open("wb") as file:
        file.write(b'{"schemaVersion": 1,\n  "deviceProperties": ')
        file.write(orjson.dumps(read_step(STEPS[0])["deviceProperties"]))
        file.write(b',\n  "record_shapes": 1, "with_stack": 1,\n  "traceEvents": [\n  ')
        for copy in repeat_steps():
            text = b",\n  ".join(map(orjson.dumps, copy))
            file.write(text if not written else b",\n  " + text)
            written, count = written + len(text), count + len(copy)
            if written >= size:
                break
        file.write(b'\n  ],\n  "displayTimeUnit": "ms", "baseTimeNanoseconds": 0}\n')
    return count


def write_usual(path: Path) -> None:
    """Write a compressed trace of as many events as a profile of some steps has."""
    events: list[Any] = []
    for copy in repeat_steps():
        events += copy
        if len(events) >= USUAL_EVENTS:
            break
    head = {"deviceProperties": read_step(STEPS[0])["deviceProperties"]}
    path.write_bytes(gzip.compress(orjson.dumps({**head, "traceEvents": events}), 5))


def read_step(name: str) -> dict[str, Any]:
    """A trace of the project's own."""
    made: dict[str, Any] = orjson.loads(gzip.decompress((TRACES / name).read_bytes()))
    return made


def repeat_steps() -> Iterator[list[dict[str, Any]]]:
    """The events of one step after the other, each with ids and times of its own."""
    steps = [[e for e in read_step(name)["traceEvents"] if "ts" in e] for name in STEPS]
    times = [[e["ts"] for e in step] for step in steps]
    long = max(max(own) - min(own) for own in times) * 1.1
    first = [min(own) for own in times]
    number = 0
    while True:
        for step, begin in zip(steps, first, strict=True):
            shift, ids = number * long - begin, number * 10_000_000
            yield [move_event(event, shift, ids) for event in step]
            number += 1


def move_event(event: dict[str, Any], shift: float, ids: int) -> dict[str, Any]:
    """The event at another time and with other ids."""
    moved = {**event, "ts": round(event["ts"] + shift, 3)}
    if "id" in event:
        moved["id"] = event["id"] + ids
    if args := event.get("args"):
        own = {name: args[name] + ids for name in _IDS if name in args}
        moved["args"] = {**args, **own} if own else args
    return moved


def read_here(path: Path) -> dict[str, Any]:
    """Seconds and peak memory of this process, which reads the trace."""
    start = time.perf_counter()
    import workbench as wb

    profile = wb.read_profile(path)
    seconds = time.perf_counter() - start
    calls = sum(row.calls for row in profile.tables["kernels"])
    return {"seconds": seconds, "peak": peak_bytes(), "calls": calls}


if __name__ == "__main__":
    print(json.dumps(read_here(Path(sys.argv[1]))))
