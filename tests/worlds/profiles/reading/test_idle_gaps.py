"""Why a device stood still, from made traces."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace, build_step
from workbench.worlds.profiles.rows.profile_rows import Gap


def gaps(trace: SyntheticTrace, folder: Path) -> list[Gap]:
    return list(wb.read_profile(trace.write(folder / "trace.json")).tables["gaps"])


def test_gaps_add_up_to_the_idle_time(tmp_path: Path) -> None:
    p = wb.read_profile(build_step(3).write(tmp_path / "trace.json"))
    assert sum(row.duration_us for row in p.tables["gaps"]) == pytest.approx(p.idle_us)


def two_kernels(second_launch: float) -> SyntheticTrace:
    """Kernels from 10 to 20 and from 100 on, the second launched at this time."""
    made = SyntheticTrace()
    made.python("train.py(7): step", -5.0, 400.0)
    made.launch("first", 0.0, 10.0, 10.0)
    made.launch("second", second_launch, 100.0, 10.0)
    return made


def test_a_kernel_that_is_launched_too_late(tmp_path: Path) -> None:
    (gap,) = gaps(two_kernels(90.0), tmp_path)
    assert (gap.start_us, gap.duration_us, gap.cause, gap.line) == (
        10.0,
        80.0,
        "launch",
        "train.py:7",
    )
    assert (gap.before, gap.after) == ("k0", "k1")
    assert "70.0 µs after the device was free" in gap.why


def test_a_kernel_that_was_launched_and_began_much_later(tmp_path: Path) -> None:
    (gap,) = gaps(two_kernels(5.0), tmp_path)
    assert (gap.cause, "the profile shows no other" in gap.why) == ("unknown", True)


def test_a_short_time_between_kernels_that_were_launched(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.launch("second", 5.0, 21.0, 10.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, gap.duration_us) == ("between kernels", 1.0)


def test_a_synchronisation_is_named_with_its_operator_and_line(tmp_path: Path) -> None:
    (gap,) = gaps(waiting(before=80.0), tmp_path)
    assert (gap.cause, gap.line) == ("synchronisation", "model.py:40")
    assert gap.why.endswith("in aten::item (cudaStreamSynchronize)")


def waiting(*, before: float) -> SyntheticTrace:
    """The CPU waits for the first kernel, so long before its end, and 13 µs after it."""
    trace = SyntheticTrace()
    trace.python("train.py(7): step", -200.0, 500.0)
    trace.launch("first", -190.0, -180.0, 200.0)
    trace.launch("second", 90.0, 100.0, 10.0)
    trace.python("model.py(40): pick", 17.0 - before, before + 20.0)
    trace.operator("aten::item", 18.0 - before, before + 16.0)
    trace.operator("aten::_local_scalar_dense", 19.0 - before, before + 14.0)
    trace.wait("cudaStreamSynchronize", 20.0 - before, before + 13.0)
    return trace


def test_a_wait_explains_no_more_than_it_lasted(tmp_path: Path) -> None:
    (gap,) = gaps(waiting(before=15.0), tmp_path)
    assert [(cause, us) for cause, us, _ in gap.parts] == [
        ("launch", 52.0),
        ("synchronisation", 28.0),
    ]
    assert (gap.cause, gap.parts[1][2]) == ("launch", "model.py:40")


def test_data_loading_after_a_wait_is_not_charged_to_the_wait(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 500_000.0)
    trace.launch("second", 622_400.0, 622_405.0, 10.0)
    trace.wait("cudaStreamSynchronize", 20.0, 500_090.0)
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    trace.annotation(name, 500_200.0, 122_000.0)
    p = wb.read_profile(trace.write(tmp_path / "trace.json"))
    (gap,) = p.tables["gaps"]
    assert (gap.cause, gap.parts[0][1]) == ("data loading", pytest.approx(122_000.0, abs=2))
    of_us = {each.kind: each.of_us for each in p.tables["opportunities"]}
    assert of_us["data loading"] == pytest.approx(122_000.0, abs=2)
    assert "synchronisation" not in of_us
    assert "launches" not in of_us


def test_a_queue_is_another_process_unless_a_data_loader_waits_in_it(tmp_path: Path) -> None:
    def cause(name: str) -> str:
        trace = two_kernels(90.0)
        trace.python(name, 11.0, 78.0)
        trace.python("queue.py(154): get", 12.0, 76.0)
        (gap,) = gaps(trace, tmp_path)
        return gap.cause

    assert cause("serve.py(3): next_request") == "another process"
    assert cause("torch/utils/data/dataloader.py(1452): _next_data") == "data loading"


@pytest.mark.parametrize("call", ["hipLaunchKernel", "cudaLaunchKernel", "cuLaunchKernelEx"])
def test_the_first_launch_of_a_kernel_loads_its_code(call: str, tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.launch("slow", 50.0, 332_060.0, 10.0, by=call, takes=332_000.0)
    trace.launch("slow", 332_055.0, 332_080.0, 10.0, by=call)
    p = wb.read_profile(trace.write(tmp_path / "trace.json"))
    gap = p.tables["gaps"][0]
    assert (gap.cause, gap.parts[0][1]) == ("first launch", pytest.approx(332_010.0))
    kinds = {each.kind: each.of_us for each in p.tables["opportunities"]}
    assert kinds["first launch"] == pytest.approx(332_010.0)
    assert "launches" not in kinds


def test_a_slow_launch_of_a_kernel_that_ran_before_is_not_explained(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("same", 0.0, 10.0, 10.0)
    trace.launch("same", 50.0, 8_060.0, 10.0, takes=8_000.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, "cudaLaunchKernel took 8.00 ms" in gap.why) == ("unknown", True)


def test_loading_a_module_is_a_first_launch(tmp_path: Path) -> None:
    trace = two_kernels(90.0)
    trace.wait("cuModuleLoadData", 22.0, 60.0)
    (gap,) = gaps(trace, tmp_path)
    assert gap.cause == "first launch"


def test_a_long_stretch_of_python_is_not_late_launching(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.python("train.py(7): step", -5.0, 20_000.0)
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.launch("second", 12_000.0, 12_005.0, 10.0)
    p = wb.read_profile(trace.write(tmp_path / "trace.json"))
    (gap,) = p.tables["gaps"]
    assert (gap.cause, gap.line) == ("Python", "train.py:7")
    assert "launches" not in {each.kind for each in p.tables["opportunities"]}


def test_a_stream_that_waits_for_what_is_not_in_the_profile(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.wait("cudaStreamWaitEvent", 12.0, 2.0)
    trace.launch("second", 20.0, 400_000.0, 10.0, stream=9)
    p = wb.read_profile(trace.write(tmp_path / "trace.json"))
    (gap,) = p.tables["gaps"]
    assert (gap.cause, "stream waited for a stream" in gap.why) == ("another stream", True)
    assert "idle for 400 ms for an unknown reason" in p.sentence


def test_work_that_was_launched_before_the_profile_fills_a_gap(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.run("earlier", 20.0, 2_900.0, correlation=9_999)
    trace.launch("second", 20.0, 3_000.0, 10.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, "launched before the profile" in gap.why) == ("another stream", True)


def test_the_parts_of_a_gap_add_up_to_it(tmp_path: Path) -> None:
    trace = waiting(before=15.0)
    trace.annotation("enumerate(DataLoader)#x", 40.0, 20.0)
    trace.wait("cudaMalloc", 55.0, 10.0)
    (gap,) = gaps(trace, tmp_path)
    assert sum(us for _, us, _ in gap.parts) == pytest.approx(gap.duration_us)
    assert {cause: us for cause, us, _ in gap.parts}["allocation"] == 5.0


@pytest.mark.parametrize(
    ("call", "cause"), [("cudaMalloc", "allocation"), ("cudaMemcpyAsync", "memcpy")]
)
def test_what_the_cpu_did_meanwhile(call: str, cause: str, tmp_path: Path) -> None:
    trace = two_kernels(90.0)
    trace.wait(call, 25.0, 60.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, "60.0 µs" in gap.why) == (cause, True)


def test_loading_data(tmp_path: Path) -> None:
    trace = two_kernels(90.0)
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace.annotation(name, 22.0, 65.0)
    (gap,) = gaps(trace, tmp_path)
    assert gap.cause == "data loading"


def test_between_a_collective_and_its_neighbour(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 0.0, 10.0, 10.0)
    trace.launch("second", 5.0, 35.0, 10.0)
    (gap,) = gaps(trace, tmp_path)
    assert gap.cause == "collective"
