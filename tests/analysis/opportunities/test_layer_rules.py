"""Identical layers: found where there are many; not few, different ones, or compiled once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.analysis.opportunities.layer_rules import MEASURED, find_single_layers
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
    assert "Compile the 9 identical layers layers.0–8 once" in text
    assert "Compilation took" in text
    (made,) = find_single_layers(Facts(report))
    assert made.after[0] == "@torch.compiler.nested_compile_region"
    assert made.why_not is not None
    assert said(replace(report, request=replace(report.request, backend="eager"))) == []


def test_layers_of_a_list_that_is_the_model_itself_have_no_name_before_their_number() -> None:
    (made,) = find_single_layers(Facts(captured_of(nn.Sequential(*(Layer() for _ in range(9))))))
    assert "Compile the 9 identical layers 0–8 once" in made.text
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


def test_the_times_of_the_advice_are_those_of_the_committed_benchmark() -> None:
    bench = json.loads((Path(__file__).parents[2] / "bench" / "bench.json").read_text())
    times = {row["name"]: row["value"] for row in bench["figures"]}
    for step in ("", " training step"):
        name = f"Llama-3-8B{step} for a virtual H100"
        each, once = (times[f"{name}{end} (s)"] for end in ("", ", layers compiled once"))
        assert f"in {once:.1f} s instead of {each:.1f} s" in MEASURED
