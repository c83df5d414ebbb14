"""What to take of a sweep, as sentences that say no more than was measured, and a line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.sweep.choice import (
    TIMED,
    Choice,
    Constraint,
    Effect,
    Setting,
    choose,
)
from workbench.analysis.trials.axes import CHOICE_NAMES, TEMPLATE, is_kernel_axis
from workbench.number_text import number_text
from workbench.report.paired import LEAST_DIFFERENCE, NO_VERDICT, PairedTimes
from workbench.report.presenter import Presented
from workbench.report.trials import UNSAVED, Trial

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_AXES = ("mode", "backend", "dtype", "threads", "dynamic", "target")
_AS_FAST = " as fast as the original"
_SHOWN = 2  # axes of which a sentence tells, and settings with the same code by their names
_AXIS = "AXES"  # in words of several axes
_NOISY = "too noisy to say against the original"


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
        yield f"The generated code of {len(winner.same)} other settings is identical to it."
    elif winner.same:
        names = " and of ".join(name_setting(one, choice) for one in winner.same)
        yield f"The generated code of {names} is identical to it."
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
        yield f"Take {name}: {against}."
    elif is_faster and choice.runner_up is not None:
        yield f"No winner between {name} and {second}."
        yield f"{name}: {against}."
    else:
        is_mixed = any(pairs.verdict == "faster" for pairs in winner.pairs)
        where = " at every size" if is_mixed else ""
        yield f"Nothing to take: no setting is faster than the original{where} beyond the noise."
        yield f"The shortest median has {name}: {against}."
    if choice.runner_up is not None and pair is not None:
        yield f"{second}, the next, against it: {pair.words}."
        if winner.is_compared and not choice.runner_up.is_compared:
            yield f"Not all of {second} was compared with the original, so it was passed over."


def _by_figure(choice: Choice) -> Iterator[str]:
    """What is counted or modelled, or measured only once."""
    row, name = choice.winner.rows[0], name_setting(choice.winner, choice)
    if choice.objective == "memory":
        yield f"Take {name}: a call takes at most {number_text(row.peak_bytes, 'bytes')}."
    elif choice.objective == "first_call":
        took = number_text(row.first_call_s or 0.0, "seconds")
        yield (
            f"The shortest first call has {name}: {took}. Each was measured once, which "
            "tells no small differences."
        )
    else:
        yield _tell_modelled(choice)
        return
    if choice.runner_up is not None:
        yield f"Next comes {name_setting(choice.runner_up, choice)}."


def _tell_modelled(choice: Choice) -> str:
    """What a model gives the shortest and the next: one to take where their intervals are apart."""
    first, second = choice.winner, choice.runner_up
    name, time = name_setting(first, choice), _format_modelled(first.rows[0])
    if second is None:
        return f"A model gives {name} {time} a call; nothing was run."
    after = f"{name_setting(second, choice)}, the next, {_format_modelled(second.rows[0])}"
    if _is_modelled_apart(choice):
        return f"Take {name}: a model gives it {time} a call, {after}; nothing was run."
    if first.rows[0].low_us is None:
        return f"By a model {name} comes first: {time} a call, {after}. Nothing was run: time them."
    return f"No winner by a model: {name} takes {time} a call, {after}; nothing was run."


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
        what = "the first call, measured once" if objective == "first_call" else "the peak memory"
        if objective in TIMED:
            what = "the modelled time"
        ratio = number_text(effect.ratio, "ratio")
        return f"{effect.worst} instead of {effect.best} as {_AXIS}: {ratio} {what}."
    match effect.verdict:
        case "identical":
            return f"{_AXIS} made no difference: the generated code is identical."
        case "no difference":
            return f"{_AXIS} made no difference."
        case "too noisy to say":
            return f"Whether {_AXIS} makes a difference is {effect.verdict}."
        case "mixed":
            return f"{_AXIS} mattered, but not in one direction."
    return (
        f"{_AXIS} mattered: {effect.worst} instead of {effect.best} is, where it is "
        f"clearest, {pair.words}."
    )


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
    if pairs.verdict == "slower":
        return f"{_factor(ratio.median, ratio.low, ratio.high)} the time of the original"
    if pairs.verdict == "faster":
        factor = _factor(1 / ratio.median, 1 / ratio.high, 1 / ratio.low)
        return f"{factor}{_AS_FAST}"
    ends = f"{_factor(1 / ratio.high)} to {_factor(1 / ratio.low)}"
    if pairs.verdict == "no difference":
        return f"no difference from the original ({ends})"
    return f"{_NOISY} ({ends}; {pairs.doubt})"


def _factor(middle: float, *ends: float) -> str:
    words = number_text(middle, "ratio")
    low_to_high = " to ".join(number_text(end, "ratio").removesuffix(" ×") for end in ends)
    return f"{words} ({low_to_high})" if ends else words


def code_of(winner: Setting, name: str) -> str:
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
    """What to take, why, and how to write it down.

    `code` is empty where no setting is faster than the original beyond the noise.
    """

    choice: Choice
    sentence: str
    code: str

    @property
    def settings(self) -> dict[str, str]:
        """The value of each axis; of the shortest median where `choice.is_sure` is False."""
        return dict(self.choice.winner.settings)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.code}" if self.code else self.sentence
