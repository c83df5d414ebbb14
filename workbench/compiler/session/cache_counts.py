"""What torch's caches answered, by torch's own counters."""

from __future__ import annotations

from workbench.compiler.internals import torch_private as tp

_COUNTED = tuple(
    (f"{name} {what}", group, f"{prefix}_{what}")
    for name, group, prefix in (
        ("FX graph", "inductor", "fxgraph_cache"),
        ("AOTAutograd", "aot_autograd", "autograd_cache"),
    )
    for what in ("hit", "miss", "bypass")
)


def count_cache_answers() -> dict[str, int]:
    """How often each cache has answered in each way."""
    counters = tp.COUNTERS.find() or {}
    return {
        words: counters[group][key] if group in counters else 0 for words, group, key in _COUNTED
    }


def list_cache_answers(before: dict[str, int]) -> str:
    """The answers since, such as `FX graph miss, AOTAutograd miss`."""
    return ", ".join(
        words for words, count in count_cache_answers().items() if count > before[words]
    )
