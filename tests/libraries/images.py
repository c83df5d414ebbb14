"""Twenty-five image models of timm, one of a family, made smaller by what their families take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from tests.libraries.case import Case
from tests.libraries.installed import import_timm

SIZES: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "test_resnet": (64, {}),
    "test_byobnet": (64, {}),
    "test_convnext": (64, {}),
    "test_efficientnet": (64, {}),
    "test_efficientnet_evos": (64, {}),
    "test_mambaout": (64, {}),
    "test_nfnet": (64, {}),
    "test_coatnet": (64, {"img_size": 64}),
    "test_maxvit": (64, {"img_size": 64}),
    "test_vit": (64, {"img_size": 64}),
    "test_vit_relpos": (64, {"img_size": 64}),
    "beit_base_patch16_224": (32, {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 2}),
    "cait_xxs24_224": (32, {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 2}),
    "deit_tiny_distilled_patch16_224": (32, {"img_size": 32, "depth": 2}),
    "edgenext_xx_small": (64, {"depths": (1, 1, 1, 1)}),
    "eva02_tiny_patch14_224": (28, {"img_size": 28, "depth": 2}),
    "levit_128s": (64, {"img_size": 64, "depth": (1, 1, 1)}),
    "mobilenetv3_small_050": (64, {}),
    "pvt_v2_b0": (64, {"depths": (1, 1, 1, 1)}),
    "swin_tiny_patch4_window7_224": (
        56,
        {"img_size": 56, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)},
    ),
    "xcit_nano_12_p16_224": (32, {"img_size": 32, "depth": 2}),
    "ConvMixer": (32, {"dim": 16, "depth": 2}),
    "FocalNet": (64, {"embed_dim": 16, "depths": (1, 1, 1, 1)}),
    "MetaFormer": (64, {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32)}),
    "MlpMixer": (32, {"img_size": 32, "num_blocks": 2, "embed_dim": 32}),
}
"""By timm's name of a model or of a class: the side of the image, and the options."""


def build(name: str) -> Case:
    """The model of timm with that name, without weights that it learned."""
    size, options = SIZES[name]
    timm = import_timm()
    if timm.is_model(name):
        model = timm.create_model(name, pretrained=False, num_classes=10, **options)
    else:
        model = getattr(timm.models, name)(num_classes=10, **options)
    return Case(model, {"x": torch.randn(2, 3, size, size)})


BUILDERS = {f"timm/{name}": partial(build, name) for name in SIZES}
