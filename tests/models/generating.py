"""Decoding with a static cache by variants: `NAME=PATH ...` loads them in a fresh process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters

import workbench as wb
from tests.models import zoo

TOKENS = 6


def build(name: str) -> Any:
    """A causal language model of the zoo that keeps keys and values."""
    model: Any = zoo.build(name).model
    model.config.use_cache = model.generation_config.use_cache = True
    return model


def generated(model: Any, forward: Callable[..., Any], length: int) -> list[int]:
    """The tokens that follow a prompt, with another function in the place of `forward`."""
    prompt = torch.arange(3, 3 + length)[None]
    model.forward = forward
    with torch.no_grad():
        found = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
            do_sample=False,
            cache_implementation="static",
            disable_compile=True,  # what is called is compiled already
            pad_token_id=0,
        )
    del model.forward
    return list(map(int, found[0]))


def save(name: str, path: str) -> None:
    """Record prefill and decoding, and save them."""
    model = build(name)
    wb.variants(model.forward, [lambda compiled: generated(model, compiled, 5)]).save(path)


def wrong(name: str, path: str) -> str | None:
    """What is generated otherwise than by eager code, or was compiled; None when all is well."""
    model, eager = build(name), build(name)
    loaded = wb.load(path, model.forward, on_miss="error")
    try:
        found, expected = generated(model, loaded, 5), generated(eager, eager.forward, 5)
    except wb.ArtifactError as error:
        return f"{error} {error.__cause__ or ''}"
    return None if found == expected and not counters["frames"] else f"{found} {expected}"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        model_name, _, file = argument.partition("=")
        print(json.dumps([model_name, wrong(model_name, file)]))
