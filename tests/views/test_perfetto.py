from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.analysis.collectives.test_streams import record
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.table import Table
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent
from workbench.worlds.profiles.rows.run_profile import RunProfile

RECORDS = Path(__file__).parents[1] / "records"
PROFILE = Path(__file__).parents[1] / "gpu" / "traces" / "eager.json.gz"


def read(path: Path) -> tuple[list[dict[str, Any]], dict[tuple[int, int], str]]:
    """The events that took time, and the names of processes with their threads."""
    events = json.loads(path.read_text())["traceEvents"]
    told = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    return [e for e in events if e["ph"] == "X"], told


def test_logs_of_ranks_become_one_trace_with_a_process_for_each(tmp_path: Path) -> None:
    trace = wb.read_trace(RECORDS / "traces" / "unlike")
    path = tmp_path / "ranks.json"
    assert trace.to_perfetto(path) == str(path)
    events, names = read(path)
    assert len(events) == len(trace.phases)
    assert {names[event["pid"], 0] for event in events} == {
        "compilation, rank 0",
        "compilation, rank 1",
    }
    first = trace.phases[0]
    (event,) = [e for e in events if (e["name"], e["ts"]) == (first.name, first.start_s * 1e6)]
    assert event["dur"] == first.duration_s * 1e6
    assert all((event["pid"], event["tid"]) in names for event in events)


def test_a_profile_has_its_streams_and_the_threads_of_the_cpu(tmp_path: Path) -> None:
    profile = wb.read_profile(PROFILE)
    events, names = read(Path(profile.to_perfetto(tmp_path / "run.json")))
    device = [event for event in events if event["cat"] == "device"]
    assert len(device) == len(profile.tables["events"])
    total = sum(row.duration_us for row in profile.tables["events"])
    assert sum(event["dur"] for event in device) == pytest.approx(total)
    assert {names[event["pid"], 0] for event in device} == {"device 0"}


def test_what_ran_before_the_profile_began_is_not_before_zero(tmp_path: Path) -> None:
    """Perfetto drops events before it; their distances stay."""
    profile = wb.read_profile(PROFILE)
    rows = [replace(row, start_us=row.start_us - 5e6) for row in profile.tables["events"]]
    tables = {**profile.tables, "events": Table.of(DeviceEvent, rows)}
    early = RunProfile(profile.header, tables)
    events, _ = read(Path(early.to_perfetto(tmp_path / "run.json")))
    assert min(event["ts"] for event in events) == 0
    times = [event["ts"] for event in events if event["cat"] == "device"]
    starts = [row.start_us for row in rows]
    assert times[-1] - times[0] == pytest.approx(starts[-1] - starts[0])


def test_what_has_no_times_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no timed phases to draw over time"):
        Report().to_perfetto(tmp_path / "empty.json")
    assert not (tmp_path / "empty.json").exists()


def test_a_program_of_a_cluster_has_one_modelled_call(tmp_path: Path) -> None:
    path = tmp_path / "call.json"
    record("k", ">", "k", "<", "k").to_perfetto(path)
    events, names = read(path)
    assert [(e["name"], e["cat"]) for e in events] == [
        ("triton_0", "kernel"),
        ("all_reduce", "collective"),
        ("triton_0", "kernel"),
        ("waits for all_reduce", "wait"),
        ("triton_0", "kernel"),
    ]
    assert {names[e["pid"], e["tid"]] for e in events} == {"kernels", "group 0"}
    assert {names[e["pid"], 0] for e in events} == {"one call on h100, modelled"}
