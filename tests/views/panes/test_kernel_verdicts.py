"""The verdict of a kernel: by its roof, by its time, or why there is none."""

from __future__ import annotations

from dataclasses import replace

from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.views.document import document
from workbench.views.panes.kernels_pane import verdicts


def with_roof(report: Report, **facts: object) -> Report:
    row = KernelRoofline("k1", "h100", bound="memory", bound_us=15.0)
    table = Table.of(KernelRoofline, [replace(row, **facts)])  # type: ignore[arg-type]
    return replace(report, tables={**report.tables, "roofline": table})


def test_a_model_alone_says_that_it_is_one(sample_report: Report) -> None:
    text, source = verdicts(with_roof(sample_report))["k1"]
    assert text == "Bound by memory, at least 15.0 µs (model)"
    assert "full bandwidth and peak rate of the h100" in source
    assert "Nothing was measured" in source


def test_a_measured_time_says_how_much_of_the_roof_was_reached(sample_report: Report) -> None:
    text, source = verdicts(with_roof(sample_report, measured_us=16.5))["k1"]
    assert text == "Bound by memory, at least 15.0 µs, 91 % of the roofline (16.5 µs measured)"
    assert "Measured by profile(): 16.5 µs per call." in source


def test_a_kernel_far_below_its_roof_is_not_said_to_be_bound_by_it(
    sample_report: Report,
) -> None:
    """Seen: "bound by memory" of a kernel that reached less than 1 % of it."""
    text, _ = verdicts(with_roof(sample_report, measured_us=4000.0))["k1"]
    assert text == (
        "At least 15.0 µs by memory, but memory is not the bottleneck: <1 % of the roofline "
        "(4.00 ms measured)"
    )


def test_faster_than_the_roof_is_explained(sample_report: Report) -> None:
    text, _ = verdicts(with_roof(sample_report, measured_us=10.0))["k1"]
    assert "faster than DRAM allows, because its data may be cached" in text


def test_work_above_the_roof_of_computing_is_not_put_down_to_a_cache(
    sample_report: Report,
) -> None:
    """Seen: "bound by compute … faster than DRAM allows, because its data may be cached"."""
    text, _ = verdicts(with_roof(sample_report, bound="compute", measured_us=10.0))["k1"]
    assert "150 % of the roofline, faster than the measured peak: its operations" in text
    assert "DRAM" not in text


def test_without_a_roof_it_is_the_rate_that_was_measured() -> None:
    kernel = Kernel(
        "k0", "add", "cpp", "i0", bytes_read=6000, bytes_written=2000, time_us=4.0, calls=2
    )
    report = Report(tables={"kernels": Table.of(Kernel, [kernel])})
    text, source = verdicts(report)["k0"]
    assert text == "2.00 µs measured in each of 2 calls, 4.00 GB/s"
    assert "a profile measures them" in source


def test_without_anything_it_says_what_to_do() -> None:
    report = Report(tables={"kernels": Table.of(Kernel, [Kernel("k0", "add", "cpp", "i0")])})
    assert verdicts(report)["k0"].text == "Not measured: profile() times it"


def test_what_is_not_known_is_said(sample_report: Report) -> None:
    report = with_roof(sample_report, bound=None, bound_us=None, note="the bytes are not known")
    assert "No roofline time: the bytes are not known." in verdicts(report)["k1"].source


def test_every_kernel_of_a_view_has_one(sample_report: Report) -> None:
    for kernel in document(sample_report)["kernels"]:
        assert all(kernel["verdict"])
