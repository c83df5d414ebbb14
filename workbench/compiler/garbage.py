"""Holds the garbage collector back while torch's compiler is imported and used the first time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.compiler import torch_private as tp

_ALLOCATIONS = 1_000_000
"""New containers after which Python collects all the same; a first compilation makes half."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect rarely during the first compilation of this process.

    Importing torch's compiler makes half a million objects that stay; Python would go through them
    a thousand times. Later compilations, and a collector that the user switched off, are left as
    they are.
    """
    before = gc.get_threshold()
    is_first = tp.FX_CODEGEN.module not in sys.modules
    if not is_first or not gc.isenabled() or not 0 < before[0] < _ALLOCATIONS:
        yield
        return
    held = (_ALLOCATIONS, *before[1:])
    gc.set_threshold(*held)
    try:
        yield
    finally:
        if gc.get_threshold() == held:
            gc.set_threshold(*before)
        if gc.get_freeze_count() == 0:
            gc.freeze()  # what is new counts as old without being gone through:
            gc.unfreeze()  # the next full collection finds the garbage in it
