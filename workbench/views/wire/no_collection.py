"""Many lists at once without the collections that Python starts meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Make lists by the ten thousand without a collection for every few thousand of them.

    Each full one walks all objects of torch: for a graph of 50,000 nodes they took two thirds of
    the time. What is made here is not garbage, so nothing is lost by waiting.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
