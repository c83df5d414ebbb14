"""What a run on a GPU computes from its rows, by hand-made rows: no device, nothing compiled."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.gpu import __main__ as target
from tests.gpu import (
    accuracy,
    configs,
    differences,
    figures,
    files,
    launching,
    memory,
    modes,
    packages,
    profiling,
    programs,
    ranks,
    same_programs,
    tracing,
    traffic,
)
from tests.gpu.accuracy import Errors
from tests.gpu.launching import Launching
from tests.gpu.loading import Loaded
from tests.gpu.memory import Peaks
from tests.gpu.parts import WHOLE_S, Part, run_part
from tests.gpu.profiling import Profiled
from tests.gpu.record import GpuRecord
from tests.gpu.same_programs import Found, read_share
from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import Assembly, RankedConfig, Resources

Row = dict[str, Any]
Told = Callable[[], tuple[dict[str, Row], list[Row]]]
SCORES = Path(__file__).parents[1] / "assets" / "scores_h100.wbr"


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """The figures that were printed by their names, and the rows of tables."""

    def read() -> tuple[dict[str, Row], list[Row]]:
        lines = capsys.readouterr().out.splitlines()
        found = [json.loads(line[8:]) for line in lines if line.startswith(figures.MARK)]
        rows = [json.loads(line[7:])["row"] for line in lines if line.startswith(figures.TABLE)]
        return {row["name"]: row for row in found}, rows

    return read


# identical code


@pytest.fixture(scope="module")
def report() -> Report:
    """Kernels for an H100 with their code, from a file."""
    return wb.Report.load(SCORES)


def changed(report: Report, name: str, kind: Any, rows: list[Any], **texts: str) -> Report:
    return replace(
        report,
        tables={**report.tables, name: Table.of(kind, rows)},
        texts={**report.texts, **texts},
    )


def test_a_record_is_identical_with_itself(report: Report, told: Told) -> None:
    rows = differences.compared("scores", report, report)
    assert {row.verdict for row in rows} == {"identical"}
    assert {row.aspect for row in rows} == set(differences.ASPECTS)
    differences.tell(rows, {"other": "it failed"})
    found, tables = told()
    assert found["identical: everything compared"]["value"] == 1.0
    assert found["identical: sass"]["note"] == "4 compared, 0 not checked"
    assert tables == [{"program": "other", "reason": "it failed"}]


def test_every_difference_is_named(report: Report, told: Told) -> None:
    first, second, *others = report.resources
    rows = [replace(first, registers=99), replace(second, warps=16), *others]
    other = changed(report, "resources", Resources, rows)
    found = {
        (row.aspect, row.difference)
        for row in differences.compared("scores", report, other)
        if row.verdict == "differs"
    }
    assert found == {
        ("registers", "20 on the device, 99 for the virtual GPU"),
        ("configuration", "only on the device"),
        ("configuration", "only for the virtual GPU"),
    }


def test_code_is_compared_by_line_but_for_names_of_files(report: Report) -> None:
    def with_ptx(text: str) -> Report:
        rows = [
            replace(row, text="changed") if (row.config, row.stage) == ("k0:c0", "ptx") else row
            for row in report.assembly
        ]
        return changed(report, "assembly", Assembly, rows, changed=text)

    place = ".global .b8 assertFile_0[{0}] = {{{0}}};\n.loc 1 2 // {0}.py\nadd.s32 %r1, %r2, {1};"
    one, same, other = (with_ptx(place.format(*each)) for each in ((1, 5), (2, 5), (1, 6)))
    assert {row.verdict for row in differences.compared("scores", one, same)} == {"identical"}
    (found,) = (
        row for row in differences.compared("scores", one, other) if row.verdict == "differs"
    )
    assert (found.aspect, found.config) == ("ptx", "XBLOCK=1, num_warps=8, num_stages=1")
    assert found.difference == (
        "line 3: 'add.s32 %r1, %r2, 5;' on the device, 'add.s32 %r1, %r2, 6;' for the virtual "
        "GPU; 1 lines of 3 differ"
    )


def test_settings_that_differ_are_said_once_and_are_in_no_share(report: Report, told: Told) -> None:
    texts = {
        kernel.text: report.texts[kernel.text].replace("'backend_hash': 'A79", "'backend_hash': 'B")
        for kernel in report.kernels
        if kernel.text is not None
    }
    other = replace(report, texts={**report.texts, **texts})
    differences.tell(differences.compared("scores", report, other), {})
    found, (row,) = told()
    assert found["identical: everything compared"]["value"] == 1.0
    assert (row["aspect"], row["kernels"]) == ("settings", 4)
    assert row["difference"].startswith("inductor_meta['backend_hash']: 'A79")


def test_a_kernel_of_one_side_and_code_that_is_missing(report: Report, told: Told) -> None:
    without = changed(report, "kernels", Kernel, list(report.kernels)[1:])
    rows = differences.compared("scores", without, changed(report, "assembly", Assembly, []))
    assert [row.difference for row in rows if row.verdict == "differs"] == [
        "only for the virtual GPU"
    ]
    unchecked = [row for row in rows if row.verdict == "not checked"]
    assert {row.aspect for row in unchecked} == {"ptx", "sass"}
    differences.tell(rows, {})
    found, _ = told()
    assert found["identical: sass"]["value"] is None
    assert found["identical: sass"]["note"].endswith("0 compared, 3 not checked")


# numbers


def errors(program: str, interpreter: float, device: float, **more: str) -> Errors:
    verdicts = {"interpreter_verdict": "passed", "device_verdict": "passed", **more}
    return Errors(program, "output", "float32", interpreter, device, atol=1e-5, rtol=0, **verdicts)


def test_programs_that_the_device_computes_otherwise_are_named(told: Told) -> None:
    rows = [errors("a", 1e-6, 2e-6), errors("b", 1e-6, 1e-3, device_verdict="failed")]
    accuracy.tell(rows, {"c": "drawn"})
    found, tables = told()
    counted = found["interpreter: programs compared with float64"]
    assert (counted["value"], counted["reach"], counted["note"]) == (2, 40, "1 not compared")
    assert found["interpreter: same verdict as the device"]["value"] == 0.5
    assert found["interpreter: same verdict as the device"]["note"] == "differs: b"
    assert [row["program"] for row in tables] == ["c", "a", "b"]


def test_without_programs_the_interpreter_is_not_checked(told: Told) -> None:
    accuracy.tell([], {"a": "it failed"})
    found, _ = told()
    assert found["interpreter: same verdict as the device"]["value"] is None


def test_what_a_process_has_told_is_kept_where_it_does_not_end() -> None:
    found = Found(no_code={"a": "why"})
    told = f"print('found: ' + {json.dumps(json.dumps(asdict(found)))}, flush=True)"
    command = (sys.executable, "-c", f"{told}\nimport time\ntime.sleep(60)")
    read, ended = read_share(command, last_s=3)
    assert read == found
    assert ended.startswith("its process ended with exit code -9")


def test_there_are_forty_programs_whose_numbers_can_be_compared() -> None:
    named = [program.name for program in programs.programs()]
    assert len(set(named)) == len(named)
    assert len(set(named) - programs.WITHOUT_NUMBERS.keys()) >= accuracy.WANTED


def test_double_precision_keeps_dtypes_and_gradients() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    linear = torch.nn.Linear(2, 1)
    for function in (lambda v: (v.sin().half(), v.sum()), linear):
        usual, exact = function(x), same_programs.in_double(function, (x,))(x)
        assert same_programs.dtypes_of(exact) == same_programs.dtypes_of(usual)
    exact.sum().backward()
    torch.testing.assert_close(x.grad, linear.weight[0].detach())


# estimated and measured times


def test_configurations_are_ranked_by_kernel(told: Told) -> None:
    right, wrong = [(1, 5.0), (2, 6.0), (3, 9.0)], [(3, 5.0), (1, 9.0), (2, 6.0)]
    ranks.tell_configs({"k0": right, "k1": wrong, "k2": right[:2]})
    found, _ = told()
    assert found["rank correlation of configurations: k0"]["value"] == pytest.approx(1)
    worst = found["rank correlation of configurations: k1"]
    assert worst["value"] == pytest.approx(-1)
    assert worst["note"] == (
        "3 configurations. The top pick takes 1.80× the best time, the best of the top 5 1.00×"
    )
    assert found["rank correlation of configurations: k2"]["value"] is None
    mean = found["rank correlation of rank_configs and measured times"]
    assert (mean["value"], mean["reach"]) == (pytest.approx(0), 0.8)
    assert found["time of the top pick over the fastest configuration"]["value"] == 1.8
    assert found["time of the best of the top 5 over the fastest configuration"]["value"] == 1


KERNEL = """import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 256},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32',
                               'XBLOCK': 'constexpr'}, 'constants': {}, 'configs': [{}]},
    inductor_meta={'grid_type': 'Grid1D'},
)
@triton.jit
def triton_doubled(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 200
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    xmask = xindex < xnumel
    tl.store(out_ptr0 + xindex, tl.load(in_ptr0 + xindex, xmask) * 2, xmask)
"""


def test_each_configuration_of_a_kernel_is_launched_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Told
) -> None:
    """By Triton's own interpreter, which launches as on a device."""
    import triton

    importlib.import_module("torch._inductor.runtime.triton_heuristics")  # not as interpreted ones
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)
    launched = configs.LaunchedKernel(KERNEL, tmp_path, "cpu", 200)
    row = RankedConfig("k0", "h100", "XBLOCK=64", 4, 1, rank=1, model_us=3.0)
    launched.launch(row)
    assert launched.tensors["out_ptr0"].tolist() == [2.0] * 200

    kernel = Kernel("k0", "triton_doubled", "triton", "g0", text="source")
    rows = [row, replace(row, rank=2, choice="XBLOCK=48"), replace(row, rank=None, rejection="no")]
    report = Report(
        tables={
            "kernels": Table.of(Kernel, [kernel]),
            "ranked_configs": Table.of(RankedConfig, rows),
        },
        texts={"source": KERNEL},
    )
    ranked = RankedConfigs(report, "k0", "h100")
    times = configs.config_times(report, ranked, "cpu", 200, clock=lambda run: run() or 7.0)
    assert times == [(1, 7.0)]  # by rank: most have the same bound
    _, tables = told()
    assert [row.get("measured_us") for row in tables] == [7.0, None, None]
    assert "power of 2" in tables[1]["reason"]
    assert tables[2]["reason"] == "no"


def test_launches_by_the_model_stand_beside_a_trace(told: Told) -> None:
    found = Launching(1000.0, 800.0, 1200.0, 900.0, 200, 210, launch_us=6.0, saved_then=0.3)
    launching.tell(found)
    rows, _ = told()
    assert rows["saved by CUDA graphs, by wb.launches"]["value"] == pytest.approx(0.2)
    assert rows["saved by CUDA graphs, measured"]["value"] == pytest.approx(0.25)
    then = rows["saved by CUDA graphs, by wb.launches with the profiled launch cost"]
    assert (then["value"], then["note"]) == (0.3, "6.0 µs per launch")
    launching.tell(replace(found, graph_us=None, traced=None, no_graph="it cannot be recorded"))
    rows, _ = told()
    assert rows["saved by CUDA graphs, measured"]["note"] == "it cannot be recorded"
    assert rows["modelled kernel launches over those in a trace"]["value"] is None


def test_kernels_of_a_trace_are_those_of_the_device() -> None:
    events = [
        {"cat": "kernel", "name": "late", "ts": 9.5, "dur": 2.5},
        {"cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 1},
        {"cat": "gpu_user_annotation", "name": "a range", "ts": 1, "dur": 9},
        {"cat": "kernel", "name": "early", "ts": 2, "dur": 1},
        {"ph": "M", "name": "process_name"},
    ]
    assert tracing.kernels_in(events) == [("early", 1.0), ("late", 2.5)]


# files and packages


def test_files_that_compile_or_fail_are_said(told: Told) -> None:
    rows = [
        Loaded("block", False, (), 1e-6, True, 0.1),
        Loaded("perceptron", True, ("triton_poi_0",), 1e-6, True, 0.3),
        Loaded("attention", True, failure="ArtifactError: no such GPU"),
    ]
    files.tell(rows, 5)
    found, tables = told()
    compiled = found["kernels compiled by Triton while files are loaded and called"]
    assert (compiled["value"], compiled["reach"]) == (1, 0)
    assert compiled["note"] == "perceptron: triton_poi_0"
    trained = found["files for training that match eager"]
    assert (trained["value"], trained["reach"]) == (1, 2)
    assert len(tables) == 3
    files.tell(rows[2:], 5)
    found, _ = told()
    assert found["kernels compiled by Triton while files are loaded and called"]["value"] is None


def test_a_mixture_of_weights_is_found(told: Told) -> None:
    old, new = torch.zeros(3), torch.ones(3)
    packages.tell_swapped([old, new, new, torch.tensor([0.0, 1.0, 0.0])], [old, new], 2)
    found, _ = told()
    row = found["calls during swaps that use one set of weights"]
    assert row["value"] == 0.75
    assert row["note"] == "4 calls during 2 swaps: 1 with the first weights, 2 with the others"


def test_an_error_in_a_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        packages.in_threads(lambda: None, lambda: 1 // 0)


# memory, modes, traffic


def test_the_worst_peak_is_the_figure(told: Told) -> None:
    rows = [Peaks("a", 98, 100, None, 200, ""), Peaks("b", 110, 100, None, 200, "scratch")]
    memory.tell(rows)
    found, _ = told()
    worst = found["largest error of the counted peak"]
    assert worst["value"] == pytest.approx(0.1)
    assert worst["note"] == "b (+10.0%) of 2 programs. Not counted: scratch"
    name = "largest error of modelled reserved memory"
    assert found[name]["value"] is None
    memory.tell([*rows, Peaks("c", 100, 100, 210, 200, "")])
    found, _ = told()
    assert found[name]["value"] == pytest.approx(0.05)
    assert found[name]["note"] == "c (+5.0%). Modelled for 1 of 3 programs"


def test_a_mode_that_fails_has_a_reason(told: Told) -> None:
    modes.tell({"default": 100.0, "max-autotune": 80.0, "reduce-overhead": "RuntimeError: no"})
    found, _ = told()
    assert found["saved by mode max-autotune"]["value"] == pytest.approx(0.2)
    assert found["time of a call in mode reduce-overhead"]["note"] == "RuntimeError: no"


NCU = """==PROF== Connected to process 1
==PROF== Profiling "vectorized" - 0: 0%....50%....100% - 1 pass
"ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum"
"","","byte","byte"
"0","void at::native::vectorized_elementwise_kernel<4>(int)","2,000","1,000"
"1","triton_poi_fused_add_mul_relu_0","600","400"
"""


def test_counters_are_read_from_what_ncu_prints(told: Told) -> None:
    counted = traffic.read(NCU.splitlines())
    assert counted == traffic.Counted(original=3000.0, compiled=1000.0)
    traffic.tell(counted, 3.0)
    found, _ = told()
    assert found[traffic.NAME]["value"] == 3.0
    assert found["error of the model's traffic factor"]["value"] == 0.0
    for text in ("==ERROR== ERR_NVGPUCTRPERM", NCU.rpartition('"1"')[0]):
        with pytest.raises(ValueError, match="ncu"):
            traffic.read(text.splitlines())


def test_where_counters_are_not_allowed_nothing_is_checked(told: Told, tmp_path: Path) -> None:
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM: no permission'; exit 1\n")
    tool.chmod(0o755)
    traffic.tell(traffic.counted_by(str(tool)), None)
    found, _ = told()
    assert found[traffic.NAME]["note"] == "==ERROR== ERR_NVGPUCTRPERM: no permission"
    assert traffic.counted_by(None) == "Nsight Compute (ncu) is not here"


def test_a_profile_stands_beside_that_of_torch(told: Told) -> None:
    by_profile, by_trace = {"a": 10.0, "b": 25.0, "c": 4.0}, {"a": 10.0, "b": 20.0, "c": 4.0}
    clock = "kernel times are from GPU events"
    found = Profiled(by_profile, by_trace, 4, 3, True, "measured, median", clock, 5, 9)
    profiling.tell(found)
    rows, _ = told()
    assert rows["rank correlation of wb.profile and torch's profiler"]["value"] == pytest.approx(1)
    name = "largest difference between a kernel's time in wb.profile and in a trace"
    assert rows[name]["value"] == pytest.approx(0.25)
    assert rows["kernel times come from a trace"]["value"] == 0
    assert rows["kernels of a training step that wb.profile has measured"]["reach"] == 9
    assert rows["kernels that wb.profile has measured"]["reach"] == 4
    profiling.tell(replace(found, by_trace={}))
    rows, _ = told()
    assert rows["rank correlation of wb.profile and torch's profiler"]["value"] is None


# the run


def test_a_step_that_fails_leaves_the_others_and_a_reason(told: Told) -> None:
    def fails() -> None:
        raise ValueError("no such\nkernel")

    steps = {"first": fails, "second": lambda: figures.print_figure("it", 1.0, "s")}
    assert figures.run_steps(steps) == 1
    found, _ = told()
    assert found["first"]["note"] == "failed: ValueError: no such kernel"
    assert found["it"]["value"] == 1.0


def test_rows_are_kept_and_a_part_is_not_begun_too_late(tmp_path: Path) -> None:
    code = (
        "from tests.gpu.figures import print_rows, print_unchecked\n"
        "print_rows('all', [{'a': 1}, {'a': 2}])\nprint_unchecked('it', 'no reason')"
    )
    part = Part("one", (sys.executable, "-c", code), (), 1, 60)
    record, path = GpuRecord({"device": "stand-in"}), tmp_path / "gpu.json"
    run_part(part, record, path)
    run_part(replace(part, name="two"), record, path, left_s=5)
    read = GpuRecord.load(path)
    assert read.tables == {"one: all": [{"a": 1}, {"a": 2}]}
    assert [(figure.value, figure.verdict) for figure in read.figures] == [(None, "not checked")]
    assert read.outcomes["two"] == "not checked: the 560 s of the whole run were over"
    assert "one | it |  |  | not checked | no reason" in read.table()


def test_every_part_is_a_module_and_together_they_end_in_time() -> None:
    modules = [part.command[-1] for part in target.PARTS if part.command[-1].startswith("tests.")]
    for module in modules:
        place = Path(target.__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py")
        assert 'if __name__ == "__main__":' in place.read_text()
    assert len(modules) == len(target.PARTS) - 1
    timed = [part.estimate for part in target.PARTS if part.is_timed]
    beside = max(part.estimate for part in target.PARTS if not part.is_timed)
    assert beside + sum(timed) <= WHOLE_S
