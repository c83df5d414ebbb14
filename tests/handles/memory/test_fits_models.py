"""Whether models of transformers fit: what two depths predict is near what a deeper one holds.

Measured: the peak of the ViT is predicted 2.6 % too low (the partitioner keeps more in six layers
than on the line through two and four), that of the mixture 1.1 % too high.
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
