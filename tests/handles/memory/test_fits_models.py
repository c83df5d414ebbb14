"""Whether models of transformers fit: what two depths predict is near what a deeper one holds.

Measured: the peak of the ViT is predicted 2.6 % too low (the partitioner keeps more in six layers
than on the line through two and four), that of the mixture 1.1 % too high. A program of decoding
with four layers and more places its buffers otherwise than that of two, which would predict 8 % too
much for six: a third depth shows it, and the line is through the last two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers

import workbench as wb

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("worker")]
LIBRARY: Any = transformers


LLAMA = {
    "vocab_size": 1000,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
BATCH, HEADS, LENGTH, WIDTH = 4, 2, 512, 32


class Decoding(torch.nn.Module):
    """One token after those in a cache, which is among the inputs: a pair of tensors a layer."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.config = LIBRARY.LlamaConfig(num_hidden_layers=layers, **LLAMA)
        self.model = LIBRARY.LlamaForCausalLM(self.config).eval()

    def forward(
        self, ids: torch.Tensor, position: torch.Tensor, pairs: list[list[torch.Tensor]]
    ) -> torch.Tensor:
        cache = LIBRARY.StaticCache(config=self.config, max_cache_len=LENGTH)
        for layer, (keys, values) in zip(cache.layers, pairs, strict=True):
            layer.keys, layer.values, layer.device = keys, values, keys.device
            layer.cumulative_length, layer.is_initialized = position.clone(), True
        logits: torch.Tensor = self.model(ids, past_key_values=cache, use_cache=True).logits
        return logits


def one_token(layers: int) -> tuple[Any, ...]:
    pairs = [[torch.zeros(BATCH, HEADS, LENGTH, WIDTH) for _ in "kv"] for _ in range(layers)]
    return torch.zeros(BATCH, 1, dtype=torch.long), torch.tensor(5), pairs


class Loss(torch.nn.Module):
    """A model that is given labels, with its loss as the only result."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: Any) -> torch.Tensor:
        loss: torch.Tensor = self.model(**inputs).loss
        return loss


def vit(layers: int) -> torch.nn.Module:
    config = LIBRARY.ViTConfig(
        hidden_size=192, num_attention_heads=3, intermediate_size=768, num_hidden_layers=layers
    )
    config.num_labels = 1000
    return Loss(LIBRARY.ViTForImageClassification(config))


def mixture(layers: int) -> torch.nn.Module:
    config = LIBRARY.MixtralConfig(
        vocab_size=1000,
        hidden_size=128,
        intermediate_size=256,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        num_hidden_layers=layers,
        use_cache=False,
        output_router_logits=False,
    )
    return Loss(LIBRARY.MixtralForCausalLM(config))


IMAGES = {"pixel_values": torch.zeros(2, 3, 224, 224), "labels": torch.zeros(2, dtype=torch.long)}
WORDS = torch.zeros(2, 64, dtype=torch.long)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [(vit, IMAGES), (mixture, {"input_ids": WORDS, "labels": WORDS})],
    ids=["vit", "mixture of experts"],
)
def test_six_layers_are_predicted_from_two_and_four(
    make: Callable[[int], torch.nn.Module], inputs: dict[str, torch.Tensor]
) -> None:
    found = wb.fits(make, (), inputs, optimizer="adamw", total=6)
    whole = wb.fits(make, (), inputs, optimizer="adamw", total=6, layers=None)
    assert found.peak == pytest.approx(whole.peak, rel=0.03)
    assert found.saved == pytest.approx(whole.saved, rel=0.07)
    assert found.fits


def test_decoding_with_a_cache_is_predicted_from_a_third_depth() -> None:
    found = wb.fits(Decoding, one_token, grad=False, total=8)
    whole = wb.fits(Decoding, one_token, grad=False, total=8, layers=None)
    assert [depth.layers for depth in found.depths] == [4, 6]
    assert "the line through 2 and 4 layers is +" in found.missing
    assert found.peak == pytest.approx(whole.peak, rel=1e-4)
    parts = {part.part: part.bytes for part in found.parts}
    assert parts["input"] == pytest.approx(8 * 2 * BATCH * HEADS * LENGTH * WIDTH * 4, rel=0.001)
    free, a_sequence = found.capacity - parts["weights"], (found.peak - parts["weights"]) / BATCH
    assert found.largest_batch() == pytest.approx(free / a_sequence, rel=0.02)
    with pytest.raises(wb.UsageError, match="length of the KV cache is"):
        found.largest_length()
