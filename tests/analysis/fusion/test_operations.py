from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.fusion.operations import OperationTraffic, operation_traffic
from workbench.report import Report

N = 64 * 64 * 4  # bytes of one of the inputs below


def traffic(function: Callable[..., Any], *args: Any, **options: Any) -> OperationTraffic:
    found = operation_traffic(wb.aot_compile(function, args, **options).report)
    assert found is not None
    return found


def square() -> torch.Tensor:
    return torch.rand(64, 64)


def test_a_chain_reads_and_writes_at_every_step_before_and_once_after() -> None:
    found = traffic(lambda x: torch.relu(x + 1) * 2, square())
    assert found == OperationTraffic(
        before=6 * N, reads_before=3 * N, writes_before=3 * N, after=2 * N, operations=3, groups=1
    )


def test_views_are_free_and_show_no_more_than_there_is() -> None:
    found = traffic(lambda x: x.t().unsqueeze(0).sin(), square())
    assert (found.reads_before, found.writes_before) == (N, N)
    broadcast = traffic(lambda x, y: x.expand(64, 64) * y, torch.rand(1, 64), square())
    assert (broadcast.reads_before, broadcast.writes_before) == (N + N // 64, N)
    part = traffic(lambda x: x[:8].exp(), square())
    assert (part.reads_before, part.writes_before) == (N // 8, N // 8)


def test_an_input_that_is_used_twice_is_read_once_by_an_operation() -> None:
    assert traffic(lambda x: x * x, square()).before == 2 * N


def test_library_calls_count_like_every_operation() -> None:
    found = traffic(lambda x, w: (x @ w).relu(), square(), square())
    assert found.before == 5 * N
    assert found.after == 5 * N  # read, read, written; read and written by the second group


def test_forward_and_backward_are_added_up() -> None:
    x = square().requires_grad_()
    forward = traffic(lambda x: x.sin() * 2, square())
    both = traffic(lambda x: x.sin() * 2, x)
    assert (both.before or 0) > (forward.before or 0)


def test_symbolic_sizes_are_unknown() -> None:
    dim = torch.export.Dim("batch", min=2, max=100)
    found = traffic(lambda x: x.sin() * 2, square(), dynamic_shapes=({0: dim},))
    assert found.before is None
    assert found.operations == 2


def test_without_a_lowered_graph_there_is_no_figure() -> None:
    assert operation_traffic(Report()) is None


@pytest.mark.parametrize("size", [1, 7])
def test_factories_only_write(size: int) -> None:
    found = traffic(lambda x: (torch.zeros(size, device=x.device), x + 1), square())
    assert found.reads_before == N
    assert found.writes_before == N + 4 * size
