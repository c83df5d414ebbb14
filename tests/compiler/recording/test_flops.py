"""Operations by hand: a multiply-add is two, each function of an element in a loop one."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim
from torch.utils.flop_counter import flop_registry

from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.recording.flops import operations
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest


def flops(fn: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> list[int | None]:
    args = tuple(torch.randn(shape) for shape in shapes)
    report = compile_ahead(CompileRequest(fn, args, options=CompileOptions(**options))).report
    return [kernel.flops for kernel in report.kernels]


@pytest.mark.parametrize(
    ("fn", "shapes", "expected"),
    [
        (lambda x: x.exp() * 2 + 1, [(8, 16)], [3 * 8 * 16]),
        (lambda x: x.t().contiguous(), [(8, 16)], [0]),
        (lambda x: x.sum(-1), [(8, 16)], [8 * 16]),
        (lambda a, b: a @ b, [(4, 8), (8, 6)], [2 * 4 * 8 * 6]),
        (torch.bmm, [(3, 4, 8), (3, 8, 6)], [2 * 3 * 4 * 8 * 6]),
        (torch.addmm, [(6,), (4, 8), (8, 6)], [2 * 4 * 8 * 6]),
    ],
)
def test_operations_of_a_kernel(fn: Any, shapes: list[Any], expected: list[int]) -> None:
    assert flops(fn, *shapes) == expected


def test_a_convolution_counts_for_every_output_and_weight() -> None:
    found = flops(lambda x, w: F.conv2d(x, w), (2, 3, 10, 10), (5, 3, 3, 3))
    assert 2 * (2 * 5 * 8 * 8) * (3 * 3 * 3) in found


def test_a_product_counts_for_itself_where_its_input_comes_from_one() -> None:
    """As seen: what reads half of a convolution had two origins, and so no figure and no bound."""
    graph = torch.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    first = graph.call_function(torch.ops.aten.mm.default, (a, b))
    second = graph.call_function(torch.ops.aten.mm.default, (first, b))
    for node in graph.nodes:
        node.meta["val"] = torch.empty(4, 4)
    call = SimpleNamespace(get_origins=lambda: [first, second], get_origin_node=lambda: second)
    assert operations(SimpleNamespace(node=call)) == 2 * 4 * 4 * 4


def test_with_dynamic_shapes_the_example_counts() -> None:
    shapes = ({0: Dim("rows", min=2, max=64)},)
    assert flops(lambda x: x.exp() + 1, (8, 16), dynamic_shapes=shapes) == [2 * 8 * 16]


def test_a_formula_that_refuses_its_sizes_costs_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch 2.11's of attention with fewer heads of keys does; every scheduler node was lost."""

    def refuse(*_: Any, **__: Any) -> int:
        raise AssertionError("query/key/value shapes are incompatible")

    monkeypatch.setitem(flop_registry, torch.ops.aten.mm, refuse)
    request = CompileRequest(lambda a, b: a @ b, (torch.randn(4, 8), torch.randn(8, 6)))
    report = compile_ahead(request).report
    assert [kernel.flops for kernel in report.kernels] == [None]
    assert len(report.scheduler_nodes)
