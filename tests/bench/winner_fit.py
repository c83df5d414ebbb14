"""Fits the parameters of the model of products to configurations that won, by gradient.

Winners alone are known, no times: a configuration is taken to win the more likely, the shorter the
model's time, `time ** -spread`, one in twenty by chance. `predict` is the model of
`product_times` in tensors; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.analysis.kernel_time.product_times import SPILLED, ProductTile, ProductWork
from workbench.specs import Gpu

START: dict[str, float] = {
    "issue": 0.7,
    "cached_latency": 400.0,
    "memory_latency": 500.0,
    "intake": 40.0,
    "instruction": 2.0,
    "barrier": 60.0,
    "scale_load": 100.0,
    "conversion": 1.0,
    "shared": 1.0,
    "matrix": 0.5,
    "begin": 1200.0,
    "end": 2.0,
    "dram": 0.85,
    "start": 4000.0,
    "older": 0.4,
    "tensor_memory": 500.0,
    "spread": 20.0,
}
"""Where the fit begins and what it is pulled to: taken from what is published of these GPUs."""
PULL = 0.01
_CHANCE = 0.05
_IMPOSSIBLE = 1e9
_COLUMNS = (
    "tiles",
    "columns",
    "depth",
    "loaded",
    "stored",
    "left",
    "right",
    "rate",
    "m",
    "n",
    "k",
    "warps",
    "stages",
    "resident",
    "loop",
    "conversions",
    "loads",
    "shared",
    "group",
    "memory",
    "wave",
    "old",
    "sms",
    "clock",
    "bandwidth",
    "parts",
    "spilled",
)


@dataclass(frozen=True)
class Problems:
    """Candidates of problems: [problem, candidate, product, column], which there are, which won."""

    numbers: Tensor
    is_there: Tensor
    won: Tensor
    weights: Tensor


def read_row(gpu: Gpu, work: ProductWork, tile: ProductTile) -> list[float]:
    """The numbers of a product in one configuration, by column."""
    way = tile.loop.way
    is_old = way == "warp" and gpu.vendor == "nvidia" and gpu.major >= 9
    return [
        work.row_tiles,
        work.columns,
        work.depth,
        work.loaded,
        work.stored,
        work.left_bytes,
        work.right_bytes,
        work.tflops,
        tile.rows,
        tile.columns,
        tile.depth,
        tile.warps,
        tile.stages,
        max(tile.resident, 1),
        tile.loop.instructions,
        tile.loop.conversions,
        tile.loop.global_loads > 0,
        tile.loop.shared,
        way == "warp group",
        way == "tensor memory",
        way == "wave",
        is_old,
        gpu.sms,
        gpu.clock_mhz,
        gpu.bandwidth_gbs,
        gpu.subpartitions,
        tile.loop.spilled,
    ]


def predict(numbers: Tensor, values: Mapping[str, Tensor | float]) -> Tensor:
    """Times in µs of rows of `read_row`: the same as `time_product` gives."""
    c = {name: numbers[..., at] for at, name in enumerate(_COLUMNS)}
    v = values
    steps, tiles = (c["depth"] / c["k"]).ceil(), c["tiles"] * (c["columns"] / c["n"]).ceil()
    taken = (c["m"] * c["left"] + c["n"] * c["right"]) * c["k"]
    from_dram = (c["loaded"] / (tiles * steps * taken).clamp_min(1)).clamp(max=1)
    latency = v["cached_latency"] + v["memory_latency"] * from_dram
    rate = c["rate"] * 1e6 / c["sms"] / c["clock"] * v["matrix"]
    rate = rate * torch.where(c["old"] > 0, torch.as_tensor(v["older"], dtype=rate.dtype), 1.0)
    is_wide = c["group"] + c["memory"]
    rows = torch.maximum(c["m"], 16 + 48 * is_wide)
    matrix = 2 * rows * c["n"] * c["k"] / rate
    issuing = (c["loop"] + v["conversion"] * c["conversions"]) * (c["warps"] + c["memory"])
    issuing = issuing / (c["parts"] * v["issue"]) * (1 + 3 * c["wave"])
    intake, shared = taken / v["intake"], c["shared"] * c["warps"] * 4 * v["shared"]
    alone = v["barrier"] + c["loop"] * v["instruction"] + matrix * (is_wide + c["wave"])
    alone = alone + v["scale_load"] * c["loads"] + v["tensor_memory"] * c["memory"]
    flight = latency / (c["stages"] - 1).clamp_min(0.5)

    def wave(blocks: Tensor) -> Tensor:
        busy = (blocks * part for part in (issuing, matrix, intake, shared))
        step = _longest(*busy, alone, flight) + blocks * c["spilled"] * SPILLED
        edge = blocks * v["end"] * c["m"] * c["n"] / 128
        return v["begin"] + latency + steps * step + edge

    full = (tiles / (c["sms"] * c["resident"])).floor()
    rest = tiles - full * c["sms"] * c["resident"]
    last = wave((rest / c["sms"]).ceil().clamp_min(1))
    clocks = full * wave(c["resident"]) + torch.where(rest > 0, last, 0.0)
    dram = (c["loaded"] + c["stored"]) / (c["bandwidth"] * 1e3 * v["dram"]) * c["clock"]
    return (_longest(clocks, dram) + v["start"]) / c["clock"]


def _longest(*clocks: Tensor) -> Tensor:
    each = torch.stack(torch.broadcast_tensors(*clocks))
    most = each.max(0).values
    return most * ((each / most) ** 4).sum(0) ** 0.25


def join(
    parts: Sequence[Sequence[Sequence[list[list[float]]]]],
    won: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> Problems:
    """Problems of several devices; a candidate that is impossible has no products."""
    widest = max(len(problem) for part in parts for problem in part)
    deepest = max(len(one) for part in parts for problem in part for one in problem)
    blank = [1.0] * len(_COLUMNS)
    numbers, is_there = [], []
    for part in parts:
        for problem in part:
            padded = [*problem, *([[]] * (widest - len(problem)))]
            is_there.append([bool(one) for one in padded])
            numbers.append([[*one, *([blank] * (deepest - len(one)))] for one in padded])
    counts = [weight / len(part) for part, weight in zip(parts, weights, strict=True) for _ in part]
    double = torch.float64
    return Problems(
        torch.tensor(numbers, dtype=double),
        torch.tensor(is_there),
        torch.tensor([index for part in won for index in part]),
        torch.tensor(counts, dtype=double),
    )


def predict_times(problems: Problems, values: Mapping[str, Tensor | float]) -> Tensor:
    """Time of every candidate, all its products together."""
    times = predict(problems.numbers, values)
    is_product = problems.numbers[..., _COLUMNS.index("sms")] > 1
    whole = torch.where(is_product, times, 0.0).sum(-1)
    return torch.where(problems.is_there, whole, _IMPOSSIBLE)


def fit(problems: Problems, turns: int = 100, rate: float = 0.1) -> dict[str, float]:
    """The values under which these winners are likeliest, pulled to `START`."""
    moves = {name: torch.zeros((), dtype=torch.float64, requires_grad=True) for name in START}
    optimizer = torch.optim.Adam(list(moves.values()), lr=rate)
    for _ in range(turns):
        values = {name: START[name] * move.exp() for name, move in moves.items()}
        chances = (-values["spread"] * predict_times(problems, values).log()).log_softmax(-1)
        chance = chances.gather(-1, problems.won[:, None])[:, 0].clamp_min(-50.0)
        by_chance = -problems.is_there.sum(-1).log()
        mixed = torch.logaddexp(
            chance + math.log(1 - _CHANCE), by_chance.double() + math.log(_CHANCE)
        )
        loss = -(mixed * problems.weights).sum() / problems.weights.sum()
        loss = loss + PULL * sum_squares(moves.values())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return {name: START[name] * math.exp(move.item()) for name, move in moves.items()}


def sum_squares(moves: Iterable[Tensor]) -> Tensor:
    return torch.stack([move**2 for move in moves]).sum()
