"""Why a device stood still, from made traces."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.profiles.synthetic_trace import SyntheticTrace, build_step
from workbench.report.profile.profile_rows import Gap


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
    assert (gap.cause, "waited for something else" in gap.why) == ("unknown", True)


def test_a_short_time_between_kernels_that_were_launched(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("first", 0.0, 10.0, 10.0)
    trace.launch("second", 5.0, 21.0, 10.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, gap.duration_us) == ("between kernels", 1.0)


def test_a_synchronisation_is_named_with_its_operator_and_line(tmp_path: Path) -> None:
    trace = two_kernels(90.0)
    trace.python("model.py(40): pick", 6.0, 30.0)
    trace.operator("aten::item", 7.0, 28.0)
    trace.operator("aten::_local_scalar_dense", 8.0, 26.0)
    trace.wait("cudaStreamSynchronize", 9.0, 14.0)
    (gap,) = gaps(trace, tmp_path)
    assert (gap.cause, gap.line) == ("synchronisation", "model.py:40")
    assert gap.why.endswith("in aten::item (cudaStreamSynchronize)")


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
