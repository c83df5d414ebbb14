"""A session as text, as tables and as a chart of what each step's time went into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas

from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report.program.record_rows import Event
from workbench.views.kit.sheet import INK, KERNEL_COLOURS, PALE, sheet
from workbench.worlds.sessions.findings.advice import advice
from workbench.worlds.sessions.rows.session_record import (
    Session,
    has_run_nothing,
    list_compiled,
    list_recompiles,
    was_compiled_before,
)
from workbench.worlds.sessions.rows.session_rows import Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNTS = ("guards", "ops", "eager_calls")
MOST_BARS = 240
"""Bars of a timeline; of more steps several share one."""
_MARKS = {"recompile": "^", "break": "x", "fallback": "v", "CUDA graph skip": "s"}


def text(session: Session) -> str:
    """One line: how much was compiled, again, and given up."""
    return f"Session({counts(session)})"


def counts(session: Session) -> str:
    """How much was compiled, again, and given up."""
    tables = session.tables
    by_noun = {
        "compile": len(list_compiled(tables)),
        "recompile": len(list_recompiles(tables)),
        "break": len(tables["breaks"]),
        "fallback": len(tables["fallbacks"]),
        "step": session.header.steps,
    }
    words = [plural(count, noun) for noun, count in by_noun.items()]
    if not session.is_running and has_run_nothing(session):
        words.insert(0, "nothing compiled")
    if not session.is_running and was_compiled_before(session):
        words.insert(0, "compiled before it began")
    return ", ".join(words)


def sentences(session: Session) -> tuple[str, ...]:
    """What to change, the costliest first."""
    return tuple(one.sentence for one in advice(session))


def frame(session: Session, name: str) -> pandas.DataFrame:
    """One table; raises `UsageError` for another name."""
    table = session.tables.get(name)
    if table is None:
        known = ", ".join(session.tables)
        raise UsageError(f"A session has no table {name!r}. It has: {known}.")
    made = pandas.DataFrame({key: list(column) for key, column in table.columns.items()})
    for key in _COUNTS:
        if key in made:
            made[key] = made[key].astype("Int64")
    made.attrs["omitted"] = table.omitted
    return made


@dataclass(frozen=True)
class Bar:
    """Steps `first` to `last`, which share a bar: their mean times in milliseconds."""

    first: int
    last: int
    compile_ms: float
    graphs_ms: float
    outside_ms: float
    slowest: int
    kinds: tuple[str, ...]


def bars(steps: Sequence[Step], events: Sequence[Event], most: int = MOST_BARS) -> list[Bar]:
    """At most so many bars; where that leaves room, a step with events has one of its own."""
    kinds: dict[int, list[str]] = {}
    for event in events:
        kinds.setdefault(event.step, []).append(event.kind)
    alone = {step.step for step in steps if step.compile_s or step.step in kinds}
    if 2 * len(alone) >= most:  # they and the runs between them would be too many
        alone = set()
    width = max(1, -(-len(steps) // max(1, most - 2 * len(alone) - 1)))
    groups: list[list[Step]] = []
    for step in steps:
        is_new = not groups or step.step in alone or len(groups[-1]) >= width
        if is_new or groups[-1][-1].step in alone:
            groups.append([step])
        else:
            groups[-1].append(step)
    return [_bar(own, kinds) for own in groups]


def _bar(own: Sequence[Step], kinds: dict[int, list[str]]) -> Bar:
    count = len(own)
    return Bar(
        own[0].step,
        own[-1].step,
        sum(step.compile_s for step in own) * 1e3 / count,
        sum(step.in_graphs_ms for step in own) / count,
        sum(step.outside_ms for step in own) / count,
        max(own, key=lambda step: step.wall_ms).step,
        tuple(dict.fromkeys(kind for step in own for kind in kinds.get(step.step, ()))),
    )


def plot(session: Session) -> Figure:
    """The bars beside each other, on a scale that shows a step of 5 ms beside one of 10 s."""
    steps, events = list(session.tables["steps"]), list(session.tables["events"])
    if not steps:
        raise UsageError("Nothing to draw: no step has ended yet.")
    shown = bars(steps, events)
    parts = (
        ("compiling", KERNEL_COLOURS[1], [bar.compile_ms for bar in shown]),
        ("in compiled graphs", KERNEL_COLOURS[2], [bar.graphs_ms for bar in shown]),
        ("outside graphs", PALE, [bar.outside_ms for bar in shown]),
    )
    with sheet(2.8) as (figure, axes):
        places = range(len(shown))
        bottom = [0.0] * len(shown)
        for name, colour, heights in parts:
            axes.bar(places, heights, 0.9, bottom=bottom, color=colour, label=name, linewidth=0)
            bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
        for kind, mark in _MARKS.items():
            at = [n for n, bar in enumerate(shown) if kind in bar.kinds]
            if at:
                axes.scatter(
                    at, [bottom[n] * 1.25 for n in at], marker=mark, s=22, color=INK, label=kind
                )
        axes.set_yscale(
            "symlog", linthresh=max(0.1, min(h for h in bottom if h) if any(bottom) else 0.1)
        )
        ticks = sorted({*range(0, len(shown), max(1, len(shown) // 8))})
        axes.set_xticks(ticks, [str(shown[n].first) for n in ticks])
        axes.set_xlabel("step")
        axes.set_ylabel("ms per step")
        axes.legend(loc="upper right", frameon=False, fontsize=8, ncols=3)
        axes.set_title("Step time by activity")
    return figure
