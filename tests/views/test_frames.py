from __future__ import annotations

import pytest

from workbench.errors import UsageError
from workbench.report import TABLES, Report

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


def test_missing_numbers_do_not_turn_bytes_into_floats(sample_report: Report) -> None:
    frame = sample_report.frame("kernels")
    assert str(frame["bytes_read"].dtype) == "Int64"
    assert frame["time_us"].tolist()[0] == 182.4


def test_texts_are_texts(sample_report: Report) -> None:
    assert "void kernel" in sample_report.frame("kernels")["text"][0]
    assert sample_report.frame("breaks")["text"][0] == "if h.abs().max() > 1e4:"


def test_an_unknown_name_lists_the_names(sample_report: Report) -> None:
    with pytest.raises(UsageError, match=r"'kernel'.*kernels"):
        sample_report.frame("kernel")
