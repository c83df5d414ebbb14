"""Holds the garbage collector back while torch compiles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.compiler.internals import torch_private as tp

_ALLOCATIONS = 600_000
"""New containers after which Python collects all the same; a small first compilation makes less."""
_ROUNDS = 1000
"""Collections of the young before one of everything; a compilation of 1,000 nodes makes 100."""


@contextmanager
def gc_throttle() -> Iterator[None]:
    """Collect rarely during the first compilation of this process, and only the young later on.

    Importing torch's compiler makes half a million objects that stay; Python would go through them
    a thousand times in the first compilation, and once or twice, 0.4 s each, in a later one. A
    collector that the user switched off is left as it is.
    """
    before = gc.get_threshold()
    is_first = tp.FX_CODEGEN.module not in sys.modules
    if not gc.isenabled() or not 0 < before[0] < _ALLOCATIONS:
        yield
        return
    held = (_ALLOCATIONS, *before[1:]) if is_first else (*before[:2], max(before[2], _ROUNDS))
    gc.set_threshold(*held)
    try:
        yield
    finally:
        if gc.get_threshold() == held:
            gc.set_threshold(*before)
        if is_first and gc.get_freeze_count() == 0:
            gc.freeze()  # what is new counts as old without being gone through:
            gc.unfreeze()  # the next full collection finds the garbage in it
