"""How likely a configuration wins by what won for like problems on other devices.

Each published winner speaks for the configurations near it, the more the liker its problem and its
device are. Where little is known, all configurations are equally likely. The constants are round:
others near them change the shares in `docs/pages/about/ranked-configurations.md` by a few percent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from workbench.analysis.kernel_time.product_times import load_parameters
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
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
        found = [
            sum(alone * _compare_tiles(tile, won) for won, alone in alike.items()) for tile in tiles
        ]
        whole, chance = sum(found) + _UNKNOWN, _UNKNOWN / max(len(tiles), 1)
        return [(each + chance) / whole * len(tiles) for each in found]

    def count(self, gpu: Gpu, problem: Problem) -> float:
        """Winners that speak for this problem on this GPU, the less alike as parts of one."""
        return sum(self._add_up(gpu, problem).values())

    def _add_up(self, gpu: Gpu, problem: Problem) -> dict[Tile, float]:
        """By configuration the winners that had it, each as far as it is alike."""
        devices = {winner.device for winner in self._winners}
        counts = {device: self._compare_device(device, gpu) for device in devices}
        found: dict[Tile, float] = defaultdict(float)
        for winner in self._winners:
            alike = counts[winner.device] * _compare_problems(problem, winner.problem)
            if alike > _FAR:
                found[winner.tile] += alike
        return found

    def _compare_device(self, name: str, gpu: Gpu) -> float:
        known = self._gpus.get(name.casefold().removesuffix("_down"))
        if known is None:
            is_of_vendor = name.lower().startswith(gpu.vendor)
            return OTHER_GENERATION if is_of_vendor else OTHER_VENDOR
        if known.vendor != gpu.vendor:
            return OTHER_VENDOR
        return 1.0 if known.architecture == gpu.architecture else OTHER_GENERATION


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
