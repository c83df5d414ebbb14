"""A sweep as the one document that its widget and its page show; plain JSON-ready data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.errors import UsageError
from workbench.number_text import (
    format_bytes,
    format_seconds,
    format_us,
    number_text,
    plural,
)
from workbench.report.trials import UNSAVED, Trial
from workbench.views.wire.codec import shorten
from workbench.worlds.sweeps.sweep import Sweep
from workbench.worlds.sweeps.views.messages import SweepDocument, SweepRow
from workbench.worlds.sweeps.views.spots import Spot, list_fronts

VERSION = 1
MOST_ROWS = 1000
"""Rows in a view; `.frame()` has all."""
_ROUNDS = 40  # rounds of a row that are drawn
Better = Literal["more", "less", ""]
Texts = tuple[tuple[str, str], ...]
_BETTER: dict[str, Better] = {"speedup": "more", "kernels": "", "artifact_bytes": "less"}
SHOWN = (
    ("speedup", "Speed-up"),
    ("call_us", "Call"),
    ("compile_s", "Compile"),
    ("first_call_s", "First call"),
    ("peak_bytes", "Peak memory"),
    ("kernels", "Kernels"),
    ("dram_bytes", "DRAM traffic"),
    ("artifact_bytes", "Artifact"),
)
"""The figures of a table with their titles."""
_UNITS: Mapping[str, Callable[[float], str]] = {
    "_s": format_seconds,
    "_us": format_us,
    "_bytes": format_bytes,
}


@dataclass(frozen=True)
class Live:
    """How far a sweep is.

    `tried` are the settings that run now, `planned` all that are to be tried, None where a search
    decides that; `known` are the titles of rows that came from the store.
    """

    status: Literal["running", "cancelled", "done"] = "running"
    planned: Sequence[Texts] | None = None
    tried: Collection[Texts] = ()
    known: Collection[str] = ()
    variable: str = "found"


def document(sweep: Sweep, live: Live | None = None) -> SweepDocument:
    """Everything that a view shows of the sweep itself."""
    here = live or Live(_ended(sweep), variable="_")
    rows = [_row(sweep, trial, here) for trial in sweep.trials[:MOST_ROWS]]
    rows += _begun(sweep, here)
    sentence, code, best = ("", "", []) if here.status == "running" else _answer(sweep)
    return {
        "version": VERSION,
        "name": sweep.name,
        "variable": here.variable,
        "status": here.status,
        "axes": [
            {"name": name, "values": list(values), "is_size": name in sweep.sizes}
            for name, values in sweep.axes.items()
        ],
        "figures": [
            {"id": name, "title": title, "is_better": _BETTER.get(name, "less")}
            for name, title in SHOWN
        ],
        "rows": rows,
        "more": max(0, len(sweep.trials) - MOST_ROWS),
        "total": None if here.planned is None else len(here.planned),
        "elapsed_s": round(sweep.seconds, 1),
        "left_s": left(sweep, here),
        "by": choose_metric(sweep),
        "best": best,
        "fronts": _fronts(sweep, {row["id"] for row in rows}),
        "sentence": sentence,
        "code": code,
        "facts": facts(sweep) if here.status != "running" else "",
        "notes": [*sweep.notes, *_unsaved(sweep)],
    }


def _unsaved(sweep: Sweep) -> Iterator[str]:
    """Once, and short: how many settings no file can hold."""
    count = sum((trial.warning or "").startswith(UNSAVED) for trial in sweep.trials)
    if count:
        whole = plural(len(sweep.trials), "configuration")
        yield f"{count} of {whole} cannot be saved to a file; each row has the reason."


def words_of(name: str, value: Any) -> str:
    """A metric with its unit, as views write it."""
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return str(value)
    if name == "peak_bytes" and not value:
        return "< 1 page"  # small tensors come from memory that is there already
    for ending, words in _UNITS.items():
        if name.endswith(ending):
            return words(value)
    if name.startswith("speedup"):
        return number_text(value, "ratio")
    return number_text(value, "difference" if name == "difference" else "count")


def timed(sweep: Sweep) -> list[Trial]:
    """The rows that have a time."""
    return [trial for trial in sweep.trials if trial.call_us is not None]


def choose_metric(sweep: Sweep) -> str:
    """What says best how good a row is: the speed-up, without one the time of a model."""
    return "speedup" if any(trial.speedup for trial in sweep.trials) else "call_us"


def list_spots(sweep: Sweep) -> list[Spot]:
    """How good each timed setting is over its compile time, by the metric of the sweep.

    Without speed-ups that is calls per ms: more is better either way.
    """
    is_ratio = choose_metric(sweep) == "speedup"
    return [
        Spot(
            trial.title,
            trial.compile_s,
            *(
                (trial.speedup, trial.speedup_low or trial.speedup, trial.speedup_high or 0.0)
                if is_ratio and trial.speedup
                else (1e3 / trial.call_us,) * 3
            ),
            group=", ".join(f"{n}={v}" for n, v in trial.settings if n in sweep.sizes),
            is_noisy=is_noisy(trial),
        )
        for trial in timed(sweep)
        if trial.compile_s is not None and trial.call_us and (trial.speedup or not is_ratio)
    ]


def _fronts(sweep: Sweep, shown: Collection[str]) -> list[list[str]]:
    fronts = list_fronts(list_spots(sweep))
    return [[spot.label for spot in front if spot.label in shown] for front in fronts]


def left(sweep: Sweep, live: Live) -> float | None:
    """Seconds that are left, by what the measured rows took; None where nobody can say."""
    measured = len(sweep.trials) - sweep.from_store
    if live.status != "running" or live.planned is None or measured <= 0:
        return None
    rest = max(0, len(live.planned) - len(sweep.trials))
    return round(sweep.seconds / measured * rest, 1)


def _ended(sweep: Sweep) -> Literal["cancelled", "done"]:
    is_cut = any(trial.status == "cancelled" for trial in sweep.trials)
    return "cancelled" if is_cut else "done"


def _row(sweep: Sweep, trial: Trial, live: Live) -> SweepRow:
    values = dict(trial.settings)
    figures = [getattr(trial, name) for name, _ in SHOWN]
    return {
        "id": trial.title,
        "settings": [values.get(name) for name in sweep.axes],
        "status": trial.status,
        "remark": "; ".join(remarks(trial)),
        "is_model": trial.is_model,
        "from_store": trial.title in live.known,
        "can_open": trial.report is not None and sweep.read is not None,
        "figures": [None if value is None else shorten(value) for value in figures],
        "words": [
            _interval(trial) if name == "speedup" and is_noisy(trial) else words_of(name, value)
            for (name, _), value in zip(SHOWN, figures, strict=True)
        ],
        "interval": "" if is_noisy(trial) else _interval(trial),
        "rounds": _rounds(trial),
        "verdict": trial.pairs.verdict if len(trial.pairs) else "",
        "evidence": describe_evidence(trial),
        "same_as": trial.same_as,
    }


def describe_evidence(trial: Trial) -> str:
    """On what the verdict of a row rests, or why there is none; nothing where nothing was timed."""
    if trial.same_as is not None:
        return f"identical code, not timed again; times are from {trial.same_as}"
    pairs = trial.pairs
    if not len(pairs) or pairs.doubt:
        return pairs.doubt if len(pairs) else ""
    disturbed = f"; {pairs.disturbed} more pairs disturbed by other work" if pairs.disturbed else ""
    return (
        f"{pairs.faster} of {plural(len(pairs), 'pair')} faster, {pairs.slower} slower{disturbed}"
    )


def is_noisy(trial: Trial) -> bool:
    """Whether it was timed, and the pairs allow no verdict."""
    return len(trial.pairs) > 0 and trial.pairs.verdict == "too noisy to say"


def _interval(trial: Trial) -> str:
    """The interval of the speed-up: `2.10 to 2.31`, with the word *noisy* where it has no verdict.

    No figure stands out of one that is too noisy to say.
    """
    if not len(trial.pairs):
        return ""
    ratio = trial.pairs.ratio
    low, high = 1 / ratio.high, 1 / ratio.low
    low_words, high_words = (words_of("speedup", end).removesuffix(" ×") for end in (low, high))
    return f"{'noisy: ' if is_noisy(trial) else ''}{low_words} to {high_words}"


def _rounds(trial: Trial) -> list[float]:
    values = trial.relative
    if not values:
        return []
    interval = trial.pairs.ratio
    return [shorten(v) for v in (interval.low, interval.median, interval.high, *values[:_ROUNDS])]


def _begun(sweep: Sweep, live: Live) -> Iterator[SweepRow]:
    """The settings that are being tried now, then those of a grid that wait."""
    if live.status != "running":
        return
    ended = {trial.settings for trial in sweep.trials}
    tried = [texts for texts in live.tried if texts not in ended]
    yield from (_without_figures(sweep, texts, "running") for texts in tried)
    waiting = [t for t in live.planned or () if t not in ended and t not in tried]
    room = max(0, MOST_ROWS - len(ended))
    yield from (_without_figures(sweep, texts, "waiting") for texts in waiting[:room])


def _without_figures(sweep: Sweep, texts: Texts, status: str) -> SweepRow:
    return {**_row(sweep, Trial("", texts, status), Live()), "remark": ""}


def _answer(sweep: Sweep) -> tuple[str, str, list[str]]:
    """The sentence, the code, and the rows of the setting to take where the pairs allow one."""
    try:
        best = sweep.best()
    except UsageError as error:
        return str(error), "", []
    winner = best.choice.winner
    is_taken = best.choice.is_sure and winner.settings
    return best.sentence, best.code, [row.title for row in winner.rows] if is_taken else []


def facts(sweep: Sweep) -> str:
    """How many settings, how long that took, on which machines."""
    known = f", {sweep.from_store} from the store" if sweep.from_store else ""
    took = f" in {format_seconds(sweep.seconds)}" if sweep.seconds else ""
    machines = sorted({trial.machine for trial in sweep.trials if trial.machine})
    words = [f"{plural(len(sweep.trials), 'configuration')}{took}{known}."]
    words += [f"Measured on {', '.join(machines)}."] if machines else []
    return " ".join(words)


def remarks(trial: Trial) -> Iterator[str]:
    """How a row ended if it is not done, what was chosen, and why its figures are to be doubted."""
    if trial.status != "done":
        yield f"{trial.status}: {trial.reason}" if trial.reason else trial.status
    if trial.is_model:
        yield "modelled, nothing was run"
    if trial.chosen:
        first, *others = trial.chosen.split("; ")
        yield f"chose {first}" + (f" and {len(others)} more" if others else "")
    if trial.same_as is not None:
        yield f"identical code; times are from {trial.same_as}"
    if trial.warning:
        yield trial.warning
