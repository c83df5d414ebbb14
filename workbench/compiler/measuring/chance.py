"""Two runs compared where random numbers may decide what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import TypeVar

from workbench.compiler.measuring.output_comparison import Comparison

Outcome = TypeVar("Outcome")
Run = Callable[[int | None], Outcome]
"""Runs with the random state of the caller, or from a seed."""

_OTHER_SEED = 20
DRAWN = (
    "it depends on random numbers, which the generated code draws otherwise than torch from the "
    "same seed; compile with options={'fallback_random': True} to compare it"
)
"""Why what random numbers decide is not compared."""


def compare_runs(
    compiled: Run[Outcome],
    original: Run[Outcome],
    compared: Callable[[Outcome, Outcome], list[Comparison]],
    settled: Callable[[list[Comparison], Outcome, Outcome], list[Comparison]] | None = None,
) -> list[Comparison]:
    """The rows of `compared(original, compiled)`, those that differ as `settled` has them.

    A leaf that differs is not checked where another seed changes it in both.
    """
    actual, expected = compiled(None), original(None)
    rows = compared(expected, actual)
    if _failed(rows) and settled is not None:
        rows = settled(rows, expected, actual)
    if not _failed(rows):
        return rows
    by_chance = _failed(compared(expected, original(_OTHER_SEED)))
    chance_here = _failed(compared(actual, compiled(_OTHER_SEED))) if by_chance else {}
    return [_with_chance(row, by_chance, chance_here) for row in rows]


def _failed(rows: Sequence[Comparison]) -> dict[str, Comparison]:
    return {row.leaf: row for row in rows if row.verdict == "failed"}


def _with_chance(
    row: Comparison, by_chance: Mapping[str, Comparison], chance_here: Mapping[str, Comparison]
) -> Comparison:
    other = by_chance.get(row.leaf)
    if row.verdict != "failed" or other is None or (row.reason and not other.reason):
        return row
    if row.leaf not in chance_here:
        reason = "the original draws random numbers for it; the compiled code draws the same always"
        return replace(row, reason=reason)
    return replace(
        row, max_abs_error=nan, max_rel_error=nan, verdict="not checked", reason=DRAWN
    )  # fmt: skip
