from __future__ import annotations

import re
from pathlib import Path
from typing import get_type_hints

import pytest

from workbench.analysis.fusion.traffic import count_operation_bytes, measure_fusion_traffic
from workbench.errors import UsageError
from workbench.report import TABLES, Report
from workbench.specs import Catalogue
from workbench.views.tables.data_frames import DERIVED, build_target_frame, build_targets_frame

BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")
TRAINING = Report.load(Path(__file__).parents[2] / "records" / "training.wbr")

PROMISED = {
    "kernels": "name language ops lines bytes_read bytes_written flops time_us",
    "fusion": "round a b verdict reason shared_bytes",
    "guards": "kept kind source why_dropped",
    "phases": "name start_s duration_s self_s depth thread",
    "autotune": "choice time_ms chosen",
}


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_promised_columns_come_first(sample_report: Report, name: str) -> None:
    columns = PROMISED[name].split()
    assert list(sample_report.frame(name).columns)[: len(columns)] == columns


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_a_frame_also_when_it_is_empty(sample_report: Report, name: str) -> None:
    assert len(sample_report.frame(name)) == len(getattr(sample_report, name))
    empty = Report().frame(name)
    assert list(empty.columns) == list(sample_report.frame(name).columns)


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_a_derived_table_is_a_frame_also_of_an_empty_record(
    sample_report: Report, name: str
) -> None:
    columns = list(DERIVED[name].row_type.__dataclass_fields__)
    assert list(sample_report.frame(name).columns) == columns
    assert list(Report().frame(name).columns) == columns
    assert name not in TABLES  # it is worked out, not stored


def test_missing_numbers_do_not_turn_bytes_into_floats(sample_report: Report) -> None:
    frame = sample_report.frame("kernels")
    assert str(frame["bytes_read"].dtype) == "Int64"
    assert frame["time_us"].tolist()[0] == 182.4


def test_a_column_of_whole_numbers_has_one_dtype_whatever_is_missing(sample_report: Report) -> None:
    for name, row_type in {**TABLES, **{k: v.row_type for k, v in DERIVED.items()}}.items():
        whole = [n for n, hint in get_type_hints(row_type).items() if hint in (int, int | None)]
        for report in (Report(), sample_report, BLOCK):
            assert {str(report.frame(name)[column].dtype) for column in whole} <= {"Int64"}, name


def test_a_number_is_as_it_comes_where_its_field_takes_whole_ones_and_others() -> None:
    assert str(BLOCK.frame("costs")["cost"].dtype) == "int64"  # bytes, where no time is known


def test_texts_are_texts(sample_report: Report) -> None:
    assert "void kernel" in sample_report.frame("kernels")["text"][0]
    assert sample_report.frame("breaks")["text"][0] == "if h.abs().max() > 1e4:"


@pytest.mark.parametrize("name", sorted((*TABLES, *DERIVED)))
def test_every_id_in_a_frame_is_one_that_is_shown_or_that_a_frame_explains(name: str) -> None:
    known = {id for each in ("graphs", "sources") for id in TRAINING.frame(each).id}
    frame = TRAINING.frame(name)
    cells = [cell for column in frame for cell in frame[column] if column != "text"]
    values = {v for cell in cells for v in (cell if isinstance(cell, tuple) else (cell,))}
    for value in values:
        if isinstance(value, str) and re.fullmatch(r"L:\w+:\d+|[ig]\d+", value):
            assert value in known


def test_forward_and_backward_are_told_apart_in_a_frame() -> None:
    kernels = TRAINING.frame("kernels")
    assert set(kernels.graph) == {"forward", "backward"}
    assert set(TRAINING.frame("not_fused").graph) <= {"forward", "backward"}
    assert all(re.fullmatch(r".+:\d+", line) for lines in kernels.lines for line in lines)


def test_traffic_adds_up_to_that_of_all_operations_and_of_all_groups() -> None:
    traffic, groups = BLOCK.frame("traffic"), measure_fusion_traffic(BLOCK)
    assert groups is not None
    assert traffic.bytes_alone.sum() == count_operation_bytes(BLOCK)
    assert traffic.bytes_fused.sum() == groups.after
    assert traffic.operations.sum() == 40  # of the record's graph, without views and inputs
    assert traffic.kernel.is_unique
    assert traffic.kernel.notna().all()  # a result that is only picked from several moves nothing
    saved = traffic.bytes_alone - traffic.bytes_fused
    assert saved.is_monotonic_decreasing


def test_every_pair_that_stayed_apart_has_a_sentence_and_maybe_a_remedy() -> None:
    apart = BLOCK.frame("not_fused").set_index(["a", "b"])
    row = apart.loc["op6", "op10_op11_op12_op13"]
    assert (row.a_kernel, row.b_kernel) == ("k4", "k6")
    assert row.why.startswith("Not fused with k6: another node lies between. k5")
    assert "Replace aten.topk.default with an operator" in row.help
    assert apart.shared_bytes.is_monotonic_decreasing


@pytest.mark.parametrize("name", ["traffic", "not_fused"])
def test_what_is_made_of_an_empty_report_is_empty(name: str) -> None:
    assert Report().frame(name).empty
    assert list(Report().frame(name).columns) == list(BLOCK.frame(name).columns)


def test_an_unknown_name_lists_the_names(sample_report: Report) -> None:
    with pytest.raises(UsageError, match=r"'kernel'.*kernels"):
        sample_report.frame("kernel")


GPUS = Catalogue.built_in()


def test_a_row_for_each_gpu() -> None:
    frame = build_targets_frame(GPUS).set_index("name")
    assert list(frame.index) == [gpu.name for gpu in GPUS]
    h100 = frame.loc["h100"]
    assert (h100["sms"], h100["arch"], h100["shared_per_block_optin"]) == (132, "sm_90", 232448)
    assert h100["matrix_bf16_tflops"] == 989.5
    assert frame["l3_bytes"].dtype == "Int64"
    assert frame["l3_bytes"].notna().sum() == 2  # AMD's Infinity Cache
    assert "vector_fp8_tflops" not in frame  # no device has it


def test_the_numbers_of_one_gpu_with_their_sources() -> None:
    frame = build_target_frame(GPUS["mi300x"]).set_index("field")
    assert frame.loc["sms", "value"] == 304
    assert "AMD ROCm documentation" in frame.loc["sms", "source"]
    assert frame["source"].str.len().min() > 0


def test_an_empty_catalogue_is_an_empty_frame() -> None:
    assert build_targets_frame(Catalogue(())).empty
