"""Equal layers: found where there are many; not few, different ones, or compiled once already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.analysis.opportunities.layer_rules import find_single_layers
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.report import Report

WIDTH = 8


class Layer(nn.Module):
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, width), nn.Linear(width, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.tanh(self.up(x)))


class Once(Layer):
    @torch.compiler.nested_compile_region
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)


class Model(nn.Module):
    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.sin(x)
        for layer in self.layers:
            x = layer(x)
        return x


def captured(layers: Sequence[nn.Module]) -> Report:
    return captured_of(Model(layers))


def captured_of(model: nn.Module) -> Report:
    """A record with the captured graph, as Inductor's begins too."""
    x = torch.randn(2, WIDTH)
    report = wb.aot_compile(model, (x,), backend="eager", grad=False).report
    return replace(report, request=replace(report.request, backend="inductor"))


def said(report: Report) -> list[str]:
    return [made.text for made in find_single_layers(Facts(report))]


def test_many_equal_layers_can_be_compiled_once() -> None:
    report = captured([*(Layer() for _ in range(9)), Layer(2 * WIDTH)])
    (text,) = said(report)
    assert "the 9 equal layers layers.0–8 compiled once" in text
    assert "Compiling took" in text
    (made,) = find_single_layers(Facts(report))
    assert made.after[0] == "@torch.compiler.nested_compile_region"
    assert made.why_not is not None
    assert said(replace(report, request=replace(report.request, backend="eager"))) == []


def test_layers_of_a_list_that_is_the_model_itself_have_no_name_before_their_number() -> None:
    (made,) = find_single_layers(Facts(captured_of(nn.Sequential(*(Layer() for _ in range(9))))))
    assert "the 9 equal layers 0–8 compiled once" in made.text
    assert made.after[1].endswith("# of the class of 0")


@pytest.mark.parametrize(
    "layers",
    [
        [Layer() for _ in range(7)],
        [Layer(width) for width in range(1, 10)],
        [Once() for _ in range(9)],
    ],
    ids=["few", "of different sizes", "compiled once"],
)
def test_else_nothing_is_said(layers: Sequence[nn.Module]) -> None:
    assert said(captured(layers)) == []
