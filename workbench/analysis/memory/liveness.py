"""The most bytes that live while operators run one after the other: a model of what a peak will be.

It is for programs that are not compiled yet, of which only the operators are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator reads and writes, as ids of storages.

    A "pointwise" one is computed where it is read, and writes no memory unless a library call or
    three operators read it or it is kept. A "reduction" reads what is computed in it; a "library"
    call reads memory.
    """

    kind: Literal["pointwise", "reduction", "library"]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


_MANY = 3
"""Operators that read a result from which on Inductor keeps it rather than compute it in each."""


def peak_bytes(
    operators: Sequence[Operator],
    sizes: Mapping[int, int],
    there: Collection[int] = (),
    kept: Collection[int] = (),
) -> int:
    """The most bytes of storages that live at once.

    `sizes` are the bytes of those that count. `there` live before the first operator and until the
    last that reads them, `kept` live on.
    """
    made = _in_memory(operators, kept)
    last = {s: place for place, op in enumerate(operators) for s in (*op.reads, *op.writes)}
    alive = {storage for storage in there if storage in sizes}
    live = peak = sum(sizes[storage] for storage in alive)
    for place, operator in enumerate(operators):
        begin = [s for s in operator.writes if s in sizes and s in made and s not in alive]
        alive.update(begin)
        live += sum(sizes[storage] for storage in begin)
        peak = max(peak, live)
        touched = {*operator.reads, *operator.writes} & alive
        end = [s for s in touched if last[s] == place and s not in kept]
        alive.difference_update(end)
        live -= sum(sizes[storage] for storage in end)
    return peak


def _in_memory(operators: Iterable[Operator], kept: Iterable[int]) -> set[int]:
    """The storages that take memory: results that are no part of what reads them."""
    found = set(kept)
    readers: Counter[int] = Counter()
    for operator in operators:
        readers.update(set(operator.reads))
        if operator.kind != "pointwise":
            found.update(operator.writes)
        if operator.kind == "library":
            found.update(operator.reads)
    return found | {storage for storage, count in readers.items() if count >= _MANY}
