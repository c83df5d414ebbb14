"""What to take of a sweep, as sentences that say no more than was measured, and a line of code.

The fastest setting is chosen first, and only where the pairs allow to say so. Sizes of inputs are
no choices: a candidate is a setting with all of its sizes, and each size has its own baseline.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any, Literal

from workbench.arguments import read_answer
from workbench.errors import UsageError, suggest
from workbench.number_text import number_text, plural
from workbench.report.paired import (
    LEAST_DIFFERENCE,
    NO_VERDICT,
    Comparison,
    Interval,
    PairedTimes,
    Verdict,
    compare_by_original,
)
from workbench.report.presenter import Presented
from workbench.report.trials import UNSAVED, Trial
from workbench.worlds.sweeps.rows.axes import (
    AXES,
    CHOICE_NAMES,
    OBJECTIVES,
    TEMPLATE,
    is_kernel_axis,
)

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_AS_FAST = " as fast as eager"
_SHOWN = 2  # axes of which a sentence tells, and settings with the same code by their names
_AXIS = "AXES"  # in words of several axes
_NOISY = "too noisy to compare with eager"


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
    is_timed = choice.objective in TIMED and not choice.winner.is_model
    is_worth_it = not is_timed or choice.winner.verdict == "faster"
    if choice.winner.is_model and choice.objective in TIMED and choice.winner.rows[0].low_us:
        is_worth_it = choice.runner_up is None or _is_modelled_apart(choice)
    return Recommendation(
        choice, sentence, code_of(choice.winner, expression) if is_worth_it else ""
    )


def _sentences(choice: Choice, sizes: tuple[str, ...]) -> Iterator[str]:
    winner = choice.winner
    if choice.objective in TIMED and not winner.is_model:
        yield from _timed(choice, sizes)
    else:
        yield from _by_figure(choice)
    if len(winner.same) > _SHOWN:
        yield f"Identical generated code: {plural(len(winner.same), 'other configuration')}."
    elif winner.same:
        names = " and ".join(name_setting(one, choice) for one in winner.same)
        yield f"Identical generated code: {names}."
    axes_of: dict[str, list[str]] = {}
    for effect in choice.effects[:_SHOWN]:
        words = _describe_effect(effect, choice.objective, is_model=winner.is_model)
        axes_of.setdefault(words, []).append(effect.axis)
    for words, axes in axes_of.items():
        yield words.replace(_AXIS, (" or " if words.startswith("Whether") else " and ").join(axes))
    yield from _warnings([row.warning or "" for row in winner.rows])


def name_setting(one: Setting, choice: Choice) -> str:
    """Its values in one line, without the axes on which all settings have the same."""
    varied = {effect.axis for effect in choice.effects}
    return ", ".join(f"{n}={v}" for n, v in one.settings if n in varied) or one.title


def _timed(choice: Choice, sizes: tuple[str, ...]) -> Iterator[str]:
    """What may be said of the fastest against the original, and against the next."""
    winner, pair = choice.winner, choice.comparison
    name, second = name_setting(winner, choice), ""
    if choice.runner_up is not None:
        second = name_setting(choice.runner_up, choice)
    against = _against_original(winner, sizes)
    is_faster = winner.verdict == "faster"
    if not winner.settings:
        yield f"Compiled: {against}."
    elif choice.is_sure:
        yield f"Use {name}: {against}."
    elif is_faster and choice.runner_up is not None:
        yield f"No winner between {name} and {second}."
        yield f"{name}: {against}."
    else:
        is_mixed = any(pairs.verdict == "faster" for pairs in winner.pairs)
        where = " at every size" if is_mixed else ""
        yield f"No configuration is significantly faster than eager{where}."
        yield f"{name} has the shortest median: {against}."
    if choice.runner_up is not None and pair is not None:
        yield f"The runner-up {second}, compared with it: {_compare(pair)}."
        if winner.is_compared and not choice.runner_up.is_compared:
            yield f"{second} was not fully compared with eager, so it was not chosen."


def _by_figure(choice: Choice) -> Iterator[str]:
    """What is counted or modelled, or measured only once."""
    row, name = choice.winner.rows[0], name_setting(choice.winner, choice)
    if choice.objective == "memory":
        yield f"Use {name}: peak memory {number_text(row.peak_bytes, 'bytes')}."
    elif choice.objective == "first_call":
        took = number_text(row.first_call_s or 0.0, "seconds")
        yield (
            f"{name} has the shortest first call: {took}. Each configuration was measured once, so "
            "small differences do not count."
        )
    else:
        yield _tell_modelled(choice)
        return
    if choice.runner_up is not None:
        yield f"The runner-up is {name_setting(choice.runner_up, choice)}."


def _tell_modelled(choice: Choice) -> str:
    """What a model gives the shortest and the next: one to take where their intervals are apart."""
    first, second = choice.winner, choice.runner_up
    name, time = name_setting(first, choice), _format_modelled(first.rows[0])
    if second is None:
        return f"{name}: {time} per call (modelled). Nothing was run."
    after = f"the runner-up {name_setting(second, choice)} takes {_format_modelled(second.rows[0])}"
    if _is_modelled_apart(choice):
        return f"Use {name}: {time} per call; {after} (modelled). Nothing was run."
    if first.rows[0].low_us is None:
        return (
            f"{name} is fastest by the model: {time} per call; {after} (modelled). Nothing was "
            "run, so time "
            "the configurations."
        )
    return f"No winner: {name} takes {time} per call; {after} (modelled). Nothing was run."


def _is_modelled_apart(choice: Choice) -> bool:
    """Whether each size takes at most less with the first setting than with the next at least."""
    if choice.runner_up is None:
        return False
    rows = zip(choice.winner.rows, choice.runner_up.rows, strict=True)
    return all(
        row.high_us is not None and after.low_us is not None and row.high_us < after.low_us
        for row, after in rows
    )


def _format_modelled(row: Trial) -> str:
    us = number_text((row.call_us or 0.0) * 1e-6, "seconds")
    if row.low_us is None:
        return us
    if row.high_us is None:
        return f"{us} (error not measured)"
    low, high = (number_text(end * 1e-6, "seconds") for end in (row.low_us, row.high_us))
    return f"{us} ({low} to {high})"


def _warnings(remarks: Sequence[str]) -> Iterator[str]:
    """Each warning once: of those that differ in their numbers only, the one with the largest.

    Why there is no verdict is said with the figures, what cannot be saved beside the sweep.
    """
    kinds: dict[str, list[str]] = {}
    for words in remarks:
        for warning in filter(None, words.split("; ")):
            if not warning.startswith((NO_VERDICT, UNSAVED)):
                kinds.setdefault(_NUMBER.sub("", warning), []).append(warning)
    for _, same in sorted(kinds.items()):
        worst = max(same, key=lambda warning: [float(n) for n in _NUMBER.findall(warning)])
        where = f" (in {len(same)} of {len(remarks)} rows)" if len(same) > 1 else ""
        yield f"But {worst}{where}."


def _describe_effect(effect: Effect, objective: str, *, is_model: bool) -> str:
    """What axes change, `_AXIS` in place of them, with the interval of what says most."""
    pair = effect.comparison
    if pair is None:
        if objective in TIMED and not is_model:
            return f"Whether {_AXIS} makes a difference was not measured."
        if effect.ratio - 1 < LEAST_DIFFERENCE:
            return f"{_AXIS} made no difference{' to the model' if is_model else ''}."
        instead = f"With {effect.worst} instead of {effect.best} as {_AXIS}"
        if objective == "memory":
            return f"{instead}: {number_text(effect.ratio, 'ratio')} the peak memory."
        where = "the first call is" if objective == "first_call" else "a call is"
        how = "measured once" if objective == "first_call" else "modelled"
        return f"{instead}, {where} {_factor(1 / effect.ratio)} as fast ({how})."
    match effect.verdict:
        case "identical":
            return f"{_AXIS} made no difference: the generated code is identical."
        case "no difference":
            return f"{_AXIS} made no difference."
        case "too noisy to say":
            return f"Whether {_AXIS} makes a difference is {effect.verdict}."
        case "mixed":
            return f"{_AXIS} mattered, but not always in the same direction."
    return (
        f"{_AXIS} mattered: in the clearest case, {effect.worst} instead of {effect.best} is "
        f"{_compare(pair)}."
    )


def _compare(pair: Comparison) -> str:
    """How fast the one is as a multiple of the other, as against eager: below 1 is slower."""
    if pair.verdict not in ("faster", "slower"):
        return pair.words
    ratio = pair.ratio
    return f"{_factor(1 / ratio.median, 1 / ratio.high, 1 / ratio.low)} as fast"


def _against_original(winner: Setting, sizes: tuple[str, ...]) -> str:
    """For each size what the pairs allow to say; once what is the same for all sizes."""
    are_faster = all(pairs.verdict == "faster" for pairs in winner.pairs)
    are_noisy = len(winner.pairs) > 1 and all(
        describe_speedup(pairs).startswith(_NOISY) for pairs in winner.pairs
    )
    parts = []
    for row, pairs in zip(winner.rows, winner.pairs, strict=True):
        where = ", ".join(f"{n}={v}" for n, v in row.settings if n in sizes)
        words = describe_speedup(pairs)
        words = words.removesuffix(_AS_FAST) if are_faster else words
        at = f"at {where}" if where else ""
        said = [words, at]
        if are_noisy:  # the interval stands behind what it is of
            said = [at, words.removeprefix(f"{_NOISY} ")]
        parts.append(" ".join(filter(None, said)))
    return f"{f'{_NOISY}: ' if are_noisy else ''}{', '.join(parts)}{_AS_FAST if are_faster else ''}"


def describe_speedup(pairs: PairedTimes) -> str:
    """What may be said of a setting against the original, such as `2.50 × (2.45 to 2.55) …`."""
    if not len(pairs):
        return "not timed"
    ratio = pairs.ratio
    if pairs.verdict in ("faster", "slower"):  # one direction: less than 1 is slower
        factor = _factor(1 / ratio.median, 1 / ratio.high, 1 / ratio.low)
        return f"{factor}{_AS_FAST}"
    ends = f"{_factor(1 / ratio.high)} to {_factor(1 / ratio.low)}"
    if pairs.verdict == "no difference":
        return f"no difference from eager ({ends})"
    return f"{_NOISY} ({ends}; {pairs.doubt})"


def _factor(middle: float, *ends: float) -> str:
    words = number_text(middle, "ratio")
    low_to_high = " to ".join(number_text(end, "ratio").removesuffix(" ×") for end in ends)
    return f"{words} ({low_to_high})" if ends else words


def code_of(winner: Setting, name: str) -> str:
    """The call that compiles with this setting."""
    chosen = dict(winner.settings)
    kernels = {n: v for n, v in chosen.items() if is_kernel_axis(n)}
    options = {n: v for n, v in chosen.items() if n not in (*AXES, TEMPLATE, *kernels)}
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
    """Hold a recommended configuration, its reason, and its code.

    `code` is empty if no configuration is faster than eager beyond the noise.
    """

    choice: Choice
    sentence: str
    code: str

    @property
    def settings(self) -> dict[str, str]:
        """The value of each axis; if `choice.is_sure` is False, those of the shortest median."""
        return dict(self.choice.winner.settings)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.code}" if self.code else self.sentence


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
TIMED = ("latency", "throughput")
"""The objectives that were timed in turn with the original."""
Constraint = Mapping[str, Any] | Callable[[Trial], bool] | None
Overall = Verdict | Literal["mixed"]
"""A verdict over all sizes: "mixed" where it is faster for one and slower for another."""


@dataclass(frozen=True)
class Setting:
    """One configuration without its sizes: a row for each size, and its score (less is better).

    The score is a geometric mean over the sizes, in µs, seconds or bytes of one call; for
    throughput, µs per item. `same` are the configurations that generate the same code.
    """

    settings: tuple[tuple[str, str], ...]
    rows: tuple[Trial, ...] = field(repr=False)
    score: float = math.inf
    same: tuple[Setting, ...] = field(default=(), repr=False)

    @property
    def title(self) -> str:
        """The configuration in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.settings) or "as it is"

    @cached_property
    def pairs(self) -> tuple[PairedTimes, ...]:
        """Interleaved timings of eager and this configuration, for each row."""
        return tuple(row.pairs for row in self.rows)

    @property
    def verdict(self) -> Overall:
        """The verdict against eager, over all sizes."""
        return judge([pairs.verdict for pairs in self.pairs])

    @property
    def is_compared(self) -> bool:
        """Whether every effect of it was compared with eager."""
        return all(row.is_compared for row in self.rows)

    @property
    def is_model(self) -> bool:
        """Whether its times are modelled."""
        return any(row.is_model for row in self.rows)

    @property
    def code(self) -> tuple[str, ...] | None:
        """The generated programs of its rows; None where one is not known."""
        codes = tuple(f"{row.code} {dict(row.settings).get('threads')}" for row in self.rows)
        return codes if all(row.code for row in self.rows) else None


@dataclass(frozen=True)
class Effect:
    """The effect of the choice on one axis, where all others are the same.

    `ratio` is the score with the worst value divided by that with the best, a geometric mean.
    `comparison` is of the clearest pair, the worst after the best; None if nothing was timed.
    `verdict` is over all pairs.
    """

    axis: str
    best: str
    worst: str
    ratio: float
    comparison: Comparison | None = None
    verdict: Overall = "no difference"


@dataclass(frozen=True)
class Choice:
    """The best configuration for an objective, with its verdict.

    `comparison` compares `runner_up` with it; None if nothing was timed.
    """

    objective: str
    winner: Setting
    runner_up: Setting | None
    comparison: Comparison | None
    effects: tuple[Effect, ...]

    @property
    def is_sure(self) -> bool:
        """Whether it is faster than eager and than the next one, beyond the noise."""
        is_first = self.comparison is None or self.comparison.verdict == "slower"
        return self.objective in TIMED and self.winner.verdict == "faster" and is_first


def judge(verdicts: Sequence[Verdict]) -> Overall:
    """One verdict over several sizes, or pairs of settings."""
    kinds = set(verdicts)
    if kinds >= {"faster", "slower"}:
        return "mixed"
    order: tuple[Verdict, ...] = ("faster", "slower", "too noisy to say", "no difference")
    return next((verdict for verdict in order if verdict in kinds), "identical")


def choose(
    trials: Iterable[Trial],
    sizes: Sequence[str] = (),
    *,
    objective: str = "latency",
    constraint: Constraint = None,
) -> Choice:
    """The best of the finished trials.

    `constraint` is a function of a row, or maps names to what is wanted: an axis to its value,
    a figure to a limit such as `"<= 2e6"`. Settings with the same generated code are one. Of
    settings between which there is no difference the first is taken; one of which something was
    not compared with the original only where all are such. Raises `UsageError` where there is none.
    """
    if objective not in OBJECTIVES:
        raise UsageError(
            f"objective is {objective!r}: expected one of {', '.join(OBJECTIVES)}."
            f"{suggest(objective, OBJECTIVES)}"
        )
    done = [trial for trial in trials if trial.status == "done"]
    kept = [trial for trial in done if _fits(trial, constraint)]
    every = [one for one in _candidates(kept, sizes, objective) if math.isfinite(one.score)]
    if not every:
        raise UsageError(_nothing(done, kept, objective))
    distinct = _merge(every) if objective in TIMED else every
    ranked = sorted(distinct, key=lambda one: (not one.is_compared, one.score))
    originals = _Originals(kept, sizes, objective, len(ranked))
    equal = [
        one
        for one in ranked
        if one.is_compared == ranked[0].is_compared
        and (found := originals.compare(ranked[0], one))
        and found.verdict == "no difference"
    ]
    winner = min([ranked[0], *equal], key=distinct.index)
    rest = [one for one in ranked if one is not winner]
    runner_up = rest[0] if rest else None
    comparison = None if runner_up is None else originals.compare(winner, runner_up)
    axes = dict.fromkeys(name for one in every for name, _ in one.settings)
    effects = [effect for axis in axes if (effect := _effect(axis, every, originals))]
    effects.sort(key=lambda effect: (effect.verdict not in ("slower", "mixed"), -effect.ratio))
    return Choice(objective, winner, runner_up, comparison, tuple(effects))


def _merge(candidates: Sequence[Setting]) -> list[Setting]:
    """The first of those with the same generated code, in their order, with the others."""
    groups: dict[object, list[Setting]] = {}
    for one in candidates:
        groups.setdefault(one.code or one.settings, []).append(one)
    return [replace(first, same=tuple(others)) for first, *others in groups.values()]


def _nothing(done: list[Trial], kept: list[Trial], objective: str) -> str:
    if not done:
        return "No trial succeeded: see the column reason of .frame()."
    if not kept:
        return "No trial fits the constraint: loosen it, or see .frame()."
    return f"No trial has the figure for objective {objective!r}: see .frame()."


def _fits(trial: Trial, constraint: Constraint) -> bool:
    if constraint is None:
        return True
    if callable(constraint):
        return read_answer("constraint", constraint(trial))
    settings = dict(trial.settings)
    return all(
        settings[name] == str(wanted) if name in settings else _within(trial, name, wanted)
        for name, wanted in constraint.items()
    )


def _within(trial: Trial, name: str, wanted: Any) -> bool:
    limit = _LIMIT.fullmatch(str(wanted))
    if name not in _FIGURES or limit is None:
        raise UsageError(
            f"The constraint {name!r}: {wanted!r} is invalid. Pass a value of an axis, or a "
            f"limit such as '<= 2e6' for one of these figures: {', '.join(sorted(_FIGURES))}."
        )
    value = getattr(trial, name)
    return value is not None and _SIGNS[limit[1]](value, float(limit[2]))


def _candidates(rows: list[Trial], sizes: Sequence[str], objective: str) -> Iterable[Setting]:
    groups: dict[tuple[tuple[str, str], ...], list[Trial]] = {}
    for row in rows:
        settings = tuple(pair for pair in row.settings if pair[0] not in sizes)
        groups.setdefault(settings, []).append(row)
    most = max((len(group) for group in groups.values()), default=0)
    baselines = {key: median(values) for key, values in _baselines(rows, sizes).items()}
    for settings, group in groups.items():
        if len(group) < most:
            continue  # it failed for a size: it cannot be taken for all of them
        scores = [_score(row, objective, sizes, baselines) for row in group]
        known = [score for score in scores if score is not None and score >= 0]
        score = _mean(known) if len(known) == len(scores) else math.inf
        yield Setting(settings, tuple(group), score)


def _baselines(rows: list[Trial], sizes: Sequence[str]) -> dict[Any, list[float]]:
    """What the original took for each size, in each worker that timed it, in µs."""
    by_sizes: dict[Any, list[float]] = {}
    for row in rows:
        if row.baseline_us is not None and row.same_as is None:
            by_sizes.setdefault(_sizes_of(row, sizes), []).append(row.baseline_us)
    for row in rows:  # the row that has been timed may be left out by a constraint
        if row.baseline_us is not None:
            by_sizes.setdefault(_sizes_of(row, sizes), [row.baseline_us])
    return by_sizes


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


class _Originals:
    """What the original took in each worker, by size; settings are compared by way of it."""

    def __init__(self, rows: list[Trial], sizes: Sequence[str], objective: str, compared: int):
        self._sizes, self._is_timed, self._compared = sizes, objective in TIMED, compared
        self._floors = {
            key: max(values) / min(values) - 1 if min(values) > 0 else math.inf
            for key, values in _baselines(rows, sizes).items()
        }

    def compare(self, a: Setting, b: Setting) -> Comparison | None:
        """How much longer `b` takes than `a`, by the size that says most; None: not timed."""
        if not self._is_timed or a is b:
            return None
        if a.code is not None and a.code == b.code:
            return Comparison(Interval(1.0, 1.0, 1.0), "identical")
        found = [
            compare_by_original(
                *(one, other),
                floor=self._floors.get(_sizes_of(row, self._sizes), 0.0),
                compared=self._compared,
            )
            for row, one, other in zip(a.rows, a.pairs, b.pairs, strict=True)
            if len(one) and len(other)
        ]
        if not found:
            return None
        if judge([one.verdict for one in found]) == "mixed":
            why = "faster for one size and slower for another"
            return replace(pick_clearest(found), verdict="too noisy to say", doubt=why)
        return pick_clearest(found)


def pick_clearest(found: Sequence[Comparison]) -> Comparison:
    """The comparison that says most: one that is sure, else one that is in doubt."""
    order = ("identical", "no difference", "too noisy to say", "slower", "faster")
    return max(
        found,
        key=lambda one: (min(order.index(one.verdict), 3), abs(math.log(one.ratio.median))),
    )


def _effect(axis: str, candidates: Sequence[Setting], originals: _Originals) -> Effect | None:
    """The score by the values of an axis while the other axes are the same."""
    others: dict[Any, dict[str, Setting]] = {}
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
    ratio = means[worst] / means[best]
    if best == worst:  # all the same to the last digit
        best, worst = next(iter(values)), list(values)[-1]
    known = [pair for row in whole if (pair := originals.compare(row[best], row[worst]))]
    if not known:
        return Effect(axis, best, worst, ratio)
    verdict = judge([pair.verdict for pair in known])
    return Effect(axis, best, worst, ratio, pick_clearest(known), verdict)
