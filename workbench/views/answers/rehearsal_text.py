"""A rehearsal of cures as text of at most 80 columns and 25 lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from workbench.analysis.opportunities.rehearsed_cures import Rehearsal, RehearsedCure, Verdict
from workbench.views.words.units import plural

_WIDTH = 80
_LINES = 25
_VERDICTS: Mapping[Verdict, str] = {
    "cures": "It helps.",
    "helps": "It helps, but a break stays.",
    "explicit": "The break stays, and the code says so.",
    "no help": "It does not help.",
    "refused": "Not offered.",
    "not checked": "Not checked.",
}


def text(found: Rehearsal) -> str:
    """The sentence, then every break with its cures; the rest is counted where it is too long."""
    lines = [*textwrap.wrap(sentence(found), _WIDTH), *_breaks(found)]
    if len(lines) > _LINES:
        rest = len(lines) - _LINES + 1
        lines[_LINES - 1 :] = [f'and {plural(rest, "line")} more: .frame("cures") has every cure']
    return "\n".join(lines)


def sentence(found: Rehearsal) -> str:
    """How many graphs there are, and how many with the cures that help together."""
    if not found.breaks:
        return f"{found.name}: no graph break, {plural(found.graphs_before, 'graph')}."
    now = f"{plural(found.graphs_before, 'graph')} and {plural(len(found.breaks), 'break')}"
    if not found.chosen:
        return f"{found.name}: {now}; no cure that is known helps."
    after = f"{plural(found.graphs_after, 'graph')} and {plural(found.breaks_after, 'break')}"
    return f"{found.name}: {now}; with {', '.join(found.chosen)}: {after}, the same results."


def describe_trial(cure: RehearsedCure) -> str:
    """What became of one cure: whether it helps, what is left with it, what was compared."""
    words = _VERDICTS[cure.verdict]
    now = left(cure)
    if now and cure.verdict != "refused":
        before = f"{plural(cure.graphs_before, 'graph')}, {plural(cure.breaks_before, 'break')}"
        words += f" {before} before, now {now}."
    return f"{words} {cure.checked}"


def left(cure: RehearsedCure) -> str:
    """What is left with a cure."""
    if cure.graphs_after is None or cure.breaks_after is None:
        return ""
    return f"{plural(cure.graphs_after, 'graph')}, {plural(cure.breaks_after, 'break')}"


def _breaks(found: Rehearsal) -> Iterator[str]:
    for item in found.breaks:
        yield _short(f"{item.file}:{item.line}  {item.text}")
        cures = [cure for cure in found.cures if cure.break_id == item.id]
        for cure in cures:
            why = cure.checked if cure.verdict in ("refused", "not checked") else cure.text
            head = f"  {cure.id:<4}{cure.kind:<9} {cure.verdict:<12}{left(cure):<20}"
            yield _short(f"{head} {why}")
        if advice := found.advice.get(item.id):
            words = f"no cure is known that takes it away: {advice}"
            yield from textwrap.wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _short(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
