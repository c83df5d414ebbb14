"""Twenty-seven small models that the zoo does not have, each with inputs of 64 rows that fit it.

They have one layer, or one of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import transformers as hf
from torch import nn

WIDTH, HEADS, LAYERS, WORDS, LENGTH = 32, 2, 1, 99, 10
ROWS = 64
IMAGE_TOKEN = 98


class Case(NamedTuple):
    """A model and the keyword arguments of one call, whose first dimension is the batch."""

    model: nn.Module
    inputs: Mapping[str, torch.Tensor]

    def rows(self, count: int) -> dict[str, torch.Tensor]:
        """The arguments of a batch of `count`."""
        return {name: value[:count].clone() for name, value in self.inputs.items()}


def tokens(words: int = WORDS - 1, length: int = LENGTH) -> torch.Tensor:
    return torch.randint(3, words, (ROWS, length))


def image(size: int = 32, channels: int = 3) -> torch.Tensor:
    return torch.randn(ROWS, channels, size, size)


def _layers(count: int = LAYERS, **options: Any) -> dict[str, Any]:
    return {
        "hidden_size": WIDTH,
        "num_hidden_layers": count,
        "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH,
        **options,
    }


def _words(**options: Any) -> dict[str, Any]:
    return _layers(vocab_size=WORDS, max_position_embeddings=64, **options)


def _experts(**options: Any) -> dict[str, Any]:
    return _words(num_key_value_heads=1, use_cache=False, **options)


def _text(model: nn.Module) -> Case:
    return Case(model, {"input_ids": tokens()})


def _vision(model: nn.Module, size: int = 32) -> Case:
    return Case(model, {"pixel_values": image(size)})


def albert() -> Case:
    return _text(hf.AlbertModel(hf.AlbertConfig(**_words(embedding_size=16))))


def deberta_v2() -> Case:
    return _text(
        hf.DebertaV2Model(
            hf.DebertaV2Config(
                **_words(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8)
            )
        )
    )


def xlnet() -> Case:
    config = hf.XLNetConfig(
        vocab_size=WORDS, d_model=WIDTH, n_layer=LAYERS, n_head=HEADS, d_inner=2 * WIDTH
    )
    return _text(hf.XLNetModel(config))


def bloom() -> Case:
    config = hf.BloomConfig(
        vocab_size=WORDS, hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS, use_cache=False
    )
    return _text(hf.BloomForCausalLM(config))


def fnet() -> Case:
    return _text(hf.FNetModel(hf.FNetConfig(**_words())))


def big_bird() -> Case:
    config = hf.BigBirdConfig(
        **_words(attention_type="block_sparse", block_size=2, num_random_blocks=1)
    )
    return Case(hf.BigBirdModel(config), {"input_ids": tokens(length=16)})


def longformer() -> Case:
    config = hf.LongformerConfig(**_words(attention_window=4, pad_token_id=1))
    return Case(hf.LongformerModel(config), {"input_ids": tokens(length=8)})


def mixtral() -> Case:
    config = hf.MixtralConfig(**_experts(num_local_experts=4, num_experts_per_tok=2))
    return _text(hf.MixtralForCausalLM(config))


def qwen3_moe() -> Case:
    config = hf.Qwen3MoeConfig(
        **_experts(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, head_dim=16)
    )
    return _text(hf.Qwen3MoeForCausalLM(config))


def gpt_oss() -> Case:
    config = hf.GptOssConfig(
        **_experts(
            count=2, num_local_experts=4, num_experts_per_tok=2, head_dim=16, sliding_window=4
        )
    )
    return _text(hf.GptOssForCausalLM(config))


def deepseek_v3() -> Case:
    config = hf.DeepseekV3Config(
        **_experts(
            count=2,
            moe_intermediate_size=16,
            n_routed_experts=4,
            num_experts_per_tok=2,
            n_group=2,
            topk_group=1,
            first_k_dense_replace=1,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=16,
        )
        | {"num_key_value_heads": HEADS}
    )
    return _text(hf.DeepseekV3ForCausalLM(config))


def mamba() -> Case:
    config = hf.MambaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        state_size=4,
        num_hidden_layers=LAYERS,
        time_step_rank=4,
        use_cache=False,
    )
    return _text(hf.MambaForCausalLM(config))


def recurrent_gemma() -> Case:
    config = hf.RecurrentGemmaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        head_dim=16,
        lru_width=WIDTH,
        attention_window_size=8,
        block_types=("recurrent", "attention"),
        use_cache=False,
    )
    return _text(hf.RecurrentGemmaForCausalLM(config))


def mobilenet_v2() -> Case:
    return _vision(hf.MobileNetV2Model(hf.MobileNetV2Config(depth_multiplier=0.25)))


def efficientnet() -> Case:
    config = hf.EfficientNetConfig(
        image_size=32,
        width_coefficient=0.25,
        kernel_sizes=[3, 5],
        in_channels=[32, 16],
        out_channels=[16, 24],
        strides=[1, 2],
        num_block_repeats=[1, 2],
        expand_ratios=[1, 6],
        depthwise_padding=[],
        hidden_dim=320,
    )
    return _vision(hf.EfficientNetModel(config))


class Unet(nn.Module):
    """Down, across and up again, with a skip at each level."""

    def __init__(self, widths: tuple[int, ...] = (8, 16, 32)) -> None:
        super().__init__()
        pairs = list(zip((3, *widths), widths, strict=False))
        self.down = nn.ModuleList(_block(*pair) for pair in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs[:0:-1])
        self.up = nn.ModuleList(_block(2 * a, a) for a, _ in pairs[:0:-1])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        kept = []
        x = self.down[0](pixel_values)
        for block in self.down[1:]:
            kept.append(x)
            x = block(nn.functional.max_pool2d(x, 2))
        for grow, block in zip(self.grow, self.up, strict=True):
            x = block(torch.cat((kept.pop(), grow(x)), 1))
        result: torch.Tensor = self.head(x)
        return result


def _block(before: int, after: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(2, after), nn.SiLU())


def unet() -> Case:
    return _vision(Unet())


def segformer() -> Case:
    config = hf.SegformerConfig(
        depths=[1, 1],
        num_encoder_blocks=2,
        sr_ratios=[4, 2],
        hidden_sizes=[16, 32],
        patch_sizes=[7, 3],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=32,
    )
    return _vision(hf.SegformerForSemanticSegmentation(config))


def sam() -> Case:
    config = hf.SamVisionConfig(
        **_layers(
            count=2,
            output_channels=16,
            image_size=64,
            patch_size=16,
            mlp_dim=64,
            window_size=2,
            global_attn_indexes=[1],
        )
    )
    return _vision(hf.SamVisionModel(config), 64)


def detr() -> Case:
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16],
        depths=[1, 1],
        layer_type="basic",
        out_features=["stage2"],
    )
    config = hf.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        num_queries=6,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=2 * WIDTH,
        decoder_ffn_dim=2 * WIDTH,
    )
    return _vision(hf.DetrForObjectDetection(config), 64)


def dpt() -> Case:
    config = hf.DPTConfig(
        **_layers(
            count=2,
            image_size=32,
            patch_size=8,
            backbone_out_indices=[0, 1],
            neck_hidden_sizes=[8, 16],
            reassemble_factors=[2, 1],
            fusion_hidden_size=16,
        )
    )
    return _vision(hf.DPTForDepthEstimation(config))


def videomae() -> Case:
    config = hf.VideoMAEConfig(**_layers(image_size=16, patch_size=8, num_frames=4, tubelet_size=2))
    return Case(hf.VideoMAEModel(config), {"pixel_values": torch.randn(ROWS, 4, 3, 16, 16)})


def wav2vec2() -> Case:
    config = hf.Wav2Vec2Config(
        **_layers(
            conv_dim=[16, 16],
            conv_stride=[5, 2],
            conv_kernel=[10, 3],
            num_feat_extract_layers=2,
            num_conv_pos_embeddings=8,
            num_conv_pos_embedding_groups=2,
        )
    )
    return Case(hf.Wav2Vec2Model(config), {"input_values": torch.randn(ROWS, 400)})


def spectrogram() -> Case:
    config = hf.ASTConfig(
        **_layers(patch_size=8, frequency_stride=8, time_stride=8, max_length=32, num_mel_bins=16)
    )
    model = hf.ASTModel(config)
    for zeros in (p for p in model.parameters() if not p.any()):
        nn.init.normal_(zeros)  # whose norm, with an epsilon of 1e-12, is of rounding errors
    return Case(model, {"input_values": torch.randn(ROWS, 32, 16)})


def encodec() -> Case:
    config = hf.EncodecConfig(
        hidden_size=16,
        num_filters=4,
        upsampling_ratios=[4, 2],
        codebook_size=16,
        codebook_dim=16,
        num_lstm_layers=1,
        target_bandwidths=[8.0],
        sampling_rate=8000,
    )
    return Case(hf.EncodecModel(config), {"input_values": torch.randn(ROWS, 1, 160)})


def _vision_tower() -> dict[str, Any]:
    return _layers(image_size=32, patch_size=8)


def siglip() -> Case:
    config = hf.SiglipConfig(
        text_config=_words(bos_token_id=1, eos_token_id=2), vision_config=_vision_tower()
    )
    return Case(hf.SiglipModel(config), {"input_ids": tokens(), "pixel_values": image()})


def llava() -> Case:
    vision = hf.CLIPVisionConfig(**_vision_tower())
    text = hf.LlamaConfig(**_words(num_key_value_heads=HEADS, use_cache=False))
    config = hf.LlavaConfig(vision_config=vision, text_config=text, image_token_id=IMAGE_TOKEN)
    places = torch.full((ROWS, 16), IMAGE_TOKEN)
    ids = torch.cat((tokens(length=3), places, tokens(length=5)), 1)
    inputs = {"input_ids": ids, "pixel_values": image()}
    return Case(hf.LlavaForConditionalGeneration(config), inputs)


def perceiver() -> Case:
    config = hf.PerceiverConfig(
        num_latents=8,
        d_latents=WIDTH,
        d_model=WIDTH,
        num_blocks=1,
        num_self_attends_per_block=LAYERS,
        num_self_attention_heads=HEADS,
        num_cross_attention_heads=HEADS,
    )
    return Case(hf.PerceiverModel(config), {"inputs": torch.randn(ROWS, 12, WIDTH)})


BUILDERS: Mapping[str, Callable[[], Case]] = {
    builder.__name__: builder
    for builder in (
        albert,
        deberta_v2,
        xlnet,
        bloom,
        fnet,
        big_bird,
        longformer,
        mixtral,
        qwen3_moe,
        gpt_oss,
        deepseek_v3,
        mamba,
        recurrent_gemma,
        mobilenet_v2,
        efficientnet,
        unet,
        segformer,
        sam,
        detr,
        dpt,
        videomae,
        wav2vec2,
        spectrogram,
        encodec,
        siglip,
        llava,
        perceiver,
    )
}


def build(name: str) -> Case:
    """The same model with the same weights and inputs each time, called once.

    A first call installs hooks in some, under a lock, which torch does not capture.
    """
    torch.manual_seed(0)
    case = BUILDERS[name]()
    case.model.eval()
    with torch.no_grad():
        case.model(**case.rows(2))
    return case
