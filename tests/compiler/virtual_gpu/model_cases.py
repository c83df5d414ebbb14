"""Modules, training steps and dynamic shapes that a virtual GPU must compile."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from tests.compiler.virtual_gpu.cases import (
    BOTH,
    CASES,
    EXTERN,
    TEMPLATES,
    Made,
    case,
    floats,
    indices,
)

__all__ = ["CASES"]  # with those of functions


def perceptron() -> nn.Module:
    parts = (nn.Linear(128, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64))
    return nn.Sequential(*parts).requires_grad_(False)


@case(kernels=BOTH)
def module() -> Made:
    return perceptron(), (floats(32, 128),)


@case(TEMPLATES)
def module_of_templates() -> Made:
    return perceptron(), (floats(32, 128),)


@case(kernels=BOTH)
def training_step() -> Made:
    def fn(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, t: Tensor) -> Tensor:
        h = F.layer_norm(F.gelu(x @ w1 + b1), (256,))
        return F.cross_entropy(h @ w2, t)

    learned = (floats(128, 256), floats(256), floats(256, 10))
    w1, b1, w2 = (w.requires_grad_() for w in learned)
    return fn, (floats(64, 128), w1, b1, w2, indices(10, 64))


@case(kernels=BOTH)
def convolution_with_batch_norm() -> Made:
    parts = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3))
    return nn.Sequential(*parts).train(), (floats(2, 3, 32, 32),)


@case(refused="autograd.grad")
def gradient_inside() -> Made:
    def fn(x: Tensor, w: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        loss = ((x @ w - t) ** 2).mean()
        (g,) = torch.autograd.grad(loss, (w,))
        return loss, w - 0.1 * g

    return fn, (floats(64, 128), floats(128, 16).requires_grad_(), floats(64, 16))


def activated(x: Tensor, y: Tensor) -> Tensor:
    return torch.softmax(x + y, -1).relu() * 2


BATCH = Dim("batch", min=2, max=1024)


@case(dynamic_shapes=({0: BATCH}, {0: BATCH}))
def dynamic_batch() -> Made:
    return activated, (floats(37, 100), floats(37, 100))


@case()
def marked_batch() -> Made:
    x, y = floats(37, 100), floats(37, 100)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_dynamic(y, 0)
    return activated, (x, y)


def encoder(device: str = "cpu") -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        128, 4, 512, dropout=0.0, batch_first=True, norm_first=True, device=device
    )
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).requires_grad_(False)


@case(kernels=BOTH)
def transformer() -> Made:
    return encoder(), (floats(2, 64, 128),)


@case(TEMPLATES)
def transformer_of_templates() -> Made:
    return encoder("meta"), (floats(2, 64, 128),)


@case(kernels=EXTERN)
def seven_billion_parameters() -> Made:
    model = nn.Sequential(*(nn.Linear(8192, 8192, device="meta") for _ in range(105)))
    return model.requires_grad_(False), (torch.empty(1, 8192, device="meta"),)
