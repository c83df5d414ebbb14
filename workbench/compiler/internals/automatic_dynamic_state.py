"""Keeps our compilations out of torch's memory of sizes."""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Iterator
from typing import Any

from workbench.compiler.internals import torch_private as tp


@contextlib.contextmanager
def automatic_dynamic_state() -> Iterator[None]:
    """Inside, torch knows the sizes that it knew before; at the end it forgets what it saw inside.

    Of a dimension that had two sizes, `torch.compile` makes a symbol at once, also when one of them
    came from a compilation of ours: the user's first compilation would then be a dynamic one.
    """
    held = {row: row.find() for row in (tp.SIZES_SEEN, tp.SIZES_FROM_CACHE)}
    seen = held[tp.SIZES_SEEN]
    if seen is not None:  # else torch begins inside
        _put(tp.SIZES_SEEN, _copied(seen))
    try:
        yield
    finally:
        for row, value in held.items():
            _put(row, value)


def _put(row: tp.Name, value: Any) -> None:
    module = importlib.import_module(row.module)
    if hasattr(module, row.attribute):
        setattr(module, row.attribute, value)


def _copied(seen: Any) -> Any:
    """The sizes by code and by name of the input; torch changes the innermost entries in place."""
    copied = copy.copy(seen)
    for code, state in seen.items():
        twin = copy.copy(state)
        twin.automatic_dynamic = copy.copy(state.automatic_dynamic)
        for name, sizes in state.automatic_dynamic.items():
            twin.automatic_dynamic[name] = copy.copy(sizes)
        copied[code] = twin
    return copied
