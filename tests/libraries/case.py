"""What is tried of a library: a small model with random weights, and one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch


class Case(NamedTuple):
    """A model and the keyword arguments of one call; `learns` where gradients are wanted."""

    model: torch.nn.Module
    inputs: Mapping[str, Any]
    learns: bool = False


def named(library: str, *builders: Callable[[], Case]) -> dict[str, Callable[[], Case]]:
    """Builders of a library's cases by `library/name`."""
    return {f"{library}/{builder.__name__}": builder for builder in builders}
