"""Equivariant layers of e3nn and flows of normflows, which answer with a density."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import nn

from tests.libraries.case import Case, named
from tests.libraries.installed import use

ROWS = 6
VECTORS = "4x0e + 2x1o"


def linear() -> Case:
    o3 = _library("e3nn.o3")
    return Case(o3.Linear(VECTORS, "3x0e + 1x1o"), {"features": torch.randn(ROWS, 10)})


def product() -> Case:
    o3 = _library("e3nn.o3")
    model = o3.FullyConnectedTensorProduct(VECTORS, "1x0e + 1x1o", "2x0e + 2x1o")
    return Case(model, {"x": torch.randn(ROWS, 10), "y": torch.randn(ROWS, 4)})


def harmonics() -> Case:
    model = _library("e3nn.o3").SphericalHarmonics([0, 1, 2], normalize=True)
    return Case(model, {"x": torch.randn(ROWS, 3)})


def norm() -> Case:
    return Case(_library("e3nn.nn").BatchNorm(VECTORS), {"input": torch.randn(ROWS, 10)})


class Points(nn.Module):
    """A convolution between points in space: harmonics, a radial network, a tensor product."""

    def __init__(self, library: Any, layers: Any) -> None:
        super().__init__()
        self.around = library.Irreps.spherical_harmonics(2)
        self.product = library.FullyConnectedTensorProduct(
            VECTORS, self.around, VECTORS, shared_weights=False
        )
        self.radial = layers.FullyConnectedNet([1, 8, self.product.weight_numel], torch.relu)
        self.library = library

    def forward(self, features: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        harmonics = self.library.spherical_harmonics(self.around, offsets, True)
        weights = self.radial(offsets.norm(dim=1, keepdim=True))
        result: torch.Tensor = self.product(features, harmonics, weights)
        return result


def points() -> Case:
    model = Points(_library("e3nn.o3"), _library("e3nn.nn"))
    return Case(model, {"features": torch.randn(ROWS, 10), "offsets": torch.randn(ROWS, 3)})


class Density(nn.Module):
    """The logarithm of what a flow says of points."""

    def __init__(self, flow: Any) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.flow.log_prob(x)
        return result


def couplings() -> Case:
    library = _library("normflows")
    parts = [
        part
        for _ in range(2)
        for part in (
            library.flows.AffineCouplingBlock(library.nets.MLP([1, 8, 2])),
            library.flows.Permute(2, mode="swap"),
        )
    ]
    return _flow(parts, learns=True)


def splines() -> Case:
    flows = _library("normflows").flows
    parts = [flows.CoupledRationalQuadraticSpline(2, 1, 8, num_bins=4), flows.LULinearPermute(2)]
    return _flow(parts)


def autoregressive() -> Case:
    flows = _library("normflows").flows
    return _flow([flows.MaskedAffineAutoregressive(2, 8), flows.ActNorm(2)])


def _flow(parts: list[Any], learns: bool = False) -> Case:
    library = _library("normflows")
    flow = library.NormalizingFlow(library.distributions.DiagGaussian(2), parts)
    points = torch.randn(ROWS, 2)
    with torch.no_grad():
        flow.log_prob(points)  # a norm of activations takes its scale from the first batch
    return Case(Density(flow), {"x": points}, learns)


def _library(module: str) -> Any:
    use()
    return import_module(module)


BUILDERS = {
    **named("e3nn", linear, product, harmonics, norm, points),
    **named("normflows", couplings, splines, autoregressive),
}
