"""Steps, memory and the spans of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace, build_step
from workbench.worlds.profiles.reading import work_tables


def test_a_step_has_the_device_time_that_was_launched_in_it(tmp_path: Path) -> None:
    trace = build_step(2)
    trace.annotation("Optimizer.step#SGD.step", 0.0, 100.0)
    trace.annotation("execute_8192_context_9_generation_37", 200.0, 300.0)
    steps = {
        row.kind: row for row in wb.read_profile(trace.write(tmp_path / "t.json")).tables["steps"]
    }
    assert steps["profiler step"].name == "ProfilerStep#3"
    assert (steps["profiler step"].device_us, steps["profiler step"].launches) == (184.0, 6)
    assert (steps["optimizer"].device_us, steps["server step"].device_us) == (60.0, 92.0)


def test_memory_is_told_with_its_line(tmp_path: Path) -> None:
    trace = build_step(1)
    trace.memory(60.0, 512, 1024, 2048)
    (row,) = wb.read_profile(trace.write(tmp_path / "t.json")).tables["memory"]
    assert (row.bytes, row.allocated, row.reserved, row.device) == (512, 1024, 2048, "0")
    assert (row.module, row.line) == ("Linear_0", "model.py:30")


def test_of_very_many_events_of_memory_the_highest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_tables, "MOST_MEMORY", 4)
    trace = build_step(1)
    for at in range(100):
        trace.memory(float(at), 1, 900 if at == 57 else at, 2048)
    table = wb.read_profile(trace.write(tmp_path / "t.json")).tables["memory"]
    assert [row.allocated for row in table] == [24, 49, 900, 99]
    assert table.omitted == 96


def test_spans_of_a_thread_lie_within_each_other(tmp_path: Path) -> None:
    rows = list(wb.read_profile(build_step(1).write(tmp_path / "t.json")).tables["host"])
    spans = {row.name: (row.kind, row.depth) for row in rows}
    assert spans["ProfilerStep#3"] == ("annotation", 0)
    assert spans["Model_0"] == ("module", 1)
    assert spans["Linear_0"] == ("module", 3)
    assert spans["aten::mm"] == ("operator", 4)
    assert spans["cudaStreamSynchronize"][0] == "synchronisation"


def test_compiled_regions_give_kernels_their_compile_id(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.operator("Torch-Compiled Region: 1/0", 0.0, 100.0)
    trace.annotation("## Call CompiledFxGraph fabc ##", 10.0, 80.0)
    own = {"kernel_hash": "cxyz", "kernel_file": "/tmp/cxyz.py"}
    external = trace.operator("triton_poi_fused_add_0", 20.0, 10.0, [(8, 8)], **own)
    trace.launch("triton_poi_fused_add_0", 22.0, 30.0, 5.0, external)
    (row,) = wb.read_profile(trace.write(tmp_path / "t.json")).tables["kernels"]
    assert (row.compile_id, row.graph_key, row.kernel_hash) == ("1/0", "fabc", "cxyz")
