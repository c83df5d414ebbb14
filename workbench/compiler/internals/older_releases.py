"""What torch before 2.13 calls or keeps otherwise, behind one function for all releases."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.compiler.internals import torch_private as tp


def variants(entries: Any) -> Sequence[Any]:
    """What Dynamo keeps of a frame: a list, before torch 2.13 the first of a chain."""
    if isinstance(entries, list | tuple):
        return entries
    chain = []
    while entries is not None:
        chain.append(entries)
        entries = entries.next
    return chain


def check_can_cache(module: Any, inputs: Any, options: Mapping[str, Any]) -> None:
    """Raise torch's reason why its cache refuses a graph; before 2.13 it looks at that alone."""
    check = tp.FX_GRAPH_CACHE.get()._check_can_cache
    if len(inspect.signature(check).parameters) == 1:
        check(module)
    else:
        check(module, inputs, options)


def could_scale_rblock(tuner: Any) -> bool:
    """Whether Inductor's rule applies to a kernel; before 2.13 the rule itself asks that."""
    return tp.COULD_SCALE_RBLOCK.find() is None or bool(tuner._could_rblock_scale)


def known_hint_symbols() -> Callable[[Iterable[Any]], Sequence[int]] | None:
    """What gives sizes their numbers, by its name in this release; None when it has neither."""
    return next((found for row in tp.HINT_SYMBOLS if (found := row.find()) is not None), None)


def hint_symbols(sizes: Iterable[Any]) -> Sequence[int]:
    """The numbers that stand for sizes that may be symbols."""
    known = known_hint_symbols() or tp.HINT_SYMBOLS[0].get()
    numbers: Sequence[int] = known(sizes)
    return numbers
