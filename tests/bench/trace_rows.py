"""The kernels of traces of torch's profiler, each with the call that started it."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.analysis.library_kernels.kernel_names import read_kernel_name
from workbench.analysis.library_kernels.library_kernel import LibraryKernel
from workbench.analysis.library_kernels.operator_call import OperatorCall

ROOT = Path(__file__).parents[2]
OURS = sorted((ROOT / "tests" / "gpu" / "traces").glob("**/*.json.gz"))
"""Traces of an H100 and an H200 that the project made."""
TARGETS = {
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
    "AMD Instinct MI300X": "mi300x",
    "AMD Instinct MI300X VF": "mi300x",
}
"""By the name in a trace the target it is."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel that ran: what it is, its time in µs, the call, how many share the call's work."""

    trace: str
    target: str | None
    kernel: LibraryKernel
    us: float
    call: OperatorCall | None
    launches: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    start_us: float


def read_rows(path: Path) -> list[KernelRow]:
    """Kernels, copies and fills of a trace in the order of their beginning."""
    with gzip.open(path) as file:
        content = json.load(file)
    events = content["traceEvents"]
    device = (content.get("deviceProperties") or [{}])[0].get("name")
    calls = dict(_list_calls(events))
    ran = sorted((e for e in events if e.get("cat") in _DEVICE), key=lambda event: event["ts"])
    shared: Counter[Any] = Counter(_key(event) for event in ran)
    name = f"{path.parent.name}/{path.name}" if path.parent.name in ("h100", "h200") else path.name
    return [
        KernelRow(
            name.removesuffix(".json.gz"),
            TARGETS.get(device),
            read_kernel_name(event["name"]),
            float(event["dur"]),
            calls.get(_id(event)),
            shared[_key(event)],
            tuple(event["args"].get("grid", ())),
            tuple(event["args"].get("block", ())),
            float(event["ts"]),
        )
        for event in ran
    ]


_DEVICE = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))


def _id(event: dict[str, Any]) -> Any:
    return event["args"].get("External id")


def _key(event: dict[str, Any]) -> Any:
    kernel = read_kernel_name(event["name"])
    return _id(event), kernel.kind, kernel.part, kernel.family


def _list_calls(events: list[dict[str, Any]]) -> Iterator[tuple[Any, OperatorCall]]:
    for event in events:
        if event.get("cat") == "cpu_op" and "External id" in event.get("args", {}):
            args = event["args"]
            yield (
                _id(event),
                OperatorCall(
                    event["name"],
                    args.get("Input Dims", ()),
                    args.get("Input type", ()),
                    args.get("Input Strides", ()),
                    args.get("Concrete Inputs", ()),
                ),
            )


def group_rows(rows: list[KernelRow]) -> dict[Any, list[KernelRow]]:
    """Rows of the same kernel, device and call together."""
    groups: dict[Any, list[KernelRow]] = defaultdict(list)
    for row in rows:
        call = (
            None
            if row.call is None
            else (row.call.name, str(row.call.shapes), str(row.call.strides))
        )
        groups[row.trace, row.kernel.name, call, row.launches].append(row)
    return groups
