"""Metrics of torchmetrics and operators on images of kornia, in modules that call them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from tests.libraries.case import Case, named
from tests.libraries.installed import use


class Judged(nn.Module):
    """A classifier with a metric of what it said."""

    def __init__(self, metric: nn.Module) -> None:
        super().__init__()
        self.classify, self.metric = nn.Linear(8, 4), metric

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        said = self.classify(x).softmax(1)
        return said, self.metric(said, target)


class Compared(nn.Module):
    """A small network whose image is compared with the one that went in."""

    def __init__(self, compare: Callable[..., Any]) -> None:
        super().__init__()
        self.change, self.compare = nn.Conv2d(3, 3, 3, padding=1), compare

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        changed = x + 0.1 * self.change(x)
        return changed, self.compare(changed, x)


def accuracy() -> Case:
    metric = _library("torchmetrics.classification").MulticlassAccuracy(4, validate_args=False)
    return Case(Judged(metric), _classes())


def confusion() -> Case:
    matrix = _library("torchmetrics.classification").MulticlassConfusionMatrix
    return Case(Judged(matrix(4, validate_args=False)), _classes())


def similarity() -> Case:
    compare = _library("torchmetrics.functional.image").structural_similarity_index_measure
    return Case(Compared(lambda a, b: compare(a, b, data_range=1.0)), _images())


def variation() -> Case:
    variation = _library("torchmetrics.functional.image").total_variation
    return Case(Compared(lambda a, b: variation(a) - variation(b)), _images())


def blur() -> Case:
    return Case(_library("kornia.filters").GaussianBlur2d((3, 3), (1.5, 1.5)), _named("input"))


def edges() -> Case:
    return Case(_library("kornia.filters").Sobel(), _named("input"))


def color() -> Case:
    return Case(_library("kornia.color").RgbToLab(), _named("image"))


def descriptor() -> Case:
    model = _library("kornia.feature").HardNet(pretrained=False)
    return Case(model, {"input": torch.rand(4, 1, 32, 32)})


class Warped(nn.Module):
    """An image seen from elsewhere, by a matrix of the model."""

    def __init__(self, warp: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.warp = warp
        self.matrix = nn.Parameter(torch.eye(3)[None].repeat(2, 1, 1) + 0.01 * torch.rand(2, 3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.warp(x, self.matrix, (24, 20))


def warp() -> Case:
    return Case(Warped(_library("kornia.geometry").warp_perspective), _images(), learns=True)


def _classes() -> dict[str, torch.Tensor]:
    return {"x": torch.randn(16, 8), "target": torch.randint(0, 4, (16,))}


def _images() -> dict[str, torch.Tensor]:
    return _named("x")


def _named(name: str) -> dict[str, torch.Tensor]:
    return {name: torch.rand(2, 3, 24, 24)}


def _library(module: str) -> Any:
    use()
    return import_module(module)


BUILDERS = {
    **named("torchmetrics", accuracy, confusion, similarity, variation),
    **named("kornia", blur, edges, color, descriptor, warp),
}
