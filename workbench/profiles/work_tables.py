"""The tables of a profile, each built from the work of the device."""

from __future__ import annotations

from typing import Any

from workbench.profiles.collective_rows import list_collectives
from workbench.profiles.device_times import Busy, list_launches, list_streams
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.host_rows import list_host_spans, list_memory, list_steps
from workbench.profiles.idle_gaps import list_gaps
from workbench.profiles.kernel_rows import list_events, list_kernels
from workbench.profiles.known_kernels import add_facts
from workbench.profiles.module_rows import list_lines, list_modules
from workbench.report.profile.profile_rows import PROFILE_TABLES
from workbench.report.table import Table
from workbench.specs import Gpu


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
