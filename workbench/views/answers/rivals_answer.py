"""Two choices of the autotuner beside each other, as text and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.views.words.units import format_ms, number_text, plural

if TYPE_CHECKING:
    from workbench.report.rivals import Rivals

_LINES = 24  # of each code in a text


def sentence(found: Rivals) -> str:
    """Which choice won, and by how much."""
    winner, second = found.winner, found.runner_up
    how = " by a cost model, nothing was timed" if found.is_model else ""
    words = f"{found.op}: {winner.choice} ({winner.kind}) takes {format_ms(winner.time_ms)}{how}"
    if second is None:
        return f"{words}; it was the only choice."
    ratio = (
        f"{number_text(found.ratio, 'ratio')} as long" if found.ratio else format_ms(second.time_ms)
    )
    return f"{words}; {second.choice} ({second.kind}), the next, takes {ratio}."


def text(found: Rivals) -> str:
    """The sentence and the first lines of both codes, one after the other."""
    parts = [sentence(found)]
    for choice, code in codes(found):
        lines = code.split("\n")
        more = [f"… {plural(len(lines) - _LINES, 'more line')}"] if len(lines) > _LINES else []
        parts.append("\n".join([f"--- {choice}", *lines[:_LINES], *more]))
    return "\n".join(parts)


def codes(found: Rivals) -> list[tuple[str, str]]:
    """Each choice with its code."""
    both = [(found.winner, found.winner_code), (found.runner_up, found.runner_up_code)]
    return [(row.choice, code or "(no code was kept)") for row, code in both if row is not None]
