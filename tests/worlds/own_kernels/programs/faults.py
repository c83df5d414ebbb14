"""A call of every kernel of `faulty_kernels.py`, with the kind of fault that it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.older_releases import RELEASE
from tests.worlds.own_kernels.programs import faulty_kernels as faulty
from tests.worlds.own_kernels.programs.cases import draw, unset


@dataclass(frozen=True)
class Fault:
    """A kernel, its call, and the kind that is to be found on the lines that say BUG."""

    kernel: Any
    args: tuple[Any, ...]
    grid: tuple[int, ...]
    kind: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, torch.Tensor] = field(default_factory=dict)
    fresh: tuple[str, ...] = ()


def list_marked() -> set[int]:
    """The lines of the file that say BUG."""
    lines = inspect.getsource(faulty).splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# BUG")}


X, Y, W = draw(1000), draw(1000, seed=1), draw(37, 100)
A = draw(100, 72, dtype=torch.float16)
B = draw(72, 96, dtype=torch.float16, seed=1)
BINS = torch.arange(1000) * 7 % 16
B256 = {"BLOCK": 256}


def zeros(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(*sizes, dtype=dtype)


def tile(tensor: torch.Tensor, *block: int) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(tensor, list(block))


FAULTS: dict[str, Callable[[], Fault]] = {
    "without_mask": lambda: Fault(
        faulty.without_mask, (X, Y, unset(1000), 1000), (4,), "out of bounds", B256
    ),
    "one_column_more": lambda: Fault(
        faulty.one_column_more,
        (W, unset(37, 100), 100, 100),
        (37,),
        "out of bounds",
        {"BLOCK": 128},
    ),
    "without_inner_mask": lambda: Fault(
        faulty.without_inner_mask,
        (A, B, unset(100, 96, dtype=torch.float16), 100, 96, 72),
        (4, 3),
        "out of bounds",
        {"BM": 32, "BN": 32, "BK": 32},
    ),
    "counts_without_atomics": lambda: Fault(
        faulty.counts_without_atomics,
        (BINS, zeros(16, dtype=torch.int32), 1000),
        (4,),
        "race",
        B256,
    ),
    "sums_without_atomics": lambda: Fault(
        faulty.sums_without_atomics, (X, zeros(1), 1000), (4,), "race", B256
    ),
    "adds_to_garbage": lambda: Fault(
        faulty.adds_to_garbage, (X, unset(1000), 1000), (4,), "uninitialised", B256, fresh=("out",)
    ),
    "adds_atomically_to_garbage": lambda: Fault(
        faulty.adds_atomically_to_garbage,
        (X, unset(1), 1000),
        (4,),
        "uninitialised",
        B256,
        fresh=("out",),
    ),
    "reads_before_the_first": lambda: Fault(
        faulty.reads_before_the_first, (X, unset(1000), 1000), (4,), "out of bounds", B256
    ),
    "blocks_overlap": lambda: Fault(
        faulty.blocks_overlap, (X, unset(1000), 1000), (4,), "race, same value", B256
    ),
    "without_barrier": lambda: Fault(
        faulty.without_barrier,
        (draw(1024), unset(1024), unset(1024)),
        (4,),
        "no barrier",
        B256,
        fresh=("scratch", "out"),
    ),
    "stride_of_the_wrong_axis": lambda: Fault(
        faulty.stride_of_the_wrong_axis, (W, unset(37, 100), 37, 100), (2, 4), "race", {"B": 32}
    ),
    "leaves_the_view": lambda: Fault(
        faulty.leaves_the_view,
        (W[:, :50], unset(37, 50), 100, 50),
        (37,),
        "out of bounds",
        {"BLOCK": 128},
    ),
    "two_lanes_write_one_place": lambda: Fault(
        faulty.two_lanes_write_one_place, (X, unset(500), 1000), (4,), "lanes disagree", B256
    ),
    "every_program_says_who_was_last": lambda: Fault(
        faulty.every_program_says_who_was_last, (zeros(1, dtype=torch.int32),), (5,), "race"
    ),
    "mean_of_the_block": lambda: Fault(
        faulty.mean_of_the_block,
        (W, unset(37), 100),
        (37,),
        "differs",
        {"BLOCK": 128},
        {"out": W.mean(-1)},
    ),
    "calls_a_wrong_helper": lambda: Fault(
        faulty.calls_a_wrong_helper, (X, unset(1000), 1000), (4,), "out of bounds", B256
    ),
    "one_round_too_many": lambda: Fault(
        faulty.one_round_too_many,
        (W, torch.tensor([3, 100, 7, 100] * 9 + [100]), unset(37), 100),
        (37,),
        "out of bounds",
    ),
    "tile_without_a_check": lambda: Fault(
        faulty.tile_without_a_check,
        (W, unset(37, 100), 37, 100),
        (2, 4),
        "out of bounds",
        {"B": 32},
    ),
    "too_few_bins": lambda: Fault(
        faulty.too_few_bins, (BINS, zeros(12, dtype=torch.int32), 1000), (4,), "out of bounds", B256
    ),
    "resets_while_others_add": lambda: Fault(
        faulty.resets_while_others_add, (X, zeros(1), 1000), (4,), "race", B256
    ),
    "gathers_what_is_padded": lambda: Fault(
        faulty.gathers_what_is_padded,
        (X, torch.tensor([4, 8, -1, 2, -1]), unset(5), 5),
        (1,),
        "out of bounds",
        {"BLOCK": 8},
    ),
    "tiles_at_swapped_places": lambda: Fault(
        faulty.tiles_at_swapped_places,
        (tile(draw(64, 64), 32, 32), tile(unset(64, 64), 32, 32)),
        (2, 2),
        "differs",
        {"B": 32},
        {"out": draw(64, 64)},
    ),
    "forgets_what_came_before": lambda: Fault(
        faulty.forgets_what_came_before,
        (X, unset(1000), 1000),
        (1,),
        "differs",
        B256,
        {"out": X.cumsum(0)},
    ),
    "transposes_in_place_of_the_other": lambda: Fault(
        faulty.transposes_in_place_of_the_other,
        (W, unset(100, 37), 37, 100),
        (2, 4),
        "out of bounds",
        {"B": 32},
    ),
    "masked_lanes_win": lambda: Fault(
        faulty.masked_lanes_win,
        (-W.abs() - 1, unset(37), 100),
        (37,),
        "differs",
        {"BLOCK": 128},
        {"out": (-W.abs() - 1).amax(-1)},
    ),
    "moves_everything_by_one": lambda: Fault(
        faulty.moves_everything_by_one, (X.clone(), 1000), (4,), "race", B256
    ),
    "asserts_too_much": lambda: Fault(
        faulty.asserts_too_much, (X, unset(1000), 1000), (4,), "assertion", B256
    ),
    "leaves_the_tail": lambda: Fault(
        faulty.leaves_the_tail, (X, unset(1000), 1000), (4,), "differs", B256, {"out": X}, ("out",)
    ),
}
if RELEASE >= (2, 15):  # its Triton, 3.9, has no block pointers
    del FAULTS["tile_without_a_check"]
