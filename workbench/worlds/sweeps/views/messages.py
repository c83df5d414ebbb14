"""What the view of a sweep shows: settings with their figures, how far it is, the answer.

See `sweep_document.py`.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class SweepAxis(TypedDict):
    """One axis with its values in the order in which they were given."""

    name: str
    values: list[str]
    is_size: bool


class SweepFigure(TypedDict):
    """A column of figures; `is_better` says which end of it one looks for."""

    id: str
    title: str
    is_better: Literal["more", "less", ""]


class SweepRow(TypedDict):
    """A setting: its values by axis, its figures by column with the words for them.

    `id` is its title. `status` is "waiting", "running" or how it ended. `rounds` are the times over
    those of the original: the low end of the interval of the median, the median, the high end,
    and the rounds themselves. `interval` is that of the speed-up in words, "" without one.
    `verdict` is what the pairs allow to say against the original, "" where nothing was timed;
    `evidence` says on what that rests, or why there is none. `same_as` is the row with the same
    generated code, which was timed in its place.
    """

    id: str
    settings: list[str | None]
    status: str
    remark: str
    is_model: bool
    from_store: bool
    can_open: bool
    figures: list[float | None]
    words: list[str]
    interval: str
    rounds: list[float]
    verdict: Literal["faster", "slower", "no difference", "too noisy to say", "identical", ""]
    evidence: str
    same_as: str | None


class SweepDocument(TypedDict):
    """A sweep as far as it is.

    `status` says whether it runs; `total` is None where a search decides how many are tried.
    `best` are the rows of the setting to take, one for each size; none while it runs and where no
    setting is faster beyond the noise. `fronts` are, for each size, the rows that no other beats
    in both the figure `by`, which rows are compared by, and compile time, by the latter.
    `sentence` and `code` are there at the end. `more` counts rows that are left out.
    """

    version: int
    name: str
    variable: str
    status: Literal["running", "cancelled", "done"]
    axes: list[SweepAxis]
    figures: list[SweepFigure]
    rows: list[SweepRow]
    more: int
    total: int | None
    elapsed_s: float
    left_s: float | None
    by: str
    best: list[str]
    fronts: list[list[str]]
    sentence: str
    code: str
    facts: str
    notes: list[str]


class EmbeddedSweep(TypedDict):
    """What a page or a saved output of a sweep carries."""

    sweep: SweepDocument
