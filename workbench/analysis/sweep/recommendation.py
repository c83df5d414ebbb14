"""The setting to take as a plain sentence and a line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from workbench.analysis.sweep.choice import Candidate, Choice, Constraint, Effect, choose
from workbench.analysis.sweep.kernel_axes import CHOICE_NAMES, TEMPLATE, is_kernel_axis
from workbench.analysis.sweep.medians import LEAST_DIFFERENCE
from workbench.number_text import number_text
from workbench.report.presenter import Presented
from workbench.report.trials import Trial

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
    yield from (_effect(effect, choice.objective) for effect in choice.effects[:2])
    yield from _warnings([row.warning or "" for row in winner.rows])


def _warnings(found: Sequence[str]) -> Iterator[str]:
    """Each warning once: of those that differ in their numbers only, the one with the largest."""
    kinds: dict[str, list[str]] = {}
    for words in found:
        for warning in filter(None, words.split("; ")):
            kinds.setdefault(_NUMBER.sub("", warning), []).append(warning)
    for _, same in sorted(kinds.items()):
        worst = max(same, key=lambda warning: [float(n) for n in _NUMBER.findall(warning)])
        where = f" (in {len(same)} of {len(found)} rows)" if len(same) > 1 else ""
        yield f"But {worst}{where}."


def _effect(effect: Effect, objective: str) -> str:
    """What an axis changes, with the interval of the pair that is furthest apart."""
    found = effect.comparison
    if found is not None and not found.differ:
        return f"{effect.axis} made no difference that can be told from the noise."
    if effect.ratio - 1 < LEAST_DIFFERENCE:
        return f"{effect.axis} made no difference."
    sure = f"; where it is clearest {found.words}" if found is not None else ""
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
        found, low, high = (
            number_text(value, "ratio").removesuffix(" ×")
            for value in (one.speedup, one.speedup_low, one.speedup_high)
        )
        factor = f"{found} × ({low} to {high})"
        parts.append(f"{factor} at {where}" if where else factor)
    return f"{', '.join(parts)} as fast as the original, with 95 % confidence"


def _against_next(choice: Choice, next_one: Candidate) -> str:
    found = choice.comparison
    if found is None:
        return f"Next comes {next_one.title}."
    if found.differ:
        return f"{next_one.title}, the next, is {found.words}."
    mine, other = (median(r.compile_s or 0.0 for r in c.rows) for c in (choice.winner, next_one))
    if mine >= other:
        return f"{next_one.title} cannot be told from it."
    low, high = (f"{100 * (ratio - 1):+.1f} %" for ratio in (found.ratio.low, found.ratio.high))
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
