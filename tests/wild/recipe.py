"""One recipe that makes any causal language model of transformers tiny, from its config's fields.

A size gets its tiny value by its name; of lists with an entry per layer two unlike entries stay; a
config inside a config is made tiny the same way.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
import transformers as hf
from transformers.configuration_utils import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

LAYERS, WIDTH, HEADS, HEAD, WORDS, EXPERTS = 2, 64, 4, 16, 128, 4
BATCH, LENGTH = 2, 8
NAMES: Mapping[str, str] = dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
"""Every kind of config for which transformers ships a causal language model, with its class."""

SIZES: Mapping[str, int] = {
    r"(num_)?(hidden_|encoder_|decoder_)?layers|n_layers?|depth|num_layers_per_stack": LAYERS,
    r"conf_num_hidden_layers|num_blocks|num_mem_blocks": LAYERS,
    r"(attn|expert)_layer_period|global_attn_every_n_layers|layer_group_size": LAYERS,
    r"_?sliding_window_pattern|n_layers_per_attn_res_block": LAYERS,
    r"first_k_dense_replace|num_dense_layers|attn_layer_offset|moe_layer_end_index": 1,
    r"hidden_size|d_model|n_embd|embedding_dim|emb_dim|embedding_size|.*_embed(ding)?_size": WIDTH,
    r"hidden_size_global|word_embed_proj_dim|attention_hidden_size|lru_width": WIDTH,
    r"(backbone_|out_|text_)hidden_size|projection_dim|vision_output_dim|.*_embed_dim": WIDTH,
    r"adapter_(in|out)_dim|adapter_input_size": WIDTH,
    r".*(intermediate_size|ffn_dim|ffn_hidden_size)|intermediate_size_mlp|n_inner|d_ff|dff": WIDTH,
    r"dim_ff|d_inner|mlp_dim|feed_forward_size": WIDTH,
    r"(encoder|decoder)?_?attention_heads|n_heads?|num_heads|linear_num_heads": HEADS,
    r"(conf_)?num_(encoder_|decoder_)?attention_heads|swa_num_attention_heads": HEADS,
    r"num_query_groups|index_n_heads|linear_num_(key|value)_heads": HEADS,
    r"(swa_)?num_key_value_heads|kv_n_heads|num_kv_heads": HEADS // 2,
    r"qk_head_dim": 2 * HEAD,
    r"(\w+_)?head_dim|attention_head_size|d_head|d_kv|dim_head|kv_channels": HEAD,
    r"rotary_dim": HEAD // 2,
    r".*vocab_size(_per_layer_input)?|encoder_hash_byte_group_vocab|unpadded_vocab_size": WORDS,
    r"ngram_vocab_size_base": WORDS,
    r"(model_)?max_(position_embeddings|length|seq_len|target_positions)|n_positions|n_ctx": 64,
    r"(kv|q|o)_lora_rank|laurel_rank|hc_lowrank|adapter_rank|gated_norm_rank": HEAD,
    r"num(_local)?_experts|n_routed_experts|moe_num_experts|zero_expert_num": EXPERTS,
    r"(moe_)?num_experts_per_tok(en)?|moe_top_?k|moe_k|n_group|num_expert_group|o_groups": 2,
    r"n_shared_experts|topk_group|(mamba_)?(n_|num_|d_)?groups|mamba_ngroups": 1,
    r"sliding_window(_size)?|attention_chunk_size|local_attention|attention_window_size": 4,
    r"(mamba_|ssm_)?(d_state|state_size)": 8,
    r"index_topk|(mamba_)?chunk_size": 4,
}
"""Patterns of names of fields with their tiny values, for where the default is larger."""

NEEDED = re.compile(
    r"head_dim|num_key_value_heads|n_(routed|shared)_experts|num_experts(_per_tok)?"
    r"|moe_intermediate_size"
)
"""What a checkpoint always says and the default of a few kinds leaves out."""

OWN: Mapping[str, Mapping[str, Any]] = {
    "CohereCompassTextConfig": {
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    },
    "DbrxAttentionConfig": {"rope_theta": 10000.0, "clip_qkv": 8.0},
    "Dots3NoteTextConfig": {
        "swa_num_attention_heads": HEADS,
        "swa_num_key_value_heads": HEADS,
        "swa_q_lora_rank": HEAD,
        "swa_kv_lora_rank": HEAD,
        "swa_head_dim": 2 * HEAD,
        "swa_qk_nope_head_dim": HEAD,
        "swa_v_head_dim": HEAD,
    },
    "Gemma3nTextConfig": {"num_kv_shared_layers": 0},
    "Gemma4TextConfig": {"num_kv_shared_layers": 0},
    "GPTNeoConfig": {"attention_types": [[["global", "local"], 1]]},
    "Lfm2MoeConfig": {"layer_types": ["conv", "full_attention"]},
    "Mamba2Config": {"num_heads": 8},
    "Qwen4ExpTextConfig": {
        "indexer_n_heads": HEADS,
        "indexer_kv_heads": 1,
        "indexer_head_dim": HEAD,
        "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "ReformerConfig": {"axial_pos_shape": (2, 4), "axial_pos_embds_dim": (16, 48)},
    "XmodConfig": {"default_language": "en_XX"},
    "ZambaConfig": {
        "num_hidden_layers": 3,
        "layers_block_type": ["linear_attention", "hybrid", "hybrid"],
        "attention_hidden_size": 2 * WIDTH,
        "attention_head_dim": 2 * HEAD,
    },
}
"""What fits only one kind of config: lists that no rule cuts, and what has no default."""


class Case(NamedTuple):
    """A model and the keyword arguments of one call."""

    model: torch.nn.Module
    inputs: Mapping[str, torch.Tensor]


def build(name: str) -> Case:
    """The same tiny model with the same weights and inputs in every process."""
    torch.manual_seed(0)
    kind = getattr(hf, NAMES[name])
    model = kind(config_for(kind, tiny_config(CONFIG_MAPPING[name])))
    model.eval()
    rows = BATCH * getattr(model.config, "num_codebooks", 1)
    case = Case(model, {"input_ids": torch.randint(3, WORDS - 28, (rows, LENGTH))})
    with torch.no_grad():
        model(**case.inputs)  # a first call installs hooks in some, which torch does not capture
    return case


def config_for(kind: Any, config: PreTrainedConfig) -> PreTrainedConfig:
    """The config that a class of models takes: itself, or the one inside that is of its kind."""
    inside = [value for value in vars(config).values() if isinstance(value, kind.config_class)]
    return config if isinstance(config, kind.config_class) or not inside else inside[0]


def tiny_config(kind: type[PreTrainedConfig]) -> PreTrainedConfig:
    """The config of a kind with its sizes, its lists per layer, the configs inside made tiny."""
    return kind(**tiny_fields(kind()))


def tiny_fields(default: PreTrainedConfig) -> dict[str, Any]:
    """The fields of a config that get another value, with that value."""
    values = {field.name: vars(default).get(field.name) for field in dataclasses.fields(default)}
    tiny = {
        **dict(tiny_sizes(values)),
        **kept_layers(values, getattr(default, "num_hidden_layers", 0)),
        **{
            name: type(value)(**tiny_fields(value))
            for name, value in values.items()
            if isinstance(value, PreTrainedConfig)
        },
        **{name: name == "is_decoder" for name in ("use_cache", "is_decoder") if name in values},
    }
    return {**tiny, **OWN.get(type(default).__name__, {})}


def tiny_sizes(values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Sizes above the tiny ones, and ids of tokens that the tiny vocabulary does not have."""
    for name, value in values.items():
        size = next((size for names, size in SIZES.items() if re.fullmatch(names, name)), None)
        if name.endswith(("token_id", "token_index")) and type(value) is int and value >= WORDS:
            yield name, WORDS - 1
        elif size is not None and too_large(name, value, size):
            yield name, HEADS if name == "num_key_value_heads" and every_head(values) else size


def too_large(name: str, value: Any, size: int) -> bool:
    """Whether a field gets the tiny size; without a value only what a model needs does."""
    return bool(NEEDED.fullmatch(name)) if value is None else type(value) is int and value > size


def every_head(values: Mapping[str, Any]) -> bool:
    """Whether each head has keys of its own, as with latent attention."""
    heads, of_keys = values.get("num_attention_heads"), values["num_key_value_heads"]
    return heads == of_keys or values.get("kv_lora_rank") is not None


def kept_layers(values: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """Lists with an entry per layer, cut to the first layer and the one least like it."""
    lists = {n: v for n, v in values.items() if isinstance(v, list | tuple) and len(v) == count}
    if count < LAYERS or not lists:
        return {}
    other = max(range(1, count), key=lambda layer: sum(v[layer] != v[0] for v in lists.values()))
    return {name: [value[0], value[other]] for name, value in lists.items()}
