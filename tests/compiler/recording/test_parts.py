"""Parts of a graph that are written once and called often: kernels of their own, calls counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.report import Kernel, Report

LAYERS, WIDTH = 3, 16


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    @torch.compiler.nested_compile_region
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tanh(self.linear(x))


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return torch.softmax(x, -1)


@pytest.fixture(scope="module")
def report() -> Report:
    return wb.aot_compile(Layers(), (torch.randn(4, WIDTH),), grad=False).report


def named(report: Report, part: str) -> Kernel:
    (found,) = [kernel for kernel in report.kernels if part in kernel.name]
    return found


def test_a_kernel_of_a_part_is_called_by_each_call_of_the_part(report: Report) -> None:
    assert named(report, "mm").calls == LAYERS
    assert named(report, "tanh").calls == LAYERS
    assert named(report, "softmax").calls == 1


def test_the_nodes_of_a_part_are_a_graph_of_their_own(report: Report) -> None:
    whole, part = [graph for graph in report.graphs if graph.stage == "after_post_grad"]
    nodes = {node.id: node for node in report.nodes}
    for name, graph in (("mm", part), ("tanh", part), ("softmax", whole)):
        kernel = named(report, name)
        assert kernel.nodes
        assert {nodes[id].graph for id in kernel.nodes} == {graph.id}
    (product,) = [nodes[id] for id in named(report, "mm").nodes if "mm" in nodes[id].target]
    assert (product.shape, product.dtype) == ((4, WIDTH), "float32")
    assert named(report, "mm").lines


def test_the_program_is_that_of_the_whole(report: Report) -> None:
    (wrapper,) = report.wrappers
    assert wrapper.graph == named(report, "softmax").graph
