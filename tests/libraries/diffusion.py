"""Eight models of diffusers, as small as their configs let them be."""

from __future__ import annotations

from typing import Any

import torch

from tests.libraries.case import Case, named
from tests.libraries.installed import use

BLOCKS = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}


def unet() -> Case:
    model = _library().UNet2DModel(
        sample_size=16,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
        **BLOCKS,
    )
    return Case(model, {"sample": torch.randn(2, 3, 16, 16), "timestep": torch.tensor([3, 7])})


def unet_of_text() -> Case:
    model = _library().UNet2DConditionModel(
        sample_size=16,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=4,
        **BLOCKS,
    )
    inputs = {
        "sample": torch.randn(2, 4, 16, 16),
        "timestep": torch.tensor([3, 7]),
        "encoder_hidden_states": torch.randn(2, 5, 16),
    }
    return Case(model, inputs)


def unet_of_sound() -> Case:
    model = _library().UNet1DModel(
        sample_size=32,
        in_channels=2,
        out_channels=2,
        extra_in_channels=64,
        down_block_types=("DownBlock1DNoSkip", "DownBlock1D"),
        up_block_types=("UpBlock1D", "UpBlock1DNoSkip"),
        mid_block_type="UNetMidBlock1D",
        block_out_channels=(32, 32),
    )
    return Case(model, {"sample": torch.randn(2, 2, 32), "timestep": torch.tensor([3, 7])})


def dit() -> Case:
    model = _library().DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=10,
        norm_num_groups=4,
    )
    inputs = {
        "hidden_states": torch.randn(2, 4, 8, 8),
        "timestep": torch.tensor([3, 7]),
        "class_labels": torch.tensor([1, 2]),
    }
    return Case(model, inputs)


def autoencoder() -> Case:
    model = _library().AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        **BLOCKS,
    )
    return Case(model, {"sample": torch.randn(2, 3, 16, 16)})


def autoencoder_of_codes() -> Case:
    model = _library().VQModel(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=3,
        num_vq_embeddings=16,
        **BLOCKS,
    )
    return Case(model, {"sample": torch.randn(2, 3, 16, 16)})


def stable_diffusion_3() -> Case:
    model = _library().SD3Transformer2DModel(
        sample_size=8,
        patch_size=2,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=16,
        caption_projection_dim=16,
        pooled_projection_dim=16,
        out_channels=4,
        pos_embed_max_size=8,
    )
    inputs = {
        "hidden_states": torch.randn(2, 4, 8, 8),
        "encoder_hidden_states": torch.randn(2, 5, 16),
        "pooled_projections": torch.randn(2, 16),
        "timestep": torch.tensor([3, 7]),
    }
    return Case(model, inputs)


def flux() -> Case:
    model = _library().FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        pooled_projection_dim=16,
        axes_dims_rope=(4, 4, 8),
        guidance_embeds=False,
    )
    inputs = {
        "hidden_states": torch.randn(2, 16, 4),
        "encoder_hidden_states": torch.randn(2, 5, 16),
        "pooled_projections": torch.randn(2, 16),
        "timestep": torch.tensor([0.3, 0.7]),
        "img_ids": torch.randint(0, 4, (16, 3)).float(),
        "txt_ids": torch.zeros(5, 3),
    }
    return Case(model, inputs)


def _library() -> Any:
    use()
    import diffusers  # takes a second, which a test without a model of it does not spend

    return diffusers


BUILDERS = named(
    "diffusers",
    unet,
    unet_of_text,
    unet_of_sound,
    dit,
    autoencoder,
    autoencoder_of_codes,
    stable_diffusion_3,
    flux,
)
