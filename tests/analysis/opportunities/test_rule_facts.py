from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.fusion.traffic import count_moved_bytes
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.report import Kernel, Report
from workbench.report.table import Table

NORM = Report.load(Path(__file__).parents[2] / "records" / "norm_h100.wbr")


def test_what_bytes_cost_is_the_modelled_share_within_its_error() -> None:
    facts, row = Facts(NORM), wb.forecast(NORM).rows[1]
    kernel = facts.kernels[1]
    half = (count_moved_bytes(kernel) or 0) / 2
    assert row.error is not None
    assert facts.least_microseconds(half, [kernel]) == pytest.approx(row.us * (1 - row.error) / 2)
    assert facts.microseconds(half, [kernel]) == pytest.approx(row.us * (1 + row.error) / 2)
    error = f"{row.error:.0%}".replace("%", " %")
    said = facts.time_source([kernel])
    assert said == f". Time: the modelled share of these kernels on h100, ± {error}"


def test_where_no_error_was_measured_the_least_is_that_at_full_bandwidth() -> None:
    report = replace(NORM, request=replace(NORM.request, target="a100"))
    facts = Facts(report)
    kernel, bandwidth = facts.kernels[1], facts.bandwidth_gbs
    whole = count_moved_bytes(kernel) or 0
    assert bandwidth is not None
    assert facts.least_microseconds(whole, [kernel]) == pytest.approx(whole / bandwidth / 1e3)
    assert facts.microseconds(whole, [kernel]) == pytest.approx(wb.forecast(report).rows[1].us)
    assert facts.time_source([kernel]).endswith("error not measured")


def test_without_a_model_it_stays_the_bandwidth_and_a_measured_time_comes_first() -> None:
    unknown = [replace(each, language="extern", ops=("mine.op.default",)) for each in NORM.kernels]
    bare = replace(NORM, tables={**NORM.tables, "kernels": Table.of(Kernel, unknown)})
    facts = Facts(bare)
    assert (
        facts.time_source(facts.kernels[1:])
        == ". Time: moving these bytes at the bandwidth of h100"
    )
    timed = [replace(each, time_us=10.0) for each in NORM.kernels]
    facts = Facts(replace(NORM, tables={**NORM.tables, "kernels": Table.of(Kernel, timed)}))
    whole = count_moved_bytes(facts.kernels[1]) or 0
    assert facts.microseconds(whole, facts.kernels[1:]) == pytest.approx(10.0)
