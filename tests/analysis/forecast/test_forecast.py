from __future__ import annotations

import math
import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.forecast.forecast import KernelForecast, join_errors
from workbench.report import Kernel
from workbench.report.collectives.collective_rows import Collective
from workbench.report.machine_rows import CudaGraphPart
from workbench.report.table import Table

TRACES = Path(__file__).parents[2] / "gpu" / "traces"


@pytest.fixture(scope="module")
def report() -> wb.Report:
    """A training step of four transformer blocks, as it was compiled on an H100."""
    return replace_target(wb.Report.load(TRACES / "workbench.wbr"))


def replace_target(report: wb.Report) -> wb.Report:
    return replace(report, request=replace(report.request, target="h100"))


def test_a_forecast_is_near_what_the_gpu_took(report: wb.Report) -> None:
    """The fit had traces of this model's eager step, of other programs, not of this one."""
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    took = {kernel.id: kernel.time_us for kernel in measured.kernels if kernel.time_us}
    told = {row.kernel: row.us for row in wb.forecast(report).rows if row.kernel in took}
    assert sum(told.values()) == pytest.approx(sum(took.values()), rel=0.15)
    assert statistics.median(abs(told[id] / us - 1) for id, us in took.items()) < 0.25


def test_the_interval_holds_the_call_and_no_kernel_is_below_its_bound(report: wb.Report) -> None:
    told = wb.forecast(report)
    assert told.least_us <= told.call_us <= told.most_us
    assert told.graph_us <= told.call_us
    bounds = {row.kernel: row.bound_us for row in report.own_roofline}
    assert all(row.us >= (bounds[row.kernel] or 0.0) * row.calls - 1e-9 for row in told.rows)


def test_measured_kernels_keep_their_times(report: wb.Report) -> None:
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    rows = {row.kernel: row for row in wb.forecast(measured).rows}
    timed = [kernel for kernel in measured.kernels if kernel.time_us is not None]
    assert timed
    assert all(rows[kernel.id].us == kernel.time_us for kernel in timed)
    assert {rows[kernel.id].source for kernel in timed} == {"measured"}


def test_what_the_model_does_not_know_is_said_and_counted_at_its_bound(report: wb.Report) -> None:
    unknown = [
        replace(each, ops=("mine.op.default",), name=f"{each.name.split('.')[0]}.mine")
        for each in report.kernels
    ]
    other = replace(report, tables={**report.tables, "kernels": Table.of(Kernel, unknown)})
    told = wb.forecast(other)
    assert {row.source for row in told.rows if row.name.startswith("extern")} == {"bound"}
    assert "roofline time, which is too low, for " in told.notes[0]
    assert (told.most_us, told.error) == (None, None), "nobody measured how far off those are"
    assert "error not measured" in told.sentence
    assert told.least_us <= told.call_us


def test_a_program_for_the_cpu_has_none() -> None:
    with pytest.raises(wb.errors.UsageError, match="no GPU kernels"):
        wb.forecast(wb.Report())


def test_bad_input_is_told_what_it_lacks(report: wb.Report) -> None:
    of_cpu = [replace(each, language="cpp") for each in report.kernels]
    with pytest.raises(
        wb.errors.UsageError, match="for the CPU, and only GPU kernels are modelled"
    ):
        wb.forecast(replace(report, tables={**report.tables, "kernels": Table.of(Kernel, of_cpu)}))
    strange = replace(report, request=replace(report.request, target="mine"))
    tables = {name: table for name, table in report.tables.items() if name != "roofline"}
    with pytest.raises(wb.errors.UsageError, match=re.escape("not in wb.targets() (mine)")):
        wb.forecast(replace(strange, tables=tables))
    with pytest.raises(wb.errors.UsageError, match="'kernels', 'lines' or 'modules'"):
        wb.forecast(report).frame("kernel")


def test_a_generation_that_was_not_measured_has_no_error_and_no_upper_end(
    report: wb.Report,
) -> None:
    told = wb.forecast(replace(report, request=replace(report.request, target="a100")))
    assert told.error is None
    assert told.most_us is None
    assert told.least_us <= told.call_us
    assert "error not measured" in told.sentence
    assert told.notes[0] == (
        "no Ampere GPU was measured: modelled like H100 SXM5 80 GB and H200 SXM 141 GB, error not "
        "measured"
    )


def test_lines_and_modules_share_the_kernels(report: wb.Report) -> None:
    told = wb.forecast(report)
    lines, modules = told.frame("lines"), told.frame("modules")
    assert lines["own_us"].sum() == pytest.approx(told.kernels_us)
    assert modules["own_us"].sum() == pytest.approx(told.kernels_us)
    assert modules.iloc[0]["us"] == pytest.approx(told.kernels_us)
    assert modules.iloc[0]["module"] == ""
    by_path = modules.set_index("module")["us"]
    blocks = [f"net.blocks.{n}" for n in range(4)]
    assert by_path["net.blocks"] == pytest.approx(sum(by_path[blocks]))
    first = lines[lines["file"] == "training_step.py"].iloc[0]
    assert first["us"] == lines["us"].max()
    assert (lines["us"] >= lines["own_us"] - 1e-9).all()
    assert (lines["us"] >= lines["bound_us"]).all()


def test_the_error_of_a_sum_joins_those_of_its_kinds() -> None:
    rows = [
        KernelForecast("k0", "a", 1, 30.0, 0.1, kind="product"),
        KernelForecast("k1", "b", 1, 10.0, 0.1, kind="product"),
        KernelForecast("k2", "c", 1, 60.0, 0.05, kind="mover"),
    ]
    assert join_errors((row, 1.0) for row in rows) == pytest.approx(math.hypot(4, 3) / 100)
    unknown = replace(rows[0], error=None)
    assert join_errors([(unknown, 1.0)]) is None


def test_cuda_graphs_that_torch_records_are_the_call(report: wb.Report) -> None:
    part = CudaGraphPart("i0", 0, "recorded", kernels=tuple(k.id for k in report.kernels))
    told = wb.forecast(
        replace(report, tables={**report.tables, "cuda_graphs": Table.of(CudaGraphPart, [part])})
    )
    assert told.is_graphed
    assert told.call_us == told.graph_us < wb.forecast(report).call_us
    assert "A call with CUDA graphs takes 759 µs" in told.sentence


def test_a_forecast_shows_itself(report: wb.Report, tmp_path: Path) -> None:
    told = wb.forecast(report)
    assert repr(told).startswith(told.sentence)
    assert "ot included: guards" in repr(told)
    html = told._repr_html_()
    assert html is not None
    assert all(word in html for word in ("Lines", "Modules", "Kernels", "net.blocks.0"))
    told.to_html(tmp_path / "told.html")
    assert told.sentence[:20] in (tmp_path / "told.html").read_text()


def add_all_reduce(report: wb.Report, **more: object) -> wb.Report:
    """The record with an all-reduce of 90 µs in the middle, for which the kernels wait 80."""
    kernels, middle = list(report.kernels), len(report.kernels) // 2
    calls = ("all_reduce_", "wait_tensor")
    made = [
        replace(
            kernels[middle],
            id=f"n{place}",
            ops=(),
            nodes=(),
            lines=(),
            bytes_read=None,
            bytes_written=None,
            flops=None,
            language="extern",
            name=f"torch.ops._c10d_functional.{name}.default",
        )
        for place, name in enumerate(calls)
    ]
    kernels[middle:middle] = made
    row: dict[str, object] = dict(
        id="c0",
        graph=kernels[0].graph,
        is_backward=False,
        op="all_reduce",
        bytes=1 << 20,
        group="0",
        group_size=8,
        group_nodes=1,
        kernel="n0",
        wait_kernel="n1",
        est_us=90.0,
        exposed_us=80.0,
    )
    rows = Table.of(Collective, [Collective(**row | more)])  # type: ignore[arg-type]
    tables = {**report.tables, "kernels": Table.of(Kernel, kernels), "collectives": rows}
    return replace(report, tables=tables)


def test_a_call_waits_for_its_collectives_in_its_time_and_interval(report: wb.Report) -> None:
    plain, sent = wb.forecast(report), wb.forecast(add_all_reduce(report))
    assert sent.call_us - plain.call_us == pytest.approx(80.0, abs=20.0)  # two launches beside
    assert sent.kernels_us == pytest.approx(plain.kernels_us)
    assert sent.least_us < sent.call_us
    assert sent.most_us is not None
    assert sent.most_us > sent.call_us
    assert "Exposed communication adds 80.0 µs" in sent.sentence
    assert (sent.waits.us, sent.waits.most_us) == (80.0, 80.0 + 0.15 * 90.0 + 10.0)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"est_us": None, "exposed_us": None, "why": "its links"},
            "network time of 1 collective: its links",
        ),
        ({"group_nodes": 8}, "over 8 nodes are not validated"),
        ({"origin": "hook"}, "hooks start 90.0 µs of collectives"),
    ],
)
def test_a_collective_that_is_not_known_leaves_no_upper_end_or_is_in_it(
    report: wb.Report, more: dict[str, object], told: str
) -> None:
    plain, found = wb.forecast(report), wb.forecast(add_all_reduce(report, **more))
    assert any(told in note for note in found.notes)
    assert found.most_us is None or found.most_us > (plain.most_us or 0.0) + 10.0


def test_a_small_message_may_take_twice_its_time(report: wb.Report) -> None:
    found = wb.forecast(add_all_reduce(report, bytes=1 << 10))
    assert found.waits.most_us == 80.0 + 90.0 + 10.0
