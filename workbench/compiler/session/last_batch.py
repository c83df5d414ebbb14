"""Whether a size is that of the last, incomplete batch of a loader of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def is_of_last_batch(usual: str, now: str, names: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a `DataLoader` in these names gives batches of the usual size, and one of the other.

    The loader of a loop is on the stack of the program: in the names of whoever wrote the loop.
    """
    from torch.utils.data import DataLoader

    if not (usual.isdigit() and now.isdigit()):
        return False
    loaders = (value for held in names for value in held.values() if isinstance(value, DataLoader))
    return any(_leaves(loader, int(usual)) == int(now) for loader in loaders)


def _leaves(loader: Any, usual: int) -> int | None:
    """How many samples the last batch has when the loader has whole batches of the usual size."""
    if loader.batch_size != usual or loader.drop_last:
        return None
    try:
        return len(loader.sampler) % usual
    except TypeError:  # a sampler, or a data set to go through, need not have a length
        return None
