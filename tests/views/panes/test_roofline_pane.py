"""The roofline: of a record with kernels for a GPU, and of one without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.cost.identical_kernels import grouped
from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.report.profile_record import MeasuredCall, add_measured_call
from workbench.views.document import document
from workbench.views.presenters import VIEWS

RECORDS = Path(__file__).parents[2] / "records"


def test_kernels_stand_under_the_roof_of_their_gpu(sample_report: Report) -> None:
    made = document(sample_report)
    (roof,) = made["roofs"]
    assert (roof["target"], roof["bandwidth_gbs"]) == ("h100", 3352.0)
    assert roof["rates"] == [("matrix.tf32", 494.7), ("vector.fp32", 66.9)]
    shares = {point["kernel"]: point["share"] for point in made["points"]}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
    assert shares["k2"] == pytest.approx(2.17 / (1.25 + 0.63 + 2.17), abs=1e-3)  # not all measured
    assert [point["measured_us"] for point in made["points"]] == [None, 1.1, None]


def test_shares_are_measured_where_all_kernels_are(sample_report: Report) -> None:
    rows = [replace(row, measured_us=2.0) for row in sample_report.roofline]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    points = document(replace(sample_report, tables=tables))["points"]
    assert {point["share"] for point in points} == {0.333333333333}


def on_a_cpu(time_us: float | None) -> Report:
    """Two kernels of a host that a profile measured at 10 GB/s and 100 GFLOP/s."""
    kernels = [
        Kernel(
            "k0",
            "cpp_0",
            "cpp",
            "i0",
            bytes_read=8_000,
            bytes_written=2_000,
            flops=1_000,
            time_us=time_us,
        ),
        Kernel(
            "k1",
            "cpp_1",
            "cpp",
            "i0",
            bytes_read=8_000,
            bytes_written=2_000,
            flops=1_000,
            time_us=4.0,
            calls=2,
        ),
    ]
    report = Report(tables={"kernels": Table.of(Kernel, kernels)})
    call = MeasuredCall(9.0, 0.1, None, 40, bytes_per_s=1e10, flops_per_s=1e11)
    return add_measured_call(report, call)


def test_a_profile_of_a_cpu_gives_it_a_roof_with_the_rates_that_it_measured() -> None:
    made = document(on_a_cpu(1.05))
    (roof,) = made["roofs"]
    assert (roof["target"], roof["bandwidth_gbs"], roof["rates"]) == (
        "host",
        10.0,
        [("vector.fp32", 0.1)],
    )
    assert roof["source"].startswith("rates measured by the profile")
    points = {point["kernel"]: point for point in made["points"]}
    assert (points["k0"]["bound_us"], points["k0"]["measured_us"]) == (1.0, 1.05)
    assert points["k0"]["of_roof"] == pytest.approx(0.952, abs=1e-3)
    assert points["k1"]["of_roof"] == pytest.approx(0.5)
    assert roof["sentence"] == (
        "k1 takes 79 % of the time, bound by memory, at 50 % of the roofline. "
        "1 of 2 kernels is at the roofline: only less work would make it faster."
    )
    (head,) = (pane for pane in made["panes"] if pane["id"] == "roofline")
    assert head["empty"] is None
    kernel = next(each for each in made["kernels"] if each["id"] == "k1")
    assert kernel["verdict"][0].startswith(
        "Bound by memory, at least 1.00 µs in each of 2 calls, 50 % of the roofline"
    )
    assert ("Reads", "8.00 kB each") in [tuple(fact) for fact in kernel["facts"]]


def test_far_below_the_roof_nothing_is_said_to_bind() -> None:
    made = document(on_a_cpu(4000.0))
    (roof,) = made["roofs"]
    assert roof["sentence"].startswith("k0 takes 100 % of the time, at <1 % of the roofline. ")
    share = next(point["of_roof"] for point in made["points"] if point["kernel"] == "k0")
    assert share == pytest.approx(0.00025)  # seen: "0 %" of what rounds to nothing


def test_a_kernel_above_its_roof_is_not_said_to_be_limited_by_it(sample_report: Report) -> None:
    rows = [
        replace(row, measured_us=(row.bound_us or 1.0) / factor)
        for row, factor in zip(sample_report.roofline, (3.0, 1.0, 0.2, 0.2, 0.2), strict=False)
    ]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    (roof,) = document(replace(sample_report, tables=tables))["roofs"]
    above = f"1 of {len(rows)} kernels is above the roofline: the data was cached, or the"
    assert above in roof["sentence"]


def test_an_estimate_says_that_every_point_sits_on_the_roof(sample_report: Report) -> None:
    rows = [replace(row, measured_us=None) for row in sample_report.roofline]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    (roof,) = document(replace(sample_report, tables=tables))["roofs"]
    assert (
        "No times were measured: every point is an estimate on the roofline." in (roof["sentence"])
    )
    assert "of the roofline time" in roof["sentence"]
    assert roof["source"] == "rates of the GPU's data sheet"


def test_identical_kernels_count_as_one_as_in_the_table_of_kernels() -> None:
    """Of three equal products none takes most alone, and all of them do."""
    report = Report.load(RECORDS / "layers.wbr")
    groups = [group for group in grouped(report) if len(group) > 1]
    alike = max(groups, key=len)
    rows = [
        KernelRoofline(kernel.id, "h100", bound="memory", bound_us=1.0, bandwidth_gbs=3350.0)
        for kernel in (*alike, report.kernels[0])
    ]
    rows[-1] = replace(rows[-1], bound_us=1.5 / max(report.kernels[0].calls, 1))
    tables = {**report.tables, "roofline": Table.of(KernelRoofline, rows)}
    (roof,) = document(replace(report, tables=tables))["roofs"]
    first = f"{alike[0].id} and {len(alike) - 1} identical kernel"
    assert roof["sentence"].startswith(first)


def test_a_cpu_without_a_profile_says_what_measures_it() -> None:
    timed = replace(on_a_cpu(1.0), extra={})
    rows = [replace(kernel, time_us=None) for kernel in timed.kernels]
    untimed = replace(timed, tables={"kernels": Table.of(Kernel, rows)})
    for report, words in (
        (untimed, "Nothing was measured, and the peak rates of this CPU are unknown"),
        (timed, "The kernels were measured, but not the peak rates of this CPU"),
    ):
        (head,) = (pane for pane in document(report)["panes"] if pane["id"] == "roofline")
        assert (head["empty"] or {})["text"].startswith(words)


def test_without_scripts_it_is_a_table_that_says_that_it_is_a_model(sample_report: Report) -> None:
    assert "Roofline time of each kernel (estimate)" in VIEWS.page(sample_report)


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (1, "For a GPU target (needs no GPU here), every kernel"),
        (0, "There are no kernels."),
    ],
)
def test_without_a_gpu_it_says_what_to_type(
    sample_report: Report, kernels: int, words: str
) -> None:
    rows = list(sample_report.kernels)[:kernels]
    made = document(replace(sample_report, tables={"kernels": Table.of(Kernel, rows)}))
    (head,) = (pane for pane in made["panes"] if pane["id"] == "roofline")
    assert made["points"] == []
    assert words in (head["empty"] or {})["text"]
