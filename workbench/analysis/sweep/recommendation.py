"""Which setting of a sweep to take and how sure that is, as a sentence and a line of code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from workbench.analysis.trials.axes import CHOICE_NAMES, OBJECTIVES, TEMPLATE, is_kernel_axis
from workbench.analysis.trials.medians import LEAST_DIFFERENCE, Comparison, compare
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report.presenter import Presented
from workbench.report.trials import Trial

_FIGURES = {
    *("compile_s", "first_call_s", "call_us", "speedup", "peak_bytes", "artifact_bytes"),
    *("kernels", "dram_bytes", "difference"),
}
_LIMIT = re.compile(r"\s*(<=|>=|<|>)\s*([0-9.eE+-]+)\s*")
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
Constraint = Mapping[str, Any] | Callable[[Trial], bool] | None


@dataclass(frozen=True)
class Candidate:
    """One setting without its sizes: its rows, one for each size, and its score (less is better).

    The score is a geometric mean over the sizes, in µs, seconds or bytes of one call; for the
    throughput µs for one item.
    """

    settings: tuple[tuple[str, str], ...]
    rows: tuple[Trial, ...] = field(repr=False)
    score: float = math.inf

    @property
    def title(self) -> str:
        """The settings in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.settings) or "as it is"


@dataclass(frozen=True)
class Effect:
    """What the choice on one axis changes where all others are the same.

    `ratio` is the score with the worst value over that with the best, a geometric mean.
    `comparison` is of the pair that is furthest apart, round by round; None for what is not timed.
    """

    axis: str
    best: str
    worst: str
    ratio: float
    comparison: Comparison | None = None


@dataclass(frozen=True)
class Choice:
    """The setting that is best for an objective, and what that rests on.

    `runner_up` is compared with it round by round in `comparison`; None for what is not timed.
    """

    objective: str
    winner: Candidate
    runner_up: Candidate | None
    comparison: Comparison | None
    effects: tuple[Effect, ...]


def choose(
    trials: Iterable[Trial],
    sizes: Sequence[str] = (),
    *,
    objective: str = "latency",
    constraint: Constraint = None,
) -> Choice:
    """The best of the finished trials.

    `constraint` is a function of a row, or maps names to what is wanted: an axis to its value,
    a figure to a limit such as `"<= 2e6"`. Of settings that cannot be told apart the one that
    compiles faster is taken. Raises `UsageError` where there is none.
    """
    if objective not in OBJECTIVES:
        raise UsageError(f"objective is {objective!r}: expected one of {', '.join(OBJECTIVES)}.")
    done = [trial for trial in trials if trial.status == "done"]
    kept = [trial for trial in done if _fits(trial, constraint)]
    ranked = sorted(_candidates(kept, sizes, objective), key=lambda one: one.score)
    ranked = [one for one in ranked if math.isfinite(one.score)]
    if not ranked:
        raise UsageError(_nothing(done, kept, objective))
    winner, rest = ranked[0], ranked[1:]
    comparison = _compared(winner, rest[0], objective) if rest else None
    is_tie = comparison is not None and not comparison.differ
    if is_tie and _compile_s(rest[0]) < _compile_s(winner):
        winner, rest = rest[0], [winner, *rest[1:]]
        comparison = _compared(winner, rest[0], objective)
    runner_up = rest[0] if rest else None
    axes = dict.fromkeys(name for one in ranked for name, _ in one.settings)
    effects = [effect for axis in axes if (effect := _effect(axis, ranked, objective))]
    effects.sort(key=lambda effect: -effect.ratio)
    return Choice(objective, winner, runner_up, comparison, tuple(effects))


def _nothing(done: list[Trial], kept: list[Trial], objective: str) -> str:
    if not done:
        return "No trial has ended well: look at the column reason of .frame()."
    if not kept:
        return "No trial fits the constraint: loosen it, or look at .frame()."
    return f"No trial has what the objective {objective!r} needs: look at .frame()."


def _fits(trial: Trial, constraint: Constraint) -> bool:
    if constraint is None:
        return True
    if callable(constraint):
        return bool(constraint(trial))
    settings = dict(trial.settings)
    return all(
        settings[name] == str(wanted) if name in settings else _within(trial, name, wanted)
        for name, wanted in constraint.items()
    )


def _within(trial: Trial, name: str, wanted: Any) -> bool:
    limit = _LIMIT.fullmatch(str(wanted))
    if name not in _FIGURES or limit is None:
        raise UsageError(
            f"The constraint {name!r}: {wanted!r} is neither an axis with its value nor a figure "
            f"({', '.join(sorted(_FIGURES))}) with a limit such as '<= 2e6'."
        )
    value = getattr(trial, name)
    return value is not None and _SIGNS[limit[1]](value, float(limit[2]))


def _candidates(rows: list[Trial], sizes: Sequence[str], objective: str) -> Iterable[Candidate]:
    groups: dict[tuple[tuple[str, str], ...], list[Trial]] = {}
    for row in rows:
        settings = tuple(pair for pair in row.settings if pair[0] not in sizes)
        groups.setdefault(settings, []).append(row)
    most = max((len(group) for group in groups.values()), default=0)
    baselines = _baselines(rows, sizes)
    for settings, group in groups.items():
        if len(group) < most:
            continue  # it failed for a size: it cannot be taken for all of them
        scores = [_score(row, objective, sizes, baselines) for row in group]
        known = [score for score in scores if score is not None and score >= 0]
        score = _mean(known) if len(known) == len(scores) else math.inf
        yield Candidate(settings, tuple(group), score)


def _baselines(rows: list[Trial], sizes: Sequence[str]) -> dict[Any, float]:
    """What the original takes for each size: the median over all workers, in µs."""
    by_sizes: dict[Any, list[float]] = {}
    for row in rows:
        if row.baseline_us is not None:
            by_sizes.setdefault(_sizes_of(row, sizes), []).append(row.baseline_us)
    return {key: sorted(values)[len(values) // 2] for key, values in by_sizes.items()}


def _sizes_of(row: Trial, sizes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in row.settings if pair[0] in sizes)


def _score(
    row: Trial, objective: str, sizes: Sequence[str], baselines: Mapping[Any, float]
) -> float | None:
    if objective == "first_call":
        return row.first_call_s
    if objective == "memory":
        return None if row.peak_bytes is None else float(row.peak_bytes)
    time = row.call_us
    if row.speedup:  # workers differ by their surroundings: the baseline in each shows by how much
        time = baselines[_sizes_of(row, sizes)] / row.speedup
    if objective == "throughput" and time is not None:
        return time / _items(row, sizes)
    return time


def _items(row: Trial, sizes: Sequence[str]) -> float:
    """How many items one call handles: the first size, which is the batch by custom."""
    first = _sizes_of(row, sizes)[:1]
    try:
        return float(first[0][1]) if first else 1.0
    except ValueError:
        return 1.0


def _mean(values: Sequence[float]) -> float:
    if not values:
        return math.inf
    return math.exp(sum(math.log(max(value, 1e-12)) for value in values) / len(values))


def _compile_s(candidate: Candidate) -> float:
    return sum(row.compile_s or 0.0 for row in candidate.rows)


def _compared(a: Candidate, b: Candidate, objective: str) -> Comparison | None:
    """How much longer `b` takes than `a`, from the rounds of the size where they are furthest."""
    if objective not in ("latency", "throughput"):
        return None
    comparisons = []
    for one, two in zip(a.rows, b.rows, strict=True):
        left, right = one.relative, two.relative
        if left and right:
            comparisons.append(compare(left, right))
    return max(comparisons, key=lambda c: abs(math.log(c.ratio.median)), default=None)


def _effect(axis: str, candidates: Sequence[Candidate], objective: str) -> Effect | None:
    """The score by the values of an axis while the other axes are the same."""
    others: dict[Any, dict[str, Candidate]] = {}
    for one in candidates:
        rest = tuple(pair for pair in one.settings if pair[0] != axis)
        value = dict(one.settings).get(axis)
        if value is not None:
            others.setdefault(rest, {})[value] = one
    values = dict.fromkeys(value for row in others.values() for value in row)
    whole = [row for row in others.values() if len(row) == len(values)]
    if len(values) < 2 or not whole:
        return None
    means = {value: _mean([row[value].score for row in whole]) for value in values}
    best, worst = min(means, key=lambda v: means[v]), max(means, key=lambda v: means[v])
    pairs = [_compared(row[best], row[worst], objective) for row in whole]
    known = [pair for pair in pairs if pair is not None]
    # a pair that differs says more than one that is further apart within its noise
    furthest = max(known, key=lambda c: (c.differ, abs(math.log(c.ratio.median))), default=None)
    return Effect(axis, best, worst, means[worst] / means[best], furthest)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_AXES = ("mode", "backend", "dtype", "threads", "dynamic", "target")
_WORDS = {
    "latency": "the time of a call",
    "throughput": "the time for an item",
    "first_call": "the time of the first call",
    "memory": "the peak memory",
}


def choose_recommended(
    trials: Sequence[Trial],
    sizes: tuple[str, ...],
    expression: str,
    *,
    objective: str = "latency",
    constraint: Constraint = None,
) -> Recommendation:
    """The best of the settings; raises `UsageError` where no row fits.

    `sizes` are the axes that the inputs were made of, `expression` what stands for the function.
    """
    choice = choose(trials, sizes, objective=objective, constraint=constraint)
    sentence = " ".join(_sentences(choice, sizes))
    return Recommendation(choice, sentence, code_of(choice.winner, expression))


def _sentences(choice: Choice, sizes: tuple[str, ...]) -> Iterator[str]:
    winner, next_one = choice.winner, choice.runner_up
    yield f"Take {winner.title}: {_against_original(winner, choice.objective, sizes)}."
    if next_one is not None:
        yield _against_next(choice, next_one)
    yield from (_describe_effect(effect, choice.objective) for effect in choice.effects[:2])
    yield from _warnings([row.warning or "" for row in winner.rows])


def _warnings(remarks: Sequence[str]) -> Iterator[str]:
    """Each warning once: of those that differ in their numbers only, the one with the largest."""
    kinds: dict[str, list[str]] = {}
    for words in remarks:
        for warning in filter(None, words.split("; ")):
            kinds.setdefault(_NUMBER.sub("", warning), []).append(warning)
    for _, same in sorted(kinds.items()):
        worst = max(same, key=lambda warning: [float(n) for n in _NUMBER.findall(warning)])
        where = f" (in {len(same)} of {len(remarks)} rows)" if len(same) > 1 else ""
        yield f"But {worst}{where}."


def _describe_effect(effect: Effect, objective: str) -> str:
    """What an axis changes, with the interval of the pair that is furthest apart."""
    pair = effect.comparison
    if pair is not None and not pair.differ:
        return f"{effect.axis} made no difference that can be told from the noise."
    if effect.ratio - 1 < LEAST_DIFFERENCE:
        return f"{effect.axis} made no difference."
    sure = f"; where it is clearest {pair.words}" if pair is not None else ""
    return (
        f"{effect.axis} mattered: {effect.worst} instead of {effect.best} makes "
        f"{_WORDS[objective]} {number_text(effect.ratio, 'ratio')} as large{sure}."
    )


def _against_original(winner: Candidate, objective: str, sizes: tuple[str, ...]) -> str:
    row = winner.rows[0]
    if objective == "memory":
        return f"a call takes at most {number_text(row.peak_bytes, 'bytes')}"
    if objective == "first_call":
        return f"the first call takes {number_text(row.first_call_s or 0.0, 'seconds')}"
    if row.is_model:
        time = number_text((row.call_us or 0.0) * 1e-6, "seconds")
        return f"a model gives it {time} a call; nothing was run"
    parts = []
    for one in winner.rows:
        where = ", ".join(f"{n}={v}" for n, v in one.settings if n in sizes)
        ratio, low, high = (
            number_text(value, "ratio").removesuffix(" ×")
            for value in (one.speedup, one.speedup_low, one.speedup_high)
        )
        factor = f"{ratio} × ({low} to {high})"
        parts.append(f"{factor} at {where}" if where else factor)
    return f"{', '.join(parts)} as fast as the original, with 95 % confidence"


def _against_next(choice: Choice, next_one: Candidate) -> str:
    pair = choice.comparison
    if pair is None:
        return f"Next comes {next_one.title}."
    if pair.differ:
        return f"{next_one.title}, the next, is {pair.words}."
    mine, other = (median(r.compile_s or 0.0 for r in c.rows) for c in (choice.winner, next_one))
    if mine >= other:
        return f"{next_one.title} cannot be told from it."
    low, high = (f"{100 * (ratio - 1):+.1f} %" for ratio in (pair.ratio.low, pair.ratio.high))
    return f"{next_one.title} cannot be told from it ({low} to {high}); this one compiles faster."


def code_of(winner: Candidate, name: str) -> str:
    """The call that compiles with this setting."""
    chosen = dict(winner.settings)
    kernels = {n: v for n, v in chosen.items() if is_kernel_axis(n)}
    options = {n: v for n, v in chosen.items() if n not in (*_AXES, TEMPLATE, *kernels)}
    if TEMPLATE in chosen:
        options[CHOICE_NAMES] = chosen[TEMPLATE]
    words, lines = [f"{name}, args"], []
    for axis in ("backend", "mode", "target"):
        if axis in chosen and chosen[axis] not in ("None",):
            words.append(f"{axis}={chosen[axis]!r}")
    if options:
        inner = ", ".join(f"{n!r}: {_literal(v)}" for n, v in options.items())
        words.append(f"options={{{inner}}}")
    if "dtype" in chosen:
        lines.append(f"# the module and its inputs as torch.{chosen['dtype']}")
    if "threads" in chosen:
        lines.append(f"torch.set_num_threads({chosen['threads']})")
    if chosen.get("dynamic") == "True":
        words.append("dynamic_shapes=…")
        lines.append("# every size as torch.export.Dim.AUTO")
    if kernels:
        words_of = ", ".join(f"{n}={v}" for n, v in kernels.items())
        lines.append(
            f"# then {words_of}: time it on the device, Inductor tunes blocks itself there"
        )
    return "\n".join([*lines, f"wb.aot_compile({', '.join(words)})"])


def _literal(text: str) -> str:
    is_literal = text in ("True", "False", "None") or text.lstrip("-").replace(".", "", 1).isdigit()
    return text if is_literal else repr(text)


@dataclass(frozen=True)
class Recommendation(Presented):
    """What to take, why, and how to write it down."""

    choice: Choice
    sentence: str
    code: str

    @property
    def settings(self) -> dict[str, str]:
        """The chosen value of each axis."""
        return dict(self.choice.winner.settings)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.code}"
