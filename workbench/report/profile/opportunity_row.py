"""What could be changed in a program, by what its profile shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.report.measures import describe, number


@dataclass(frozen=True, slots=True)
class ProfileOpportunity:
    """One thing to change, with the µs of the profile that it concerns.

    `kind`: "fusion", "sizes", "precision", "attention", "layout", "synchronisation", "launches",
    "data loading", "copies", "allocation", "small batch" or "collectives". `least_us`, `most_us`
    are what it would save by a model, None where nothing is known of it. `kernels` are ids of
    kernels, `gaps` places in the table of gaps, `line` is a line of the program. `code` is what to
    write.
    """

    kind: str = ""
    title: str = ""
    why: str = ""
    code: str = ""
    of_us: float = field(default=0.0, metadata=describe("Of, µs", "us", source="measured"))
    least_us: float | None = number("At least, µs", "us", "What it saves", source="model")
    most_us: float | None = number("At most, µs", "us", "What it saves", source="model")
    kernels: tuple[str, ...] = ()
    gaps: tuple[int, ...] = ()
    line: str = ""
