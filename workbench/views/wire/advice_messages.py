"""What to change, and what trying it showed; of opportunities at most five.

See `document.py`. The part `tried:o0` is the difference of one that was tried, a `DiffDocument`.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.views.wire.table_messages import Tone


class TrialQuestion(TypedDict):
    """The opportunity to try, by its id."""

    opportunity: str


class PatchQuestion(TypedDict):
    """The patch to try, by its id."""

    id: str


class CureQuestion(TypedDict):
    """The cure to try: the id of its break, and its position in the list of cures."""

    id: str
    cure: int


class ChangeOutcome(TypedDict):
    """What trying a change showed, in words; `patch` is its unified diff, or empty."""

    words: str
    tone: Tone
    patch: str


class ProposedChange(TypedDict):
    """One way to change the program.

    `lines` are signs and texts of a small diff: "-" and "+", " " for a line that stays, "@" for
    a place that the next lines are at, "" for code that stands by itself. `code` is the text to
    copy. `ask` with `question` tries it, "" for what only the user can change; `why_not` says why
    it cannot be tried here. `outcome` is None until it was tried.
    """

    id: str
    title: str
    why: str
    lines: list[tuple[Literal["-", "+", " ", "@", ""], str]]
    code: str
    ask: str
    question: TrialQuestion | CureQuestion | PatchQuestion
    why_not: str | None
    outcome: ChangeOutcome | None


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
    `line_id` and `place` are the line that it is about.
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
    change: ProposedChange
    tried: TriedChange | None


class Advice(TypedDict):
    """The opportunities that save most; `more` are in the table, `none` says why there is none."""

    rows: list[Opportunity]
    more: int
    none: str
