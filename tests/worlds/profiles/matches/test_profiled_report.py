from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.made_profile import make_profile, run
from workbench.analysis.cost.costs import choose_cost
from workbench.worlds.profiles.matches.profiled_report import add_report, hash_kernel
from workbench.worlds.profiles.views.profile_document import document

TRACES = Path(__file__).parents[3] / "gpu" / "traces"


def test_a_report_gets_the_times_of_its_kernels_by_their_hash() -> None:
    """The step of a model that one H100 ran twice, and what it was compiled to."""
    report = wb.Report.load(TRACES / "workbench.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz")
    measured = report.with_profile(profile)
    times = {kernel.id: kernel.time_us for kernel in measured.kernels}
    generated = [kernel.id for kernel in report.kernels if kernel.language == "triton"]
    assert all(times[id] is not None for id in generated)
    hashed = [row.time_us for row in profile.tables["kernels"] if row.kernel_hash]
    steps = 2
    assert sum(times[id] or 0.0 for id in generated) == pytest.approx(sum(hashed) / steps, rel=0.02)


def test_calls_of_libraries_are_told_apart_by_their_order() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    products = [each for each in measured.kernels if each.name == "extern_kernels.addmm"]
    assert products
    assert all(each.time_us for each in products)
    assert len({each.time_us for each in products}) > 1


def test_what_was_measured_is_what_everything_is_ranked_by_then() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    cost = choose_cost(report.with_profile(wb.read_profile(TRACES / "workbench.json.gz")))
    assert cost is not None
    assert cost.kind == "time"
    assert cost.source.startswith("measured by torch.profiler on H100")


def test_the_profile_of_another_program_is_refused() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    other = make_profile(kernels=[run("k0", "triton_poi_fused_add_0", "triton_poi_fused_add_0")])
    with pytest.raises(wb.errors.UsageError, match="different program"):
        report.with_profile(other)


def test_the_hash_is_the_name_of_the_file_that_inductor_writes() -> None:
    from torch._inductor.codecache import code_hash

    assert hash_kernel("\nimport triton\n") == code_hash("import triton")


def test_attention_is_launched_by_an_operator_that_the_one_of_the_graph_calls() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    measured = report.with_profile(wb.read_profile(TRACES / "workbench.json.gz"))
    assert all(kernel.time_us for kernel in measured.kernels)


def test_a_profile_gets_the_lines_nodes_and_operations_of_a_record() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz").with_report(report)
    rows = {row.record: row for row in profile.tables["record"]}
    assert set(rows) == {kernel.id for kernel in report.kernels}
    norm = rows["k4"]
    assert norm.lines[1].startswith("training_step.py:13  return x+s.down(")
    assert "var_mean_1" in norm.nodes
    assert {"add", "rsqrt", "var_mean"} <= set(norm.operations)
    ran = {row.id: row for row in profile.tables["kernels"]}
    assert ran[norm.kernel].name == "triton_per_fused_add_native_layer_norm_view_1"


def test_a_profile_keeps_its_record_with_the_measured_times() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz").with_report(report)
    (record,) = profile.of_own_rank().records.values()
    assert any(kernel.time_us for kernel in record.kernels)
    assert document(profile, opens=True)["records"] == [""]


def test_of_several_records_those_that_ran_are_found() -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    other = wb.Report.load(TRACES.parents[1] / "records" / "norm_h100.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz")
    both = add_report(profile, {"0: 0/0": other, "1: 0/0": report})
    assert list(both.records) == ["1: 0/0"]
    assert {row.of for row in both.tables["record"]} == {"1: 0/0"}
    without = make_profile(kernels=[run("k0", "gemm", "aten::mm")])
    assert add_report(without, {"0: 0/0": report}) is without


def test_a_profile_with_a_record_is_saved_and_shows_it(tmp_path: Path) -> None:
    report = wb.Report.load(TRACES / "workbench.wbr")
    profile = wb.read_profile(TRACES / "workbench.json.gz").with_report(report)
    profile.save(tmp_path / "p.wbr")
    again = wb.RunProfile.load(tmp_path / "p.wbr")
    assert list(again.tables["record"]) == list(profile.tables["record"])
    shown = document(again)
    (table,) = (each for each in shown["tables"] if each["id"] == "record")
    row = next(each for each in table["rows"] if each["record"] == "k4")
    (kernel,) = shown["ties"][str(row["row"])]
    said = shown["cards"][kernel]["record"]
    lines = {fact["text"]: fact["id"] for fact in said if fact["label"] == "Line"}
    assert str(lines[str(row["line"]).split("; ")[0]]).startswith("L:")
    assert any(fact["label"] == "Fused" and "rsqrt" in fact["text"] for fact in said)
    assert shown["records"] == []  # the record is not in the file
    with pytest.raises(wb.errors.UsageError, match="different program"):
        make_profile().with_report(report)
