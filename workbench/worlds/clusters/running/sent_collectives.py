"""Ranks of a mesh and what they send: a collective, its line, what it could have been."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from workbench.errors import WorkbenchError

_NOT_USERS = tuple(
    Path(str(module.__file__)).parent for module in (torch, threading, sys.modules["workbench"])
)
Sizes = Mapping[str, int]
"""The dimensions of a mesh, each with its number of ranks."""

WORDS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "AllToAll": "all_to_all",
    "AllToAllBase": "all_to_all",
    "Broadcast": "broadcast",
    "Scatter": "scatter",
    "Gather": "gather",
}
"""What collectives are called, by the names that torch's group of threads has for them."""


@dataclass(frozen=True)
class Sent:
    """A collective that a rank started: the `number`-th of what it runs, from 0.

    `reduction` is "" where nothing is reduced; `shape` and `dtype` are of what the rank gives.
    `line` is the user's that calls it, such as "model.py:38", "" in a backward or a captured graph.
    """

    number: int
    op: str
    reduction: str
    group: str
    ranks: tuple[int, ...]
    dtype: str = ""
    shape: tuple[int, ...] = ()
    line: str = ""

    def __str__(self) -> str:
        how = f"{self.op}({self.reduction})" if self.reduction else self.op
        of = f" of {self.dtype} {list(self.shape)}" if self.dtype else ""
        at = f" ({self.line})" if self.line else ""
        return f"{how} over {self.group}{of}{at}"

    @property
    def kind(self) -> tuple[str, str]:
        """What ranks that meet must agree in."""
        return self.op, self.reduction


@dataclass(frozen=True)
class CollectiveChange:
    """One collective of a run made another one, to see what that gives.

    `reduction` is another one, `group` the name of another dimension of the mesh; without either
    it is left out.
    """

    number: int
    reduction: str = ""
    group: str = ""


class RanksDisagree(WorkbenchError):
    """Ranks wait for one another, or start different collectives where they meet.

    `wrong` are the ranks that do otherwise than the others.
    """

    def __init__(self, message: str, wrong: Sequence[int]):
        super().__init__(message)
        self.wrong = tuple(wrong)


def find_line() -> str:
    """The innermost line of the user's that is being run."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_absolute() and not any(path.is_relative_to(folder) for folder in _NOT_USERS):
            return f"{path.name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def name_reduction(how: Any) -> str:
    """Such as "sum"; torch gives some collectives the operation, others what holds it."""
    op = getattr(how, "op", None)
    op = getattr(op, "op", op)
    return "" if op is None else str(op).rpartition(".")[2].lower()


def find_input(op: str, data: Any) -> torch.Tensor | None:
    """What a rank gives to a collective, of what torch's group of threads hands over."""
    if op in ("all_gather", "reduce_scatter", "scatter", "gather", "all_to_all"):
        data = data[1]
    while isinstance(data, list | tuple):
        if not data:
            return None
        data = data[0]
    return data if isinstance(data, torch.Tensor) else None


def find_place(sizes: Sizes, rank: int) -> dict[str, int]:
    """The place of a rank along each dimension of a mesh, the last one counted first."""
    place = {}
    for name in reversed([*sizes]):
        rank, place[name] = divmod(rank, sizes[name])
    return dict(reversed(place.items()))


def say_ranks(ranks: Sequence[int]) -> str:
    """Such as "rank 3", or "the ranks 0, 1 and 2"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"the ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
