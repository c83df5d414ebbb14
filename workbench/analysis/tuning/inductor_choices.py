"""Inductor's own files of the configuration that a kernel takes: `.best_config`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp


def name_source(text: str, folder: Path) -> Path:
    """Where Inductor keeps a generated source in a cache folder: its name is made of its text."""
    key: str = tp.CODECACHE_MODULE.get().get_hash(text.strip())
    return folder / key[1:3] / f"{key}.py"


def save_choice(
    decorator: Callable[..., Any], values: Mapping[str, Any], warps: int, stages: int
) -> Path | None:
    """Write what Inductor reads instead of timing configurations of a kernel, as it writes it.

    `decorator` is what a call such as `triton_heuristics.pointwise(…)` gives. None where Inductor
    would read no choice: it has one configuration alone, or its caches are off.
    """
    held = inspect.getclosurevars(decorator).nonlocals
    cache, settings = held.get("autotune_cache"), held.get("inductor_meta") or {}
    if cache is None or cache.local_cache is None:
        return None
    cache.artifact_recorder = None  # it would go into what torch.compiler.save_cache_artifacts has
    is_final = bool(settings.get("coordinate_descent_tuning"))  # else it would be a first guess
    config = type(held["configs"][0])(dict(values), num_warps=warps, num_stages=stages)
    cache.save(config, 0, is_final)
    return Path(cache.local_cache[1])
