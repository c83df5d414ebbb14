"""Profiles made by hand, for tests of what is read from one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.report.table import Table
from workbench.worlds.profiles.rows.profile_rows import (
    PROFILE_TABLES,
    DeviceEvent,
    ProfileHeader,
    RanKernel,
)
from workbench.worlds.profiles.rows.run_profile import RunProfile

BFLOAT16 = "c10::BFloat16"


def run(id: str, name: str, operator: str, *shapes: Sequence[int], **more: Any) -> RanKernel:
    """A kernel that ran once for 10 µs, by its operator and the shapes of its inputs."""
    dtype = more.pop("dtype", BFLOAT16)
    return RanKernel(
        id=id,
        name=name,
        calls=more.pop("calls", 1),
        time_us=more.pop("time_us", 10.0),
        operator=operator,
        shapes=tuple(tuple(shape) for shape in shapes),
        dtypes=(dtype,) * len(shapes),
        strides=more.pop("strides", ()),
        **more,
    )


def follow(kernels: Iterable[RanKernel], times: int = 1) -> list[DeviceEvent]:
    """The kernels one after the other on a stream, so many times."""
    events, at = list[DeviceEvent](), 0.0
    for kernel in [*kernels] * times:
        us = kernel.time_us / kernel.calls
        events.append(DeviceEvent(kernel.id, at, us, 0, 7, at - 5.0, "1"))
        at += us
    return events


def make_profile(**rows: Sequence[Any]) -> RunProfile:
    """A profile on an H100 with these tables; without `events` the kernels follow one another."""
    kernels = rows.get("kernels", ())
    rows = {"events": follow(kernels), **rows}
    tables = {
        name: Table.of(row_type, rows.get(name, ())) for name, row_type in PROFILE_TABLES.items()
    }
    busy = sum(kernel.time_us for kernel in kernels)
    idle = sum(gap.duration_us for gap in rows.get("gaps", ()))
    header = ProfileHeader(
        source="trace.json.gz",
        device_name="NVIDIA H100 80GB HBM3",
        gpu="h100",
        gpu_title="H100 SXM5 80 GB",
        total_us=busy + idle,
        busy_us=busy,
        idle_us=idle,
        events=len(rows["events"]),
    )
    return RunProfile(header, tables)
