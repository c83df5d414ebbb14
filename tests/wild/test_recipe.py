"""The recipe makes three unlike models tiny, the same each time."""

from __future__ import annotations

import pytest
import torch

from tests.wild import recipe

SAMPLE = ("llama", "deepseek_v3", "falcon_h1")  # plain, with latent attention, with a state space
SMALL = 1_000_000


@pytest.mark.parametrize("name", SAMPLE)
def test_the_recipe_makes_a_tiny_model_the_same_each_time(name: str) -> None:
    first, again = recipe.build(name), recipe.build(name)
    assert type(first.model).__name__ == recipe.NAMES[name]
    assert first.model.config.num_hidden_layers == recipe.LAYERS
    assert sum(p.numel() for p in first.model.parameters()) < SMALL
    with torch.no_grad():
        logits = first.model(**first.inputs).logits
        assert logits.shape == (recipe.BATCH, recipe.LENGTH, recipe.WORDS)
        assert torch.equal(logits, again.model(**again.inputs).logits)


def test_of_lists_by_layer_two_unlike_entries_stay() -> None:
    values = {"kinds": ["a", "a", "b"], "other": [1, 1, 1], "not by layer": [1, 2]}
    assert recipe.kept_layers(values, 3) == {"kinds": ["a", "b"], "other": [1, 1]}
