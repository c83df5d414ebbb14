"""What to do next: at most five opportunities, and what became of those that were tried.

See `document.py`. The part `tried:o0` is the difference of one that was tried, a `DiffDocument`.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class TimedRuns(TypedDict):
    """The times of one side in µs of a call, in the order of the pairs.

    `middle` are the ends of the middle half: a quarter of the runs is below, a quarter above.
    """

    runs_us: list[float]
    minimum_us: float
    median_us: float
    middle_us: tuple[float, float]


class TimedPairs(TypedDict):
    """Both sides timed in turn, and the one verdict that the pairs allow.

    `saved_us` is what a call takes less in µs, negative where it takes more: the low end of the
    interval, the median, the high end. It, `before` and `after` are None where nothing was timed,
    as for identical code. `faster` and `slower` count pairs, `disturbed` those that other work
    disturbed. `sentence` says all of it; where the verdict is "too noisy to say", `doubt` says why.
    """

    before: TimedRuns | None
    after: TimedRuns | None
    saved_us: tuple[float, float, float] | None
    faster: int
    slower: int
    disturbed: int
    verdict: Literal["faster", "slower", "no difference", "too noisy to say", "identical"]
    doubt: str
    sentence: str


class TriedChange(TypedDict):
    """What was measured: a row for each figure, its name, before and after; `part` has the rest.

    `saved` are a few words: a saving only where the pairs allow it, else the verdict. `times` is
    None where nothing could be timed here. `agrees` is None where the outputs were not compared;
    `checked` says what was, or why not.
    """

    rows: list[tuple[str, str, str]]
    times: TimedPairs | None
    saved: str
    agrees: bool | None
    checked: str
    part: str


class Opportunity(TypedDict):
    """One change, with what it saves and where that is from.

    `saving` is a range in a sentence, `short` its first part; `sure_words` say what `sure` means.
    `predicted_us` are µs of a call that it is predicted to save: lowest, middle, highest; None
    where nobody can say. `predicted_by` says in a few words where they are from.
    `line_id` and `place` are the line that it is about. `before` and `after` are lines of a
    rewrite, without `before` what to write; `action` are the arguments that change. `why_not` says
    why it cannot be tried here, or is None.
    """

    id: str
    rule: str
    text: str
    saving: str
    short: str
    predicted_us: tuple[float, float, float] | None
    predicted_by: str
    sure: str
    sure_words: str
    source: str
    line_id: str | None
    place: str | None
    before: list[str]
    after: list[str]
    action: str | None
    why_not: str | None
    tried: TriedChange | None


class Advice(TypedDict):
    """The opportunities that save most; `more` are in the table, `none` says why there is none."""

    rows: list[Opportunity]
    more: int
    none: str
