"""A compilation in which a pass of the user rewrites a node, for tests of passes."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

import workbench as wb


class Exchange(CustomGraphPass):
    """A pass that computes something else: another operator in the place of one."""

    def __init__(self, operator: Any, other: Any) -> None:
        self._operator, self._other = operator, other

    def __call__(self, graph: Any) -> None:
        for node in graph.nodes:
            if node.target is self._operator:
                node.target = self._other

    def uuid(self) -> str:
        return f"{self._operator} to {self._other}"


class SwapAddForSub(Exchange):
    """A pass that subtracts where the program adds."""

    def __init__(self) -> None:
        super().__init__(torch.ops.aten.add.Tensor, torch.ops.aten.sub.Tensor)


def scale_and_add(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A product, two turns that cancel out, an addition."""
    return torch.relu(x @ w).permute(1, 0).permute(1, 0) * 2 + x


def compile_stepped(*, grad: bool = False, is_wrong: bool = True) -> Any:
    """The compiled call, where asked for with a pass that takes subtraction for addition."""
    inputs = torch.ones(8, 8, requires_grad=grad), torch.eye(8)
    with config.patch(post_grad_custom_post_pass=SwapAddForSub() if is_wrong else None):
        return wb.aot_compile(scale_and_add, inputs)
