"""Fits the parameters of the calibrated model to kernels that were measured."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.analysis.kernel_time.calibration import Calibration
from workbench.analysis.kernel_time.library_times import estimate_us, name_kind
from workbench.analysis.library_kernels.kernel_names import LibraryKernel
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Gpu

START: dict[str, float] = {
    "product.latency_us": 3.0,
    "product.depth": 200.0,
    "product.intake": 0.7,
    "product.dram": 0.8,
    "product.held": 0.5,
    "product.reach.usual": 0.7,
    "product.reach.plain": 0.7,
    "product.reach.narrow": 0.1,
    "product.reach.convolution": 0.5,
    "product.turn_clocks": 50.0,
    "attention.latency_us": 5.0,
    "attention.depth": 800.0,
    "attention.reach.forward": 0.9,
    "attention.reach.backward": 0.6,
    "mover.latency_us.usual": 1.5,
    "mover.dram": 0.9,
    "mover.cached": 2.0,
    "mover.held": 0.6,
    "mover.row.usual": 100.0,
    "mover.rate.usual": 2.0,
    # A block that sums up a row waits for it, twice, while few others run: about 450 clocks a row.
    "mover.rate.norm": 8.0,
    "mover.row.norm": 3500.0,
}
_PULL = 0.03
STEPS = (2.0, 1.3, 1.1, 1.04, 1.3, 1.1, 1.03)
_LEAST = {"mover.rate": 1, "mover.row": 6, "mover.latency_us": 6}
_LEAST_REACH = 3
"""Samples that a parameter of a family needs for itself."""


@dataclass(frozen=True)
class Sample:
    """A kernel with its measured time: the median of `count` starts of a trace."""

    trace: str
    kernel: LibraryKernel
    work: Work
    gpu: Gpu
    us: float
    count: int
    blocks: int | None = None
    is_warm: bool = False

    @property
    def is_product(self) -> bool:
        """Whether arithmetic decides: products, convolutions, attention."""
        return self.kernel.kind in ("product", "attention")


class Recording(dict[str, float]):
    """Values that note which of them were asked for."""

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self.asked.add(name)
        return super().__getitem__(name)


def predict(sample: Sample, values: Mapping[str, float]) -> float | None:
    """The model's time of a sample with these values."""
    fit = Calibration("", (), "", "", values, {})
    return estimate_us(
        sample.kernel, sample.work, sample.gpu, fit, blocks=sample.blocks, is_warm=sample.is_warm
    )


def weigh(samples: Sequence[Sample]) -> list[float]:
    """Every trace counts alike; within it half by kernels, half by their time."""
    totals: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for sample in samples:
        totals[sample.trace] += sample.us * sample.count
        counts[sample.trace] += 1
    return [0.5 / counts[s.trace] + 0.5 * s.us * s.count / totals[s.trace] for s in samples]


def fit_values(
    samples: Sequence[Sample], start: Mapping[str, float], prior: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The values with the least weighted relative error, by one parameter after another.

    `prior` has what another generation needed for families that this one has few samples of, or
    none.
    """
    prior = prior or {}
    weights = weigh(samples)
    best: tuple[float, dict[str, float]] | None = None
    for intake in (1.0, 0.13):  # the two sides of what limits a product
        values = dict(start) | {"product.intake": intake}
        total = _descend(samples, weights, values, prior)
        if best is None or total < best[0]:
            best = total, values
    assert best is not None
    found = {name: float(f"{value:.3g}") for name, value in best[1].items()}
    return {**prior, **found}


def _descend(
    samples: Sequence[Sample],
    weights: Sequence[float],
    values: dict[str, float],
    prior: Mapping[str, float],
) -> float:
    uses = _find_uses(samples, values, prior)
    losses = [_loss(sample, values) for sample in samples]
    anchors = dict(values)
    for step in STEPS:
        for _ in range(8):
            tried = [
                _improve(name, step, values, samples, weights, losses, used, anchors[name])
                for name, used in uses.items()
                if not name.startswith("mover.") or not name.endswith(".usual")
            ]
            if not any(tried):
                break
    return sum(weight * loss for weight, loss in zip(weights, losses, strict=True))


def _improve(
    name: str,
    step: float,
    values: dict[str, float],
    samples: Sequence[Sample],
    weights: Sequence[float],
    losses: list[float],
    used: Sequence[int],
    anchor: float,
) -> bool:
    own = values[name]
    best = sum(weights[i] * losses[i] for i in used) + _pull(own, anchor)
    found: tuple[float, list[float]] | None = None
    for value in (own * step, own / step):
        values[name] = _limit(name, value)
        tried = [_loss(samples[i], values) for i in used]
        total = sum(weights[i] * loss for i, loss in zip(used, tried, strict=True))
        total += _pull(values[name], anchor)
        if total < best * (1 - 1e-4):
            best, found = total, (values[name], tried)
    values[name] = own
    if found is None:
        return False
    values[name] = found[0]
    for i, loss in zip(used, found[1], strict=True):
        losses[i] = loss
    return True


def _pull(value: float, anchor: float) -> float:
    """What it costs to leave the usual value: a parameter needs kernels that ask for it."""
    return _PULL * abs(math.log(value / anchor))


def _limit(name: str, value: float) -> float:
    """Shares of a peak are at most 1; no cache is slower than the memory behind it."""
    if name == "mover.cached":
        return max(value, 1.0)
    is_share = ".reach." in name or name in ("product.dram", "mover.dram", "product.intake")
    return min(value, 1.0 if is_share else 1e6)


def _loss(sample: Sample, values: Mapping[str, float]) -> float:
    us = predict(sample, values)
    return 0.0 if not us else math.hypot(math.log(us / sample.us), 0.03)


def _find_uses(
    samples: Sequence[Sample], values: dict[str, float], prior: Mapping[str, float]
) -> dict[str, list[int]]:
    """By parameter the samples that depend on it; families with enough samples get their own."""
    _add_families(samples, values, prior)
    uses: dict[str, list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        seen = Recording(values)
        predict(sample, seen)
        for name in seen.asked:
            uses[name].append(place)
    return dict(uses)


class _Wishing(Recording):
    """Values that note which they were asked for and lacked."""

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)


def _add_families(
    samples: Sequence[Sample], values: dict[str, float], prior: Mapping[str, float]
) -> None:
    wanted: Counter[str] = Counter()
    for sample in samples:
        seen = _Wishing(values)
        predict(sample, seen)
        wanted.update(name for name in seen.asked if name not in values)
    for name, count in wanted.items():
        if name in prior:
            values[name] = prior[name]
            continue
        kind = name.rsplit(".", 1)[0]
        if count >= _LEAST.get(kind, _LEAST_REACH):
            values[name] = values.get(f"{kind}.usual", 0.5)


@dataclass(frozen=True)
class Score:
    """How well unseen kernels were told: relative errors, a sum, ranks."""

    products: float | None
    movers: float | None
    sum_error: float
    modelled: float  # share of the time
    rank: float
    count: int = 0
    errors: dict[str, list[float]] = field(default_factory=dict)


def score(samples: Sequence[Sample], values: Mapping[str, float], total_us: float) -> Score:
    """The errors of samples of one trace, whose kernels took so long together."""
    errors: dict[str, list[float]] = defaultdict(list)
    pairs: list[tuple[float, float]] = []
    told = measured = 0.0
    for sample in samples:
        us = predict(sample, values)
        if us is None:
            continue
        errors[name_kind(sample.kernel, sample.work)].append(abs(us / sample.us - 1))
        pairs.append((us, sample.us))
        told += us * sample.count
        measured += sample.us * sample.count
    of_products = [error for kind, found in errors.items() if kind != "mover" for error in found]
    of_movers = errors.get("mover", [])
    return Score(
        products=statistics.median(of_products) if of_products else None,
        movers=statistics.median(of_movers) if of_movers else None,
        sum_error=told / measured - 1 if measured else 0.0,
        modelled=measured / total_us if total_us else 0.0,
        rank=correlate_ranks(pairs),
        count=len(pairs),
        errors=dict(errors),
    )


def correlate_ranks(pairs: Iterable[tuple[float, float]]) -> float:
    """Spearman's correlation."""
    one, two = zip(*pairs, strict=True)
    a, b = _rank(one), _rank(two)
    mean = (len(a) - 1) / 2
    above = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return above / below if below else 1.0


def _rank(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    place = 0
    while place < len(order):
        end = place
        while end + 1 < len(order) and values[order[end + 1]] == values[order[place]]:
            end += 1
        for i in order[place : end + 1]:
            ranks[i] = (place + end) / 2
        place = end + 1
    return ranks
