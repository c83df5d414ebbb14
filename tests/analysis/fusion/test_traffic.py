from __future__ import annotations

from workbench.analysis.fusion.traffic import fusion_traffic, line_traffic
from workbench.report import Report

BIG = 2097152


def test_fusion_traffic_adds_up_groups(sample_report: Report) -> None:
    traffic = fusion_traffic(sample_report)
    assert traffic is not None
    assert (traffic.groups_before, traffic.groups_after) == (3, 2)
    assert traffic.before == 5 * BIG + 16384
    assert traffic.after == 3 * BIG + 16384


def test_without_bytes_there_is_no_figure() -> None:
    assert fusion_traffic(Report()) is None


def test_the_shares_of_the_lines_are_the_bytes_of_the_kernels(sample_report: Report) -> None:
    lines = line_traffic(sample_report)
    total = sum((k.bytes_read or 0) + (k.bytes_written or 0) for k in sample_report.kernels)
    assert sum(line.bytes or 0 for line in lines.values()) == total
    assert lines["L:s0:16"].kernels == ("k1",)
