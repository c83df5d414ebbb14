"""A configuration that was tried for a GPU: its verdict, its position, why another is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from typing import Any

from workbench.analysis.kernel_configs.config_space import GROUPS, Config
from workbench.number_text import number_text, plural
from workbench.report.machine_rows import RankedConfig
from workbench.specs import Gpu

RANKED, SPILLS = "ranked", "spills"
"""Verdicts of those that can be launched: with a position, and discarded."""
NOT_COMPILED, NO_FIT, NO_CODE = "not compiled", "does not fit", "does not compile"
TOO_WIDE, NO_PROGRAM, WRONG = "grid too wide", "launches nothing", "fails the check"
ALIKE = 1.02
"""Times the other's: below it, two modelled times are too close to call."""
_SLOWER = 1.1  # times the best of the model
_EMPTIER = 0.5  # of the occupancy of the best
_FULL = 0.995  # of the last wave, from which on nothing of it is idle
_OF_BOTH = (
    "warps",
    "stages",
    "registers",
    "spills",
    "smem_bytes",
    "blocks",
    "occupancy",
    "limiter",
    "model_us",
    "placed_us",
    "rank",
)


@dataclass(frozen=True)
class Candidate:
    """One configuration of a kernel on a GPU for one size of its work.

    `verdict` is "ranked", or why it is not: "does not fit", "spills", "launches nothing",
    "grid too wide", "does not compile", "takes too long", "fails the check", "not compiled".
    `reason` says it with numbers. `model_us` is modelled, `measured_us` the time on a device where
    that was asked for.
    """

    values: tuple[tuple[str, Any], ...]
    warps: int
    stages: int
    verdict: str = NOT_COMPILED
    reason: str | None = None
    rank: int | None = None
    model_us: float | None = None
    placed_us: float | None = None  # modelled time, adjusted by the prior
    measured_us: float | None = None
    because: str | None = None  # what limits a K-loop iteration or the kernel, modelled
    registers: int | None = None
    spills: int | None = None
    smem_bytes: int | None = None
    blocks: int | None = None  # resident on one multiprocessor
    occupancy: float | None = None
    limiter: str | None = None
    grid: int | None = None  # program instances of the call
    l2_bytes: float | None = None  # L2 traffic of all program instances, for matmuls

    @property
    def choice(self) -> str:
        """The values in words: "BLOCK_M=64, BLOCK_N=128"."""
        return ", ".join(f"{name}={value}" for name, value in self.values)

    @property
    def name(self) -> str:
        """The whole configuration in words."""
        shape = f"{plural(self.warps, 'warp')}, {plural(self.stages, 'stage')}"
        return f"{self.choice}, {shape}" if self.values else shape

    @property
    def key(self) -> tuple[Any, ...]:
        """Identifies it among others."""
        return (*self.values, self.warps, self.stages)

    @property
    def config(self) -> Config:
        """The sizes that are whole numbers, with warps and stages."""
        sizes = tuple((name, value) for name, value in self.values if type(value) is int)
        return Config(sizes, self.warps, self.stages)

    @property
    def ranked_us(self) -> float:
        """The µs that set its position; infinite without a model."""
        us = self.model_us if self.placed_us is None else self.placed_us
        return inf if us is None else us

    def count_waves(self, gpu: Gpu) -> float | None:
        """How many waves of blocks the grid takes, the last one partly filled."""
        if self.grid is None or not self.blocks:
            return None
        return self.grid / (gpu.sms * self.blocks)


def rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that are ranked by modelled time, each with its position, then the others.

    Equal times are ordered by spills, occupancy, then registers; those that are too close to call
    share a position.
    """
    all_candidates = list(candidates)
    order = sorted(
        (candidate for candidate in all_candidates if candidate.verdict == RANKED), key=_key
    )
    places = number_places([_key(candidate) for candidate in order])
    placed = [
        replace(candidate, rank=place) for place, candidate in zip(places, order, strict=True)
    ]
    return [*placed, *(candidate for candidate in all_candidates if candidate.verdict != RANKED)]


def _key(candidate: Candidate) -> tuple[float, ...]:
    return (
        round(candidate.ranked_us, 4),
        candidate.spills or 0,
        -(candidate.occupancy or 0.0),
        candidate.registers or 0,
    )


def number_places(keys: Sequence[tuple[float, ...]]) -> list[int]:
    """The position of each, from 1; those that are too close to call share one.

    A key has the modelled time first, then the spills. Those within `ALIKE` of the first at a
    position share it if they spill as much; without a time, those whose whole key is the same.
    """
    places: list[int] = []
    begins = 0
    for at, key in enumerate(keys):
        first = keys[begins]
        is_near = key[0] < ALIKE * first[0] if isfinite(key[0]) else key == first
        alike = is_near and key[1] == first[1]
        if not alike:
            begins = at
        places.append(begins + 1)
    return places


def list_rows(
    candidates: Iterable[Candidate], kernel: str, target: str, remark: str = ""
) -> list[RankedConfig]:
    """The same as rows of a report, by position; those that cannot be launched come last.

    One that spills has a position among the others there, with what is against it. `remark` goes
    to each with a modelled time.
    """
    order = rank_candidates(
        replace(candidate, verdict=RANKED, reason=None)
        if candidate.verdict == SPILLS
        else candidate
        for candidate in candidates
    )
    rows = []
    for candidate in order:
        is_placed = candidate.verdict == RANKED
        against = "; ".join(_list_against(candidate, order[0])) if is_placed else _reject(candidate)
        rows.append(
            RankedConfig(
                kernel=kernel,
                target=target,
                choice=candidate.choice,
                rejection=against or None,
                note="; ".join(_list_notes(candidate, remark)) or None,
                **{name: getattr(candidate, name) for name in _OF_BOTH},
            )
        )
    return rows


def _reject(candidate: Candidate) -> str:
    """Why one has no position, as a report says it."""
    if candidate.verdict in (NO_FIT, TOO_WIDE):
        return f"cannot be launched: {candidate.reason}"
    if candidate.verdict == WRONG:
        return candidate.reason or candidate.verdict
    if candidate.verdict == NO_PROGRAM:
        return f"{candidate.verdict}: {(candidate.reason or '').rstrip('.')}"
    return candidate.verdict


def _list_notes(candidate: Candidate, remark: str) -> Iterator[str]:
    if candidate.because:
        limited = "K loop limited by" if candidate.l2_bytes is not None else "limited by"
        yield f"modelled: {limited} {candidate.because}"
        if group := next((name for name, _ in candidate.values if name in GROUPS), None):
            yield f"the effect of {group} is not modelled"
    if candidate.model_us is not None and remark:
        yield remark
    if candidate.reason and candidate.verdict in (RANKED, NO_CODE):
        yield candidate.reason


def _list_against(candidate: Candidate, best: Candidate) -> Iterator[str]:
    """What is against one that has a position, compared with the best."""
    if candidate.spills and not best.spills:
        yield f"spills: {plural(candidate.spills, 'store or load', 'stores and loads')}"
    if candidate.occupancy is not None and candidate.occupancy < _EMPTIER * (best.occupancy or 0.0):
        its, most = (number_text(one.occupancy, "percent") for one in (candidate, best))
        words = f"occupancy {its}; the best configuration has {most}"
        yield f"{words} (limited by {candidate.limiter})" if candidate.limiter else words
    if candidate.model_us and best.model_us and candidate.model_us > _SLOWER * best.model_us:
        times = number_text(candidate.model_us / best.model_us, "amount")
        yield f"{times}× the best modelled time"


def explain_order(gpu: Gpu, one: Candidate, other: Candidate) -> str:
    """Why the model ranks one configuration ahead of another, or why one is not ranked."""
    for candidate in (one, other):
        if candidate.verdict != RANKED:
            reason = f", {candidate.reason}" if candidate.reason else ""
            return f"{candidate.name}: {candidate.verdict}{reason}."
    first, second = sorted((one, other), key=lambda candidate: candidate.ranked_us)
    parts = [*_compare_waves(gpu, first, second), *_compare_blocks(first, second)]
    parts += [*_compare_pipelines(first, second), *_compare_bytes(first, second)]
    if second.ranked_us == inf:
        head = "Not modelled: ordered by spills, occupancy and registers alone."
        return " ".join([head, *parts])
    times = second.ranked_us / first.ranked_us
    verdict = f"Too close to call ({times:.2f}×). " if times < ALIKE else ""
    how = "" if verdict else f" ({times:.2f}×)"
    head = (
        f"{verdict}Modelled, not measured: {first.name} takes {format_us(first.model_us)}, "
        f"{second.name} {format_us(second.model_us)}{how}"
    )
    limits = {candidate.because for candidate in (first, second) if candidate.because}
    if len(limits) == 1:
        parts.append(f"Both are limited by {limits.pop()}.")
    elif first.because and second.because:
        parts.append(f"The first is limited by {first.because}, the second by {second.because}.")
    return " ".join([f"{head}.", *parts])


def _compare_waves(gpu: Gpu, one: Candidate, other: Candidate) -> Iterator[str]:
    waves = []
    for candidate in (one, other):
        wave = candidate.count_waves(gpu)
        if wave is None:
            return
        last = wave - (ceil(wave) - 1) if wave else 0.0
        idle = "" if last > _FULL else f", the last one {number_text(last, 'percent')} full"
        waves.append(
            f"{plural(candidate.grid or 0, 'program instance')} in "
            f"{plural(ceil(wave), 'wave')}{idle}"
        )
    if waves[0] != waves[1]:
        yield f"Waves: {waves[0]} vs. {waves[1]}."


def _compare_blocks(one: Candidate, other: Candidate) -> Iterator[str]:
    if one.occupancy != other.occupancy and one.occupancy and other.occupancy:
        occupancies = [
            f"{number_text(candidate.occupancy, 'percent')}"
            + (f" (limited by {candidate.limiter})" if candidate.limiter else "")
            for candidate in (one, other)
        ]
        yield f"Occupancy: {occupancies[0]} vs. {occupancies[1]}."
    if one.registers != other.registers and one.registers and other.registers:
        spills = [
            f"{candidate.registers}"
            + (f" and {candidate.spills} spills" if candidate.spills else "")
            for candidate in (one, other)
        ]
        yield f"Registers per thread: {spills[0]} vs. {spills[1]}."


def _compare_pipelines(one: Candidate, other: Candidate) -> Iterator[str]:
    if one.stages != other.stages:
        shared = [
            f"{candidate.stages} in {number_text(candidate.smem_bytes, 'bytes')} of shared memory"
            if candidate.smem_bytes
            else f"{candidate.stages}"
            for candidate in (one, other)
        ]
        yield f"Stages: {shared[0]} vs. {shared[1]}."


def _compare_bytes(one: Candidate, other: Candidate) -> Iterator[str]:
    if one.l2_bytes and other.l2_bytes and one.l2_bytes != other.l2_bytes:
        sizes = [number_text(candidate.l2_bytes, "bytes") for candidate in (one, other)]
        yield f"L2 traffic: {sizes[0]} vs. {sizes[1]}."


def format_us(us: float | None) -> str:
    """Microseconds with the unit that suits them."""
    return number_text(None if us is None else us * 1e-6, "seconds")


def count_verdicts(candidates: Sequence[Candidate]) -> dict[str, int]:
    """How many have each verdict, the ranked ones first."""
    counts: dict[str, int] = {}
    for candidate in candidates:
        counts[candidate.verdict] = counts.get(candidate.verdict, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (item[0] != RANKED, -item[1])))
