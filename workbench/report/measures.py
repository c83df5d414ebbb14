"""Descriptions of the numbers in rows, and numbers that several places show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal

from workbench.glossary import ANYWHERE, find_term

OCCUPANCY = "Resident warps / maximum warps of a multiprocessor (estimate)"
LEAST = "Roofline time"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number stands in the table of its rows: behind the column of that key.

    `width` is a track of a CSS grid. `is_wide` columns are left out where there is little room,
    `is_optional` ones where no row has a value.
    """

    after: str
    width: str
    is_wide: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """The description of a number in a row.

    `title` is the head of its column, `hint` the hint of that head; `heading` is the head of a
    table of this number alone, or the hint if it is empty. `meaning` is the sentence of the
    documentation, for every column of that name; without one the glossary has it. The number is
    counted in code, measured by a clock, or modelled. A measure with a `place` is a column by that
    alone.
    """

    title: str
    unit: Literal["number", "count", "amount", "B", "s", "ms", "us", "share"] = "count"
    hint: str = ""
    heading: str = ""
    meaning: str = ""
    source: Literal["counted", "measured", "model"] = "counted"
    place: Place | None = None

    @property
    def sentence(self) -> str:
        """Its meaning in the documentation, or that of the glossary."""
        term = find_term(ANYWHERE, self.title)
        return self.meaning or (term.sentence if term else "")


def describe(*said: Any, **more: Any) -> dict[str, Measure]:
    """The metadata of a field that holds what `Measure(...)` says."""
    return {"measure": Measure(*said, **more)}


def number(*said: Any, default: Any = None, **more: Any) -> Any:
    """A field of a row that holds what `Measure(...)` says, unknown where no default is given."""
    return field(default=default, metadata=describe(*said, **more))


@cache
def measures(row_type: Any) -> Mapping[str, Measure]:
    """By field of a row type what its number is, where the field says so."""
    named = {each.name: each.metadata.get("measure") for each in fields(row_type)}
    return {name: measure for name, measure in named.items() if measure is not None}


@dataclass(frozen=True)
class GuardCounts:
    """Guards that an artifact checks at each call, and those that are not in it."""

    kept: int
    dropped: int

    @property
    def words(self) -> str:
        """Both, after the word guards: `48 kept, 45 dropped`."""
        return f"{self.kept} kept, {self.dropped} dropped"


def count_guards(kept: Iterable[bool]) -> GuardCounts:
    """How many guards there are of a record, or of what a file holds, by whether each is kept."""
    checked = list(kept)
    return GuardCounts(sum(checked), len(checked) - sum(checked))


def measure_compile_seconds(phases: Iterable[tuple[float, float]]) -> float | None:
    """The seconds in which anything compiled; threads side by side count once.

    `phases` are starts and durations in seconds; None where there are none.
    """
    spans = sorted((start, start + duration) for start, duration in phases)
    if not spans:
        return None
    total, until = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
