"""Traces of torch.profiler as profiles: totals, kernels, modules, lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import H100, SyntheticTrace, build_step

OWN = sorted((Path(__file__).parents[3] / "gpu" / "traces").rglob("*.json.gz"))

Read = Callable[..., wb.RunProfile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_it(trace: SyntheticTrace, **more: Any) -> wb.RunProfile:
        return wb.read_profile(trace.write(tmp_path / "trace.json.gz"), **more)

    return read_it


def test_a_profile_says_how_long_the_device_took_and_how_busy_it_was(read: Read) -> None:
    p = read(build_step(2))
    assert (p.gpu, p.total_us, p.busy_us, p.idle_us) == ("h100", 294.0, 184.0, 110.0)
    assert p.sentence.startswith("294 µs on H100 SXM5 80 GB: 63 % busy")
    assert repr(p) == "RunProfile(h100, 3 kernels, 6 calls)"


def test_a_kernel_is_tied_to_its_operator_shapes_module_and_line(read: Read) -> None:
    row = next(iter(read(build_step(2)).tables["kernels"]))
    assert (row.name, row.calls, row.time_us) == ("sm90_gemm_bf16_tilesize128x128x64", 2, 120.0)
    assert (row.operator, row.shapes) == ("aten::mm", ((4096, 1024), (1024, 4096)))
    assert (row.module, row.line) == ("Model.Block.Linear", "model.py:30")
    assert (row.grid, row.block, row.registers) == ((132, 1, 1), (128, 1, 1), 64)


def test_a_backward_belongs_to_the_module_and_line_of_its_forward(read: Read) -> None:
    rows = list(read(build_step(2, backward=True)).tables["kernels"])
    (back,) = [row for row in rows if row.is_backward]
    assert (back.name, back.calls) == ("sm90_gemm_bf16_tilesize128x256x64", 2)
    assert (back.module, back.line) == ("Model.Block.Linear", "model.py:30")


def test_modules_are_a_tree_with_inclusive_and_own_time(read: Read) -> None:
    rows = {row.name: row for row in read(build_step(2)).tables["modules"]}
    assert [row.depth for row in rows.values()] == [0, 1, 2, 1, 2]
    assert (rows["Model_0"].time_us, rows["Model_0"].own_us) == (184.0, 0.0)
    assert (rows["Block_1"].time_us, rows["Block_1"].own_us) == (92.0, 32.0)
    assert rows["Linear_1"].parent == rows["Block_1"].id


def test_lines_are_those_of_the_program_once_each(read: Read) -> None:
    rows = {row.line: row for row in read(build_step(2)).tables["lines"]}
    assert rows["model.py:30"].own_us == rows["model.py:30"].time_us == 184.0
    assert (rows["train.py:20"].time_us, rows["train.py:20"].own_us) == (184.0, 0.0)


def test_a_replay_of_a_graph_is_one_launch(read: Read) -> None:
    trace = SyntheticTrace()
    trace.replay(0.0, [("a", 10.0, 5.0), ("b", 16.0, 5.0)])
    (row,) = read(trace).tables["launches"]
    assert (row.name, row.calls, row.kernels, row.is_graph) == ("cudaGraphLaunch", 1, 2, True)


def test_work_without_a_launch_is_counted_apart(read: Read) -> None:
    trace = build_step(1)
    trace.run("earlier", -100.0, 50.0, 10**6)
    p = read(trace)
    assert (p.header.unlaunched, p.header.unlaunched_us, p.total_us) == (1, 50.0, 94.0)
    assert p.notes[0].startswith("1 kernel or copy not counted (50.0 µs): launched before")


def test_what_a_trace_lacks_is_said_with_the_option_that_records_it(read: Read) -> None:
    trace = SyntheticTrace({"id": 0, "name": ""})
    trace.launch("k", 0.0, 10.0, 5.0)
    notes = " ".join(read(trace).notes)
    for option in ("record_shapes=True", "with_stack=True", "profile_memory=True", "gpu="):
        assert option in notes


@pytest.mark.parametrize(
    ("device", "gpu"),
    [
        ({"name": "NVIDIA H100 80GB HBM3"}, "h100"),
        ({"name": "AMD Instinct MI300X VF"}, "mi300x"),
        ({"name": "NVIDIA H200"}, "h200"),
        ({"name": ""}, ""),
        ({}, ""),
    ],
)
def test_the_device_is_found_by_its_name(read: Read, device: dict[str, Any], gpu: str) -> None:
    trace = SyntheticTrace({"id": 0, **device})
    trace.launch("k", 0.0, 10.0, 5.0)
    assert read(trace).gpu == gpu


def test_a_trace_without_devices_asks_for_one(read: Read) -> None:
    trace = SyntheticTrace()
    trace.launch("k", 0.0, 10.0, 5.0)
    del trace.head["deviceProperties"]
    assert read(trace).notes[0] == "The trace has no GPU name: pass gpu=, a name from wb.targets()."


def test_a_device_without_a_name_gets_a_suggestion(read: Read) -> None:
    trace = SyntheticTrace({"id": 0, "name": "", "numSms": 304, "totalGlobalMem": 206141652992})
    trace.launch("k", 0.0, 10.0, 5.0)
    p = read(trace)
    assert p.gpu == ""
    assert "pass gpu='mi300x'" in p.notes[0]
    assert "likely gpu='mi300x'" in p.sentence
    assert read(trace, gpu="mi300x").gpu == "mi300x"
    with pytest.raises(wb.UsageError, match="likely from gpu='mi300x'"):
        read(trace, gpu="mi30")


@pytest.mark.parametrize(
    ("runtime", "name", "call"),
    [
        ("xpu_runtime", "Intel(R) Data Center GPU Max 1550", "urEnqueueKernelLaunch"),
        ("mtia_runtime", "", "runFunction"),
        ("privateuse1_runtime", "", "launch"),
    ],
)
def test_streams_of_other_vendors_are_tied_to_their_launches(
    read: Read, runtime: str, name: str, call: str
) -> None:
    trace = SyntheticTrace({"id": 0, "name": name})
    external = trace.operator("aten::add", 0.0, 20.0, [[1024, 1024]] * 2)
    for place, stream in enumerate((3, 4)):
        number = trace.new_id()
        said = {"correlation": number, "External id": external}
        trace.add(runtime, call, 5.0 + place, 2.0, args=said)
        trace.run("their_add", 20.0 + 10 * place, 8.0, number, stream=stream)
    p = read(trace)
    assert (p.total_us, p.busy_us, p.gpu) == (18.0, 16.0, "")
    assert [(row.stream, row.busy_us) for row in p.tables["streams"]] == [(3, 8.0), (4, 8.0)]
    (row,) = p.tables["kernels"]
    assert (row.operator, row.calls, row.bound_us) == ("aten::add", 2, None)
    assert [(each.name, each.calls) for each in p.tables["launches"]] == [(call, 2)]


def test_a_part_of_a_gpu_is_said_to_be_one(read: Read) -> None:
    """What MIG gives has fewer multiprocessors, and its name says so or not."""
    part = {**H100, "numSms": 60, "totalGlobalMem": 42_000_000_000}
    whole, named = SyntheticTrace(part), SyntheticTrace({**part, "name": f"{H100['name']} MIG 3g"})
    for trace in (whole, named):
        trace.launch("k", 0.0, 10.0, 5.0)
    words = "has 60 of the H100 SXM5 80 GB's 132 multiprocessors"
    assert any(words in note for note in read(whole).notes)
    assert "pass gpu='h100'" in read(named).notes[0]
    assert any(words in note for note in read(named, gpu="h100").notes)
    other = read(whole, gpu="mi300x").notes  # that has more of them, which says nothing
    assert not any("multiprocessors" in note for note in other)
    assert not any("multiprocessors" in note for note in read(build_step(1)).notes)


def test_several_devices_in_one_file_are_told_apart(read: Read) -> None:
    trace = SyntheticTrace()
    other = {"id": 1, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}
    trace.head["deviceProperties"] = [dict(H100), other]
    trace.launch("k", 10.0, 60.0, 100.0, device=0)
    trace.launch("k", 12.0, 70.0, 100.0, device=0)
    trace.launch("k", 14.0, 200.0, 100.0, device=1)
    p = read(trace)
    assert [row.device for row in p.tables["streams"]] == [0, 1]
    assert (p.gpu, p.busy_us) == ("h100", 210.0)
    assert any(
        "The trace covers 2 devices (0: NVIDIA H100 80GB HBM3, 1: NVIDIA A100-SXM4-80GB)" in note
        and "are for device 0" in note
        for note in p.notes
    )
    trace.head["deviceProperties"][1] = {**H100, "id": 1}
    assert not any("are for device" in note for note in read(trace).notes)


def test_a_profile_is_saved_and_loaded(read: Read, tmp_path: Path) -> None:
    p = read(build_step(2, backward=True))
    p.save(tmp_path / "p.wbr")
    again = wb.RunProfile.load(tmp_path / "p.wbr")
    assert again.header == p.header
    for name in p.tables:
        assert list(again.tables[name]) == list(p.tables[name])
    with pytest.raises(wb.ArtifactError, match="device profile"):
        wb.Report.load(tmp_path / "p.wbr")


def test_a_trace_of_the_cpu_shows_its_operators(read: Read) -> None:
    trace = SyntheticTrace()
    trace.module("Linear_0", 0.0, 20.0)
    trace.operator("aten::linear", 1.0, 15.0, [(2, 3)])
    trace.operator("aten::addmm", 2.0, 10.0, [(2, 3)])
    p = read(trace)
    rows = {row.operator: row for row in p.tables["kernels"]}
    assert (rows["aten::linear"].time_us, rows["aten::addmm"].time_us) == (5.0, 10.0)
    assert (p.total_us, p.busy_us, rows["aten::addmm"].module) == (15.0, 15.0, "Linear")
    assert rows["aten::addmm"].does == "product"
    assert "CPU operators" in p.sentence
    assert "Matmuls take 15.0 µs" in p.sentence
    assert "ProfilerActivity.CUDA" in p.notes[0]


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_totals_agree_with_the_events_of_the_trace(path: Path) -> None:
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")]
    launched = {e["args"]["correlation"] for e in calls}
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    own = [e for e in work if e["args"]["correlation"] in launched]
    p = wb.read_profile(path)
    assert sum(p.frame("kernels").calls) == len(own)
    assert sum(p.frame("kernels").time_us) == pytest.approx(sum(e["dur"] for e in own), rel=1e-3)
    assert p.busy_us + p.idle_us == pytest.approx(p.total_us)
    last = max(e["ts"] + e["dur"] for e in own)
    assert p.total_us == pytest.approx(last - min(e["ts"] for e in own), rel=1e-3)
