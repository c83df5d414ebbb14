"""Whether a deep model fits, from two shallow ones; the deep one compiled says the same."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.handles.compiling.fits import copy_with_layers, layer_list

WIDE, WORDS = 64, 100


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDE)
        self.up, self.down = nn.Linear(WIDE, 4 * WIDE), nn.Linear(4 * WIDE, WIDE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDE)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(WIDE, WORDS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Loss(Model):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(super().forward(ids).flatten(0, 1), ids.flatten())


IDS = torch.zeros(4, 32, dtype=torch.long)


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_a_call_of_six_layers_from_two_and_four() -> None:
    found = wb.fits(Model(6), (IDS,), grad=False)
    assert found.fits
    assert [depth.layers for depth in found.depths] == [2, 4]
    whole = wb.aot_compile(Model(6).to("meta"), (IDS.to("meta"),), target="h100", grad=False)
    assert found.peak == whole.memory().peak
    assert "extrapolated to 6" in found.frame()["source"].iloc[0]
    assert "fits into H100 SXM5 80 GB" in found.sentence
    told = wb.forecast(whole)
    assert found.call_us is not None
    assert found.call_us[0] == pytest.approx(told.call_us, rel=0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_a_step_of_six_layers_from_two_and_four_and_the_largest_batch() -> None:
    found = wb.fits(Loss, (IDS,), total=6, capacity=6_000_000)
    whole = wb.fits(Loss(6), (IDS,), layers=None, capacity=6_000_000)
    assert found.peak == whole.peak
    assert found.saved == whole.saved
    assert found.fits
    batch = found.largest_batch()
    assert batch > 4
    for size in (batch, batch + 1):
        ids = torch.zeros(size, 32, dtype=torch.long)
        larger = wb.fits(Loss(6), (ids,), layers=None, capacity=6_000_000)
        assert larger.fits is (size == batch)


def test_layers_are_those_of_the_longest_list_of_equal_ones() -> None:
    model = Model(5)
    assert layer_list(model) == "layers"
    cut = copy_with_layers(model, "layers", 2)
    layers: Any = cut.layers
    assert (len(layers), len(model.layers)) == (2, 5)
    assert all(parameter.device.type == "meta" for parameter in cut.parameters())
    assert layer_list(nn.Linear(2, 2)) is None


def test_layers_of_other_sizes_are_not_equal_and_parametrised_ones_may_be() -> None:
    sizes = (8, 8, 8, 16, 8)
    uneven = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
    assert layer_list(uneven) is None
    even = nn.Sequential(*(nn.Linear(8, 8) for _ in range(3)))
    for layer in even:
        nn.utils.parametrizations.weight_norm(layer)  # gives each of them a class of its own
    assert layer_list(even) == ""


def test_the_experts_of_a_layer_are_no_layers() -> None:
    experts = (nn.ModuleList(nn.Linear(8, 8) for _ in range(6)) for _ in range(2))
    model = nn.ModuleDict({"layers": nn.ModuleList(experts)})
    assert layer_list(model) == "layers"


def test_what_cannot_be_told_is_refused_in_a_sentence() -> None:
    with pytest.raises(wb.UsageError, match="capacity of target='cpu' is unknown"):
        wb.fits(Model(2), (IDS,), target="cpu")
    with pytest.raises(wb.UsageError, match=r"has 3 layers, fewer than layers=\(2, 4\)"):
        wb.fits(Model(3), (IDS,), total=32)
    with pytest.raises(wb.UsageError, match="needs total="):
        wb.fits(Model, (IDS,))
    with pytest.raises(wb.UsageError, match="no list of identical layers"):
        wb.fits(nn.Linear(2, 2), (torch.randn(2, 2),), total=8)
    with pytest.raises(wb.UsageError, match="needs example inputs"):
        wb.fits(Model(2))
    with pytest.raises(wb.UsageError, match="optimizer='lion' is unknown"):
        wb.fits(Model(2), (IDS,), optimizer="lion")


@pytest.mark.usefixtures("worker")
def test_a_model_without_a_loss_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="of Model does not return a loss"):
        wb.fits(Model(2), (IDS,))


def test_a_function_that_makes_no_tuple_of_inputs_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="must return a tuple for a given number of layers"):
        wb.fits(Model(4), lambda layers: IDS, grad=False)  # type: ignore[arg-type, return-value]


def test_a_model_without_a_loss_is_refused_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("workbench.handles.compiling.fits.compile_for_target", asked.append)
    with pytest.raises(wb.UsageError, match="of Model does not return a loss"):
        wb.fits(Model(2), (IDS,))
    assert asked == []
