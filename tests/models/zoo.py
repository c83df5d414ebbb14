"""Twenty small Hugging Face models with random weights, each with inputs that fit it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import transformers as hf

WIDTH, HEADS, LAYERS, WORDS, BATCH, LENGTH = 32, 2, 2, 99, 2, 10


class Case(NamedTuple):
    """A model and the keyword arguments of one call; `learns` where gradients are wanted."""

    model: torch.nn.Module
    inputs: Mapping[str, Any]
    learns: bool = False


def tokens(words: int = WORDS, length: int = LENGTH) -> torch.Tensor:
    return torch.randint(3, words, (BATCH, length))


def image(size: int = 32) -> torch.Tensor:
    return torch.randn(BATCH, 3, size, size)


def _encoder(model: Any, config: Any, **config_options: Any) -> Case:
    options = {
        "vocab_size": WORDS,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH,
        "max_position_embeddings": 64,
        **config_options,
    }
    return Case(model(config(**options)), {"input_ids": tokens()})


def _decoder(model: Any, config: Any, **config_options: Any) -> Case:
    return _encoder(model, config, use_cache=False, **config_options)


def gpt2(
    layers: int = LAYERS, width: int = WIDTH, length: int = LENGTH, words: int = WORDS
) -> Case:
    config = hf.GPT2Config(
        vocab_size=words,
        n_positions=max(64, length),
        n_embd=width,
        n_layer=layers,
        n_head=HEADS if width == WIDTH else 4,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
    )
    return Case(hf.GPT2LMHeadModel(config), {"input_ids": tokens(words, length)})


def bert() -> Case:
    return _encoder(hf.BertModel, hf.BertConfig)


def distilbert() -> Case:
    config = hf.DistilBertConfig(
        vocab_size=WORDS,
        dim=WIDTH,
        n_layers=LAYERS,
        n_heads=HEADS,
        hidden_dim=2 * WIDTH,
        max_position_embeddings=64,
    )
    return Case(hf.DistilBertModel(config), {"input_ids": tokens()})


def roberta() -> Case:
    return _encoder(hf.RobertaModel, hf.RobertaConfig)


def electra() -> Case:
    return _encoder(hf.ElectraModel, hf.ElectraConfig, embedding_size=WIDTH)


def llama() -> Case:
    return _decoder(hf.LlamaForCausalLM, hf.LlamaConfig, num_key_value_heads=HEADS)


def mistral() -> Case:
    return _decoder(hf.MistralForCausalLM, hf.MistralConfig, num_key_value_heads=1)


def qwen2() -> Case:
    return _decoder(hf.Qwen2ForCausalLM, hf.Qwen2Config, num_key_value_heads=1)


def gemma() -> Case:
    return _decoder(hf.GemmaForCausalLM, hf.GemmaConfig, num_key_value_heads=1, head_dim=16)


def phi() -> Case:
    return _decoder(hf.PhiForCausalLM, hf.PhiConfig)


def opt() -> Case:
    config = hf.OPTConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        ffn_dim=2 * WIDTH,
        word_embed_proj_dim=WIDTH,
        max_position_embeddings=64,
        use_cache=False,
    )
    return Case(hf.OPTForCausalLM(config), {"input_ids": tokens()})


def gpt_neox() -> Case:
    return _decoder(hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig)


def t5() -> Case:
    config = hf.T5Config(
        vocab_size=WORDS,
        d_model=WIDTH,
        d_kv=WIDTH // HEADS,
        d_ff=2 * WIDTH,
        num_layers=LAYERS,
        num_heads=HEADS,
        use_cache=False,
    )
    inputs = {"input_ids": tokens(), "decoder_input_ids": tokens(length=6)}
    return Case(hf.T5ForConditionalGeneration(config), inputs)


def bart() -> Case:
    config = hf.BartConfig(
        vocab_size=WORDS,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=2 * WIDTH,
        decoder_ffn_dim=2 * WIDTH,
        max_position_embeddings=64,
        use_cache=False,
    )
    return Case(hf.BartModel(config), {"input_ids": tokens(), "decoder_input_ids": tokens()})


def vit() -> Case:
    config = hf.ViTConfig(
        image_size=32,
        patch_size=8,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
    )
    return Case(hf.ViTModel(config), {"pixel_values": image()})


def convnext() -> Case:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])
    return Case(hf.ConvNextModel(config), {"pixel_values": image(64)})


def resnet() -> Case:
    config = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    )
    return Case(hf.ResNetModel(config), {"pixel_values": image()})


def clip() -> Case:
    layers = {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH,
    }
    config = hf.CLIPConfig(
        text_config={
            **layers,
            "vocab_size": WORDS,
            "max_position_embeddings": 64,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
        vision_config={**layers, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    return Case(hf.CLIPModel(config), {"input_ids": tokens(), "pixel_values": image()})


def whisper() -> Case:
    config = hf.WhisperConfig(
        vocab_size=WORDS,
        num_mel_bins=16,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=2 * WIDTH,
        decoder_ffn_dim=2 * WIDTH,
        max_source_positions=30,
        max_target_positions=40,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    inputs = {"input_features": torch.randn(BATCH, 16, 60), "decoder_input_ids": tokens(length=8)}
    return Case(hf.WhisperModel(config), inputs)


def swin() -> Case:
    config = hf.SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[1, 2], num_heads=[2, 2], window_size=4
    )
    return Case(hf.SwinModel(config), {"pixel_values": image()})


BUILDERS: Mapping[str, Callable[[], Case]] = {
    builder.__name__: builder
    for builder in (
        gpt2,
        bert,
        distilbert,
        roberta,
        electra,
        llama,
        mistral,
        qwen2,
        gemma,
        phi,
        opt,
        gpt_neox,
        t5,
        bart,
        vit,
        convnext,
        resnet,
        clip,
        whisper,
        swin,
    )
}


CACHED = ("gpt2", "llama", "mistral", "qwen2", "gemma", "phi", "opt", "gpt_neox")
LEARNING = ("gpt2", "bert", "llama", "vit", "convnext", "clip")
VARIANTS = {"cache": CACHED, "step": CACHED, "gradients": LEARNING}


def names() -> tuple[str, ...]:
    """The models, then `NAME+VARIANT`.

    "cache" gives the keys and values too, "step" goes on with those of an earlier call.
    """
    variants = (f"{name}+{kind}" for kind, models in VARIANTS.items() for name in models)
    return (*BUILDERS, *variants)


def build(name: str, seed: int = 0, **options: Any) -> Case:
    """The same model with the same weights and inputs in every process; `gpt2@1` has one layer."""
    torch.manual_seed(seed)
    name, _, variant = name.partition("+")
    name, _, layers = name.partition("@")
    options |= {"layers": int(layers)} if layers else {}
    model, inputs, _ = BUILDERS[name](**options)
    model.eval()
    if variant in ("cache", "step"):
        model.config.use_cache = True  # type: ignore[union-attr]
    if variant == "step":
        with torch.no_grad():
            cache = model(**inputs).past_key_values
        inputs = {"input_ids": tokens(length=1), "past_key_values": cache}
    return Case(model, inputs, learns=variant == "gradients")
