from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.fusion.traffic import count_operation_bytes, measure_fusion_traffic
from workbench.report import Report

BIG = 2097152


def test_fusion_traffic_adds_up_groups(sample_report: Report) -> None:
    traffic = measure_fusion_traffic(sample_report)
    assert traffic is not None
    assert (traffic.groups_before, traffic.groups_after) == (3, 2)
    assert traffic.before == 5 * BIG + 16384
    assert traffic.after == 3 * BIG + 16384


def test_without_bytes_there_is_no_figure() -> None:
    assert measure_fusion_traffic(Report()) is None


N = 64 * 64 * 4  # bytes of one of the inputs below


def alone(function: Callable[..., Any], *args: Any, **options: Any) -> int | None:
    return count_operation_bytes(wb.aot_compile(function, args, **options).report)


def square() -> torch.Tensor:
    return torch.rand(64, 64)


def test_a_chain_reads_and_writes_at_every_step() -> None:
    assert alone(lambda x: torch.relu(x + 1) * 2, square()) == 6 * N


def test_views_are_free_and_show_no_more_than_there_is() -> None:
    assert alone(lambda x: x.t().unsqueeze(0).sin(), square()) == 2 * N
    broadcast = alone(lambda x, y: x.expand(64, 64) * y, torch.rand(1, 64), square())
    assert broadcast == N + N // 64 + N
    assert alone(lambda x: x[:8].exp(), square()) == 2 * (N // 8)


def test_an_input_that_is_used_twice_is_read_once_by_an_operation() -> None:
    assert alone(lambda x: x * x, square()) == 2 * N


def test_library_calls_count_like_every_operation() -> None:
    report = wb.aot_compile(lambda x, w: (x @ w).relu(), (square(), square())).report
    groups = measure_fusion_traffic(report)
    assert groups is not None
    assert (
        count_operation_bytes(report) == groups.after == 5 * N
    )  # 3 by the first group, 2 by the second


def test_forward_and_backward_are_added_up() -> None:
    x = square().requires_grad_()
    assert (alone(lambda x: x.sin() * 2, x) or 0) > (alone(lambda x: x.sin() * 2, square()) or 0)


def test_symbolic_sizes_are_unknown() -> None:
    dim = torch.export.Dim("batch", min=2, max=100)
    assert alone(lambda x: x.sin() * 2, square(), dynamic_shapes=({0: dim},)) is None


def test_without_a_lowered_graph_there_is_no_figure() -> None:
    assert count_operation_bytes(Report()) is None


@pytest.mark.parametrize("size", [1, 7])
def test_factories_only_write(size: int) -> None:
    found = alone(lambda x: (torch.zeros(size, device=x.device), x + 1), square())
    assert found == 2 * N + 4 * size
