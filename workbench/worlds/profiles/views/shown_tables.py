"""The tables of a profile as they are shown: titles, columns, rows in plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.report.table import Table
from workbench.views.tables.column import Column, Shown
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.profile_words import KernelWords

_KERNELS = (
    Column("Kernel", "title", width="minmax(160px, 3fr)", full="name"),
    Column("Calls", "calls", "count", width="52px", is_wide=True),
    Column("Time", "time_us", "us", width="72px"),
    Column("Share", "share", "share", width="58px", is_wide=True),
    Column("Of its bound", "reached", "number", width="minmax(96px, 0.9fr)"),
    Column("Modelled", "modelled_us", "us", width="112px", is_wide=True),
    Column("Why slow", "why_slow", "prose", width="minmax(90px, 1.6fr)"),
)
_MODULES = (
    Column("Module", "shown_name", "code", full="name"),
    Column("Calls", "calls", "count", is_wide=True),
    Column("Time", "time_us", "us"),
    Column("Own", "own_us", "us"),
    Column("Share", "share", "share"),
    Column("Backward", "backward_us", "us", is_wide=True, is_optional=True),
    Column("Kernels", "kernels", "count"),
    Column("CPU", "host_us", "us", is_wide=True),
)
_LINES = (
    Column("Line", "line", "word", width="minmax(150px, 1.5fr)", full="file"),
    Column("Function", "function", "code"),
    Column("Calls", "calls", "count", is_wide=True),
    Column("Time", "time_us", "us"),
    Column("Own", "own_us", "us"),
    Column("Share", "share", "share"),
    Column("CPU", "host_us", "us", is_wide=True),
)
_GAPS = (
    Column("At", "start_us", "us"),
    Column("Idle", "duration_us", "us"),
    Column("Cause", "cause", "word"),
    Column("Why", "why", "prose"),
    Column("Line", "line", "word"),
    Column("Before it", "before_title", is_wide=True),
    Column("After it", "after_title", is_wide=True),
)
_STEPS = (
    Column("Name", "name", "code"),
    Column("Kind", "kind", "word"),
    Column("At", "start_us", "us"),
    Column("On the device", "device_us", "us"),
    Column("On the CPU", "host_us", "us"),
    Column("Kernels", "kernels", "count"),
    Column("Launches", "launches", "count"),
)
_LAUNCHES = (
    Column("Call", "name", "code"),
    Column("Calls", "calls", "count"),
    Column("Kernels", "kernels", "count"),
    Column("On the CPU", "host_us", "us"),
    Column("Until it runs", "delay_us", "us", hint="Median."),
)
_STREAMS = (
    Column("Stream", "stream", "right"),
    Column("Device", "device", "right", is_wide=True),
    Column("Calls", "calls", "count"),
    Column("Busy", "busy_us", "us"),
    Column("Alone", "alone_us", "us"),
    Column("Share", "share", "share"),
    Column("What", "kinds", "prose"),
)
_COLLECTIVES = (
    Column("Collective", "name", "code"),
    Column("Calls", "calls", "count"),
    Column("Time", "time_us", "us"),
    Column("Exposed", "exposed_us", "us"),
    Column("Bytes", "bytes", "B"),
    Column("Dtype", "dtype", "word", is_wide=True),
    Column("Group", "group", "word", is_wide=True),
    Column("Ranks", "group_size", "count"),
    Column("Bus, GB/s", "bus_gbs", "amount"),
    Column("A call, modelled", "model_us", "us", is_wide=True),
)
_MEMORY = (
    Column("At", "at_us", "us"),
    Column("Bytes", "bytes", "B", "88px"),
    Column("Allocated", "allocated", "B"),
    Column("Reserved", "reserved", "B"),
    Column("Device", "device", "word"),
    Column("Module", "module", "code"),
    Column("Line", "line", "word"),
)
_RANK = Column("Rank", "rank", "right", is_optional=True)
_RANKS = (
    Column("Rank", "rank", "right"),
    Column("File", "file", "code"),
    Column("Device", "device_name", "word"),
    Column("Total", "total_us", "us"),
    Column("Busy", "busy_us", "us"),
    Column("Idle", "idle_us", "us"),
    Column("Exposed collectives", "collectives_us", "us"),
)
_RECORD = (
    Column("In the report", "record", "code", width="88px", full="name"),
    Column("Kernel", "title", width="minmax(140px, 1.6fr)"),
    Column("Line", "line", "code", width="minmax(160px, 2fr)"),
    Column("Fused", "fused", width="minmax(120px, 1.6fr)", full="fused"),
    Column("Nodes", "nodes", "length", is_wide=True),
    Column("Time", "time_us", "us", hint="Median time per call of the program."),
)
_INDENT = " " * 2


def list_tables(profile: RunProfile, words: Mapping[str, KernelWords]) -> list[Shown]:
    """Every table but the events of the timeline, the kernels first."""
    own = profile.tables

    def show(
        name: str,
        title: str,
        columns: Sequence[Column],
        none: str,
        cost: str,
        more: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> Shown:
        rows = [more(row) for row in _list_rows(own[name])]
        columns = tuple(columns) if name == "ranks" else (*columns, _RANK)
        return Shown(name, title, columns, rows, none, cost, own[name].omitted)

    def name_kernel(row: dict[str, Any]) -> dict[str, Any]:
        known = words[row["id"]]
        return {**row, "title": known.title, "kind": known.kind}

    def name_around(row: dict[str, Any]) -> dict[str, Any]:
        titles = {
            f"{side}_title": words[row[side]].title if row[side] in words else ""
            for side in ("before", "after")
        }
        return {**row, **titles}

    def indent(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "shown_name": f"{_INDENT * row['depth']}{row['name'] or 'outside'}"}

    def tell_record(row: dict[str, Any]) -> dict[str, Any]:
        fused = ", ".join(row["operations"])
        return {
            **row,
            "title": words[row["kernel"]].title,
            "line": "; ".join(row["lines"]),
            "fused": fused,
        }

    no_modules, no_lines = (
        f"No {name} were recorded: pass with_stack=True, with_modules=True."
        for name in ("modules", "lines")
    )
    what = "Operators" if profile.header.on_cpu else "Kernels"
    kernels = (replace(_KERNELS[0], title=what[:-1]), *_KERNELS[1:])
    recorded = ("record", "Report", _RECORD, "", "time_us", tell_record)
    return [
        show("kernels", what, kernels, "Nothing ran on a device.", "time_us", name_kernel),
        show("modules", "Modules", _MODULES, no_modules, "time_us", indent),
        show("lines", "Lines", _LINES, no_lines, "own_us"),
        show("gaps", "Idle", _GAPS, "The device was never idle.", "duration_us", name_around),
        show("launches", "Launches", _LAUNCHES, "No launch was recorded.", "host_us"),
        show("steps", "Steps", _STEPS, "No step was marked: call `prof.step()`.", "device_us"),
        show("streams", "Streams", _STREAMS, "Nothing ran on a stream.", "busy_us"),
        show("collectives", "Collectives", _COLLECTIVES, "No collective ran.", "time_us"),
        show(
            "memory",
            "Memory",
            _MEMORY,
            "Memory was not recorded: pass profile_memory=True.",
            "bytes",
        ),
        *(show(*each) for each in [recorded] if len(own["record"])),
        *([show("ranks", "Ranks", _RANKS, "", "total_us")] if len(own["ranks"]) > 1 else []),
    ]


def _list_rows(table: Table[Any]) -> list[dict[str, Any]]:
    names = list(table.columns)
    return [
        dict(zip(names, values, strict=True))
        for values in zip(*table.columns.values(), strict=True)
    ]
