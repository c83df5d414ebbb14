"""When launches cost time, and what CUDA graphs save of it, by the model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.forecast.forecast import SLOW_HOST
from workbench.analysis.gpu_model import launches as model
from workbench.analysis.gpu_model.launches import tell_kernels_of
from workbench.report import Kernel, Report, Request, Table
from workbench.report.machine_rows import CudaGraphPart, KernelRoofline
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.views.overview.answer import answer_text
from workbench.views.text import text


def test_the_cpu_is_ahead_of_kernels_that_take_longer_than_their_launch() -> None:
    found = wb.launches([10.0] * 200, kernel_us=3)
    assert found.in_a_row_us == 2600
    assert found.plain_us == 3 + 2000  # only the first launch is waited for
    assert found.graph_us == 3.5 + 2000
    assert abs(found.saved) < 0.001
    assert "mostly hidden behind GPU work" in repr(found)


def test_the_gpu_waits_for_kernels_that_are_shorter_than_their_launch() -> None:
    found = wb.launches([1.0] * 200, kernel_us=3)
    assert found.plain_us == 200 * 3 + 1
    assert found.graph_us == 3.5 + 200
    assert found.saved == pytest.approx(1 - 203.5 / 601)
    assert "the GPU waits for launches" in repr(found)


def test_a_time_cannot_be_negative() -> None:
    with pytest.raises(wb.UsageError, match="each finite and not negative"):
        wb.launches([1.0, -1.0])
    with pytest.raises(wb.UsageError, match="one or more"):
        wb.launches([])


def report(*parts: CudaGraphPart, languages: str = "ttt") -> Report:
    names = {"t": "triton", "x": "extern", "c": "cpp"}
    kernels = [
        Kernel(f"k{n}", f"kernel_{n}", names[letter], "i0") for n, letter in enumerate(languages)
    ]
    bounds = [
        KernelRoofline(k.id, "h100", bandwidth_gbs=1000, bound_us=2.0)
        for k in kernels
        if k.language != "cpp"
    ]
    return Report(
        request=Request(name="f", target="h100"),
        tables={
            "kernels": Table.of(Kernel, kernels),
            "roofline": Table.of(KernelRoofline, bounds),
            "cuda_graphs": Table.of(CudaGraphPart, parts),
        },
    )


def part(number: int, verdict: str, *kernels: str, copied: int | None = 0) -> CudaGraphPart:
    return CudaGraphPart("i0", number, verdict, kernels=kernels, copied_bytes=copied)


def test_a_replay_first_copies_the_inputs() -> None:
    found = wb.launches(report(part(0, "recorded", "k0", "k1", "k2", copied=5_000_000)))
    assert found.plain_us == pytest.approx(3 * 6.8 + 2)
    # the copy starts after its launch, moves 10 MB at 1 TB/s, and the CPU is ahead of it
    assert found.graph_us == pytest.approx(8 + 10 + 3 * 2)
    assert found.copied_bytes == 5_000_000
    assert "copies 5.00 MB of inputs" in repr(found)


def test_a_part_that_is_skipped_is_launched_kernel_by_kernel() -> None:
    whole = wb.launches(report(part(0, "recorded", "k0", "k1", "k2")))
    cut = wb.launches(
        report(part(0, "recorded", "k0"), part(1, "skipped", "k1"), part(2, "recorded", "k2"))
    )
    assert (whole.replays, cut.replays) == (1, 2)
    assert whole.graph_us == pytest.approx(3.5 + 3 * 2)
    assert cut.graph_us == pytest.approx(3.5 + 6.8 + 3.5 + 2)
    assert [row.in_graph for row in cut.rows] == [True, False, True]


def test_a_kernel_on_the_cpu_waits_for_the_gpu() -> None:
    found = wb.launches(report(languages="tct"))
    assert found.plain_us == pytest.approx(6.8 + 2 + 6.8 + 2)
    assert "kernels on the CPU wait for the GPU and are not counted" in found.notes


def test_measured_times_come_before_bounds() -> None:
    bounds = report(languages="tx")
    kernels = [replace(kernel, time_us=30.0, calls=3) for kernel in bounds.kernels]
    measured = replace(bounds, tables={**bounds.tables, "kernels": Table.of(Kernel, kernels)})
    found = wb.launches(measured)
    assert {row.source for row in found.rows} == {"measured"}
    assert found.device_us == 2 * 30.0
    assert found.host_us == pytest.approx(3 * 6.8 + 3 * 8)
    assert any("with roofline times" in note for note in wb.launches(bounds).notes)


def test_a_measured_call_stands_beside_the_model() -> None:
    """200 small kernels on a host that takes 21.6 µs a launch."""
    bounds = report(languages="xt" * 100)
    kernels = [
        replace(kernel, time_us=3.1 if kernel.language == "extern" else 1.2)
        for kernel in bounds.kernels
    ]
    said = ("kernel times are from GPU events",)
    timed = replace(bounds, tables={**bounds.tables, "kernels": Table.of(Kernel, kernels)})
    measured = add_measured_call(timed, MeasuredCall(4313.0, 20.0, None, 50, said))
    found = wb.launches(measured)
    assert found.plain_us == pytest.approx(1481, abs=1)
    assert found.saved == pytest.approx(0.71, abs=0.01)
    assert found.notes[-2:] == (
        "measured: a call takes 4.31 ms, 2.91× the modelled time; a launch takes at most "
        "21.6 µs, including the rest of the call's Python code",
        *said,
    )
    assert wb.launches(measured, kernel_us=21.6, library_us=21.6).saved == pytest.approx(0.9, 0.01)


def test_a_call_that_was_measured_with_cuda_graphs_says_nothing_of_launches() -> None:
    recorded = report(part(0, "recorded", "k0", "k1", "k2"))
    found = wb.launches(add_measured_call(recorded, MeasuredCall(90.0, 1.0, None, 50)))
    assert not any(note.startswith("measured:") for note in found.notes)


def test_without_cuda_graphs_the_whole_program_counts_as_one() -> None:
    found = wb.launches(report())
    assert found.replays == 1
    assert found.copied_bytes is None
    assert any("mode='reduce-overhead'" in note for note in found.notes)


def test_code_for_the_cpu_has_nothing_to_launch() -> None:
    with pytest.raises(wb.UsageError, match="no GPU kernels"):
        wb.launches(report(languages="cc"))


def test_what_is_launched_again_is_one_kernel() -> None:
    """As seen: "50 kernels" in one place, "69 launches" in another, of the same call."""
    rows = [replace(kernel, calls=3) for kernel in report().kernels]
    made = report()
    again = replace(made, tables={**made.tables, "kernels": Table.of(Kernel, rows)})
    assert tell_kernels_of(again) == "3 kernels, started 9 times"
    found = wb.launches(again)
    assert repr(found).startswith("Launches(3 kernels, started 9 times on h100, modelled)")
    assert found.plot().axes[0].get_title(loc="left").startswith("3 kernels, started 9 times: ")
    assert "µs of launches (model): 3 kernels, started 9 times. " in answer_text(again)
    assert "3, started 9 times" in text(again)


def test_it_answers_as_a_table_and_a_picture() -> None:
    found = wb.launches(report(part(0, "recorded", "k0", "k1", "k2")))
    table = found.frame()
    assert list(table.kernel) == ["k0", "k1", "k2"]
    assert list(table.start_us) == pytest.approx([6.8, 13.6, 20.4])
    assert list(table.graph_start_us) == pytest.approx([3.5, 5.5, 7.5])
    axes = found.plot().axes[0]
    assert "3 kernels: 22.4 µs with single launches, 9.50 µs with CUDA graphs" in axes.get_title(
        loc="left"
    )


def test_the_documented_times_of_a_host_are_those_of_the_gpu_run() -> None:
    run = json.loads((Path(__file__).parents[2] / "gpu" / "gpu.json").read_text())
    rows = {row["name"]: row for row in run["figures"]}
    by_model = rows["saved by CUDA graphs, by wb.launches"]
    measured = rows["saved by CUDA graphs, measured"]
    launch = rows["saved by CUDA graphs, by wb.launches with the profiled launch cost"]
    whole = rows["call time by wb.launches over measured"]
    (launch_us,) = re.findall(r"[\d.]+ µs", launch["note"])
    call_us, graph_us = re.findall(r"\d+ µs", measured["note"])
    model_us, _ = re.findall(r"\d+ µs", whole["note"])
    words = " ".join((model.__doc__ or "").split())
    assert run["found"]["device"].removeprefix("NVIDIA ") in words
    assert f"took {call_us}, {launch_us} per launch, and {graph_us} as one CUDA graph" in words
    assert f"CUDA graph: {measured['value']:.0%} less".replace("%", " %") in words
    assert f"predicts {model_us} and {by_model['value']:.0%} less".replace("%", " %") in words
    assert f"{launch_us} per launch" in " ".join((wb.launches.__doc__ or "").split())
    assert 1 <= SLOW_HOST.kernel_us / float(launch_us.split()[0]) < 1.1
