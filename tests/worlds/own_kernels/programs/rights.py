"""A call of every kernel of `right_kernels.py` that is to pass."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.worlds.own_kernels.programs import right_kernels as right
from tests.worlds.own_kernels.programs.cases import Case, draw, unset

X, Y, W = draw(1000), draw(1000, seed=1), draw(37, 100)
BLOCK = {"BLOCK": 256}
INTS = torch.arange(1000, dtype=torch.int32) * 7919 % 1009
ORDER = torch.randperm(1000, generator=torch.Generator().manual_seed(0))
PACKED = (torch.arange(500) * 37 % 256).to(torch.uint8)
SCALE = draw(32).abs()


def unpack() -> torch.Tensor:
    nibbles = torch.stack((PACKED & 0xF, PACKED >> 4), 1).reshape(-1).float() - 8
    return (nibbles * SCALE.repeat_interleave(32)[:1000]).half()


def share() -> Case:
    both = X.clone()
    return Case(right.shares_one_tensor, (both, both, 1000), (4,), BLOCK, {"out": X + 1})


def scatter() -> Case:
    made = torch.empty(1000).index_copy_(0, ORDER, X)
    return Case(right.scatters, (X, ORDER, unset(1000), 1000), (4,), BLOCK, {"out": made}, ("out",))


def batches() -> Case:
    a, b = draw(3, 40, 24), draw(3, 24, 50, seed=1)
    args = (a, b, unset(3, 40, 50), 40, 50, 24)
    return Case(right.multiplies_batches, args, (3, 4, 3), {"B": 16}, {"c": a @ b}, ("c",))


def search() -> Case:
    edges = draw(77).sort().values
    args = (edges, X, unset(1000, dtype=torch.int32), 77, 1000)
    made = torch.searchsorted(edges, X).int()
    return Case(right.finds_places, args, (4,), BLOCK, {"out": made}, ("out",))


def blur() -> torch.Tensor:
    zero = torch.zeros(1)
    return (torch.cat((zero, X[:-1])) + X + torch.cat((X[1:], zero))) / 3


RIGHTS: dict[str, Callable[[], Case]] = {
    "relu_in_place": lambda: Case(
        right.relu_in_place, (X.clone(), 1000), (4,), BLOCK, {"x": X.relu()}
    ),
    "total": lambda: Case(
        right.total, (X, torch.zeros(1), 1000), (4,), BLOCK, {"out": X.sum()[None]}
    ),
    "row_cumsum": lambda: Case(
        right.row_cumsum,
        (W, unset(37, 100), 100),
        (37,),
        {"BLOCK": 128},
        {"out": W.cumsum(-1)},
        ("out",),
    ),
    "copies_a_view": lambda: Case(
        right.copies_a_view,
        (W[:, 25:75], unset(37, 50), 100, 50),
        (37,),
        {"BLOCK": 64},
        {"out": W[:, 25:75]},
        ("out",),
    ),
    "copies_by_strides": lambda: Case(
        right.copies_by_strides,
        (W.t(), unset(100, 37), 100, 37, 1, 100),
        (4, 2),
        {"B": 32},
        {"out": W.t()},
        ("out",),
    ),
    "reverses_over_scratch": lambda: Case(
        right.reverses_over_scratch,
        (draw(1024), unset(1024), unset(1024)),
        (4,),
        BLOCK,
        {"out": draw(1024).reshape(4, 256).flip(1).reshape(-1)},
        ("scratch", "out"),
    ),
    "arg_max": lambda: Case(
        right.arg_max,
        (W, unset(37), unset(37, dtype=torch.int32), 100),
        (37,),
        {"BLOCK": 128},
        {"values": W.amax(-1), "places": W.argmax(-1).int()},
        ("values", "places"),
    ),
    "embeds": lambda: Case(
        right.embeds,
        (ORDER % 37, W, unset(1000, 100), 100),
        (1000,),
        {"BLOCK": 128},
        {"out": W[ORDER % 37]},
        ("out",),
    ),
    "scatters": scatter,
    "multiplies_batches": batches,
    "blurs": lambda: Case(
        right.blurs, (X, unset(1000), 1000), (4,), BLOCK, {"out": blur()}, ("out",)
    ),
    "pools": lambda: Case(
        right.pools, (X, unset(250), 250), (1,), BLOCK, {"out": X.reshape(-1, 4).amax(-1)}, ("out",)
    ),
    "dequantizes": lambda: Case(
        right.dequantizes,
        (PACKED, SCALE, unset(1000, dtype=torch.float16), 1000),
        (4,),
        BLOCK,
        {"out": unpack()},
        ("out",),
    ),
    "adds_narrow": lambda: Case(
        right.adds_narrow,
        (X.bfloat16(), Y.bfloat16(), unset(1000, dtype=torch.bfloat16), 1000),
        (4,),
        BLOCK,
        {"out": X.bfloat16() + Y.bfloat16()},
        ("out",),
    ),
    "largest": lambda: Case(
        right.largest,
        (INTS, torch.full((1,), -5, dtype=torch.int32), 1000),
        (4,),
        BLOCK,
        {"out": INTS.max()[None]},
    ),
    "persists": lambda: Case(
        right.persists, (X, unset(1000), 1000, 8), (3,), {"BLOCK": 128}, {"out": X * 2}, ("out",)
    ),
    "sums_in_parts": lambda: Case(
        right.sums_in_parts,
        (W, torch.zeros(37), 100),
        (37, 3),
        {"PARTS": 3, "BLOCK": 16},
        {"partial": W.sum(-1)},
    ),
    "finds_places": search,
    "chooses": lambda: Case(
        right.chooses,
        (X > 0, X, Y, unset(1000), 1000),
        (4,),
        BLOCK,
        {"out": torch.where(X > 0, X, Y)},
        ("out",),
    ),
    "writes_then_reads_its_own": lambda: Case(
        right.writes_then_reads_its_own,
        (X, unset(1000), 3, 1000),
        (4,),
        BLOCK,
        {"out": X + 3},
        ("out",),
    ),
    "asserts_what_holds": lambda: Case(
        right.asserts_what_holds, (X, unset(1000), 1000), (4,), BLOCK, {"out": X * X}, ("out",)
    ),
    "shares_one_tensor": share,
    "adds_where_told": lambda: Case(
        right.adds_where_told,
        (X, None, unset(1000), 1000, True),
        (4,),
        BLOCK,
        {"out": X * 2},
        ("out",),
    ),
}
