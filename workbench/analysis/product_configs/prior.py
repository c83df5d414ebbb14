"""How likely a configuration wins by what won for like problems on other devices.

Each published winner speaks for the configurations near it, the more the liker its problem and its
device are. Where little is known, all configurations are equally likely. The constants are round:
others near them change the shares in `docs/pages/about/ranked-configurations.md` by a few percent.

The package has a file of configurations that are known to have won on real GPUs. A line of it is a
problem without its rows: device, values, experts, columns, depth, then for each number of rows the
tile that won, such as `16:16x64x128w4s3`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from workbench.analysis.kernel_time.product_times import FILE as PARAMETERS
from workbench.analysis.kernel_time.product_times import load_parameters
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
from workbench.plain_data import parse_toml
from workbench.specs import Gpu

OTHER_GENERATION, OTHER_VENDOR = 0.1, 0.02
"""What a winner on a device of these counts, beside one of the same generation."""
_OTHER_VALUES = 0.3
_OCTAVES = 0.7  # by which a size may differ until a problem is no longer alike
_NEARNESS = 1.6  # of configurations: a factor of two in one size counts exp(-1.6)
_OF_STAGES = 0.7  # of a factor of two is a stage more or less
_UNKNOWN = 0.3  # winners that are taken to have won by chance, shared out among all
_FAR = 1e-6  # parts of a winner that are not counted


class Prior:
    """Winners on known GPUs, ready to weigh configurations."""

    def __init__(self, winners: Iterable[TunedWinner], gpus: Iterable[Gpu]) -> None:
        self._winners = list(winners)
        self._gpus = {gpu.device_name.replace(" ", "_").casefold(): gpu for gpu in gpus}

    def weigh(self, gpu: Gpu, problem: Problem, tiles: Sequence[Tile]) -> list[float]:
        """How many times likelier than by chance each of these configurations wins."""
        alike = self._add_up(gpu, problem)
        weights = [
            sum(alone * _compare_tiles(tile, won) for won, alone in alike.items()) for tile in tiles
        ]
        whole, chance = sum(weights) + _UNKNOWN, _UNKNOWN / max(len(tiles), 1)
        return [(weight + chance) / whole * len(tiles) for weight in weights]

    def count(self, gpu: Gpu, problem: Problem) -> float:
        """Winners that speak for this problem on this GPU, the less alike as parts of one."""
        return sum(self._add_up(gpu, problem).values())

    def _add_up(self, gpu: Gpu, problem: Problem) -> dict[Tile, float]:
        """By configuration the winners that had it, each as far as it is alike."""
        devices = {winner.device for winner in self._winners}
        counts = {device: self._compare_device(device, gpu) for device in devices}
        by_tile: dict[Tile, float] = defaultdict(float)
        for winner in self._winners:
            alike = counts[winner.device] * _compare_problems(problem, winner.problem)
            if alike > _FAR:
                by_tile[winner.tile] += alike
        return by_tile

    def _compare_device(self, name: str, gpu: Gpu) -> float:
        device = self._gpus.get(name.casefold().removesuffix("_down"))
        if device is None:
            is_of_vendor = name.lower().startswith(gpu.vendor)
            return OTHER_GENERATION if is_of_vendor else OTHER_VENDOR
        if device.vendor != gpu.vendor:
            return OTHER_VENDOR
        return 1.0 if device.architecture == gpu.architecture else OTHER_GENERATION


def _compare_problems(one: Problem, other: Problem) -> float:
    """1 for the same problem, less for other sizes and values."""
    if (one.experts > 0) != (other.experts > 0):
        return 0.0
    own, its = ((p.rows, p.columns, p.depth or 1, p.experts or 1) for p in (one, other))
    apart = sum((math.log2(a / b) / _OCTAVES) ** 2 for a, b in zip(own, its, strict=True))
    return math.exp(-apart / 2) * (1.0 if one.values == other.values else _OTHER_VALUES)


def _compare_tiles(one: Tile, other: Tile) -> float:
    return math.exp(-_NEARNESS * measure_distance(one, other))


@cache
def measure_distance(one: Tile, other: Tile) -> float:
    """How far configurations are from each other: octaves of sizes and warps, and stages."""
    apart = sum(abs(math.log2(a / b)) for a, b in zip(one[:-1], other[:-1], strict=True))
    return apart + _OF_STAGES * abs(one.stages - other.stages)


def weigh_time(us: float, weight: float, spread: float | None = None) -> float:
    """The modelled µs, less where a configuration is `weight` times likelier to win than by chance.

    How much, follows from the fit: of two the shorter wins by the power `spread` of their times.
    """
    power = load_parameters()["spread"] if spread is None else spread
    return us * math.pow(weight, -1 / power)


FILE = "published_winners.csv"
"""Where they stand, in the data of `workbench.specs`; a part of `tests.bench` writes it."""
_TILE = re.compile(r"(\d+):(\d+)x(\d+)x(\d+)w(\d+)s(\d+)")


@cache
def read_published() -> tuple[TunedWinner, ...]:
    """The winners that the package has; devices have their own names."""
    text = resources.files("workbench.specs").joinpath("data", FILE).read_text()
    winners = []
    for device, values, *sizes, tiles in csv.reader(
        line for line in text.splitlines() if not line.startswith("#")
    ):
        experts, columns, depth = map(int, sizes)
        for rows, *tile in (map(int, match.groups()) for match in _TILE.finditer(tiles)):
            problem = Problem(values, rows, columns, depth, experts)
            winners.append(TunedWinner(device, problem, Tile(*tile)))
    return tuple(winners)


def is_published_better(gpu: str, *, experts: bool, scaled: bool) -> bool:
    """Whether these winners were seen to rank configurations for a GPU better than the model alone.

    Of products without scales, and without experts, no winners are published.
    """
    content = resources.files("workbench.specs").joinpath("data", PARAMETERS).read_bytes()
    published = parse_toml(content)["published"]
    return gpu in (published["experts"] if experts else published["values"] if scaled else ())


def write_published(winners: Iterable[TunedWinner], source: str) -> str:
    """The text of the file: a line for each problem, the same winner of two releases once."""
    lines: dict[tuple[Any, ...], dict[str, None]] = defaultdict(dict)
    for one in winners:
        its, tile = one.problem, one.tile
        text = f"{its.rows}:{tile.rows}x{tile.columns}x{tile.depth}w{tile.warps}s{tile.stages}"
        lines[one.device, its.values, its.experts, its.columns, its.depth][text] = None
    file = io.StringIO()
    file.write(f"# {source[:1].upper()}{source[1:]}: written by tests.bench.winner_ranks.\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([*named, " ".join(texts)] for named, texts in sorted(lines.items()))
    return file.getvalue()
